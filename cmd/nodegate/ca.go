package main

import (
	"github.com/nodegate/nodegate/internal/server"
)

// caCmd prints the certificate of the local authority.
type caCmd struct{}

// Run makes the authority in a data folder that has none yet.
func (caCmd) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	if !server.HasData(cfg) {
		return noData(cfg)
	}
	ca, err := server.OpenAuthority(cfg, nil)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(ca.PEM())
	return err
}
