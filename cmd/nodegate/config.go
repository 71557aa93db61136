package main

import "github.com/nodegate/nodegate/internal/config"

// configCmd prints the effective configuration as a file that can be used again.
type configCmd struct{}

// Run loads the configuration exactly as serve does, and starts nothing.
func (configCmd) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	return config.Dump(a.stdout, cfg)
}
