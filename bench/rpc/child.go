package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/nodegate/nodegate/bench/child"
)

// childFlags are what a server is started with.
type childFlags struct {
	genesis, chain, data, node string
	memory                     int // MiB of memory.ledgers; 0 is the default
}

// args are the arguments that start a kind of server.
func (c childFlags) args(kind string) []string {
	list := []string{kind, "-genesis", c.genesis, "-chain", c.chain, "-data", c.data}
	if c.node != "" {
		list = append(list, "-node", c.node, "-memory", strconv.Itoa(c.memory))
	}
	return list
}

// startServer starts a kind of server and waits until it listens.
func startServer(kind string, c childFlags) (*child.Process, error) {
	return child.Start(c.args(kind)...)
}

// runChild serves what the flags say.
func runChild(args []string) error {
	f := flag.NewFlagSet(child.Command, flag.ExitOnError)
	var c childFlags
	f.StringVar(&c.genesis, "genesis", "", "genesis file")
	f.StringVar(&c.chain, "chain", "", "chain file")
	f.StringVar(&c.data, "data", "", "data folder")
	f.StringVar(&c.node, "node", "", "URL of the node to serve")
	f.IntVar(&c.memory, "memory", 0, "MiB of memory.ledgers")
	if len(args) == 0 {
		return errors.New("which server?")
	}
	_ = f.Parse(args[1:]) // exits on an error
	return child.Serve(func(log *slog.Logger) (child.Server, error) { return openServer(args[0], c, log) })
}

func openServer(kind string, c childFlags, log *slog.Logger) (child.Server, error) {
	switch kind {
	case "geth":
		return openGeth(c, log)
	case "nodegate":
		return child.Open(benchConfig(c), log)
	case "remote":
		return child.Open(remoteConfig(c), log)
	case "default":
		return child.Open(child.Config(c.data), log)
	}
	return nil, fmt.Errorf("no server %q", kind)
}
