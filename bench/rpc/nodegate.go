package main

import (
	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/internal/config"
)

// benchNetwork is the name of the measured network; a key's path follows it.
const (
	benchNetwork = "bench"
	benchPath    = "/" + benchNetwork + "/v3/"
	benchWSPath  = "/" + benchNetwork + "/ws/v3/"
)

// benchConfig serves the benchmark's chain and leaves every other setting at its default.
func benchConfig(c childFlags) *config.Config {
	cfg := child.Config(c.data)
	cfg.Networks = []config.Network{{
		Name: benchNetwork, Dialect: "spec", Cache: cfg.Networks[0].Cache, Embedded: &config.Embedded{Genesis: c.genesis, Chain: c.chain},
	}}
	cfg.DefaultNetwork = benchNetwork
	return cfg
}
