package main

import (
	"github.com/nodegate/nodegate/internal/server"
)

// caCmd prints the certificate of the local authority.
type caCmd struct{}

// Run makes the authority where there is none, so that clients can be prepared
// before the first start.
func (caCmd) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	ca, err := server.OpenAuthority(cfg, nil)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(ca.PEM())
	return err
}
