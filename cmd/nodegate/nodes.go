package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// nodesCmd are the commands about the remote nodes of the running server.
type nodesCmd struct {
	List     nodesList    `cmd:"" default:"1" help:"List the remote nodes of the running server and their state."`
	Cordon   nodeCordon   `cmd:"" help:"Stop sending client calls to a node until it is uncordoned or the server restarts. Calls in progress finish."`
	Uncordon nodeUncordon `cmd:"" help:"Send client calls to a cordoned node again."`
}

type nodesList struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// shownNode is a node as the admin listener describes it.
type shownNode struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Healthy  bool   `json:"healthy"`
	Cordoned bool   `json:"cordoned"`
	Why      string `json:"why"`
	Head     uint64 `json:"head"`
	Lag      uint64 `json:"lag"`
	InFlight int64  `json:"in_flight"`
}

func (n *shownNode) state() string {
	switch {
	case n.Cordoned:
		return "cordoned"
	case n.Healthy:
		return "healthy"
	}
	return "not used: " + n.Why
}

// Run prints one node a line, by network.
func (cmd *nodesList) Run(a *app) error {
	return showAdmin(a, "/nodes", cmd.JSON, func(networks map[string][]shownNode) error {
		t := newTable(a.stdout)
		t.row("NETWORK", "NODE", "ROLE", "STATE", "HEAD", "LAG", "IN FLIGHT")
		for _, network := range slices.Sorted(maps.Keys(networks)) {
			for _, n := range networks[network] {
				t.row(network, n.Name, n.Role, n.state(), strconv.FormatUint(n.Head, 10), strconv.FormatUint(n.Lag, 10), strconv.FormatInt(n.InFlight, 10))
			}
		}
		return t.flush()
	})
}

// nodeName is which node a command is about.
type nodeName struct {
	Network string `arg:"" help:"The network."`
	Node    string `arg:"" help:"The node of the network."`
}

type (
	nodeCordon   struct{ nodeName }
	nodeUncordon struct{ nodeName }
)

// Run cordons the node.
func (cmd *nodeCordon) Run(a *app) error { return cmd.post(a, "cordon") }

// Run ends the cordon.
func (cmd *nodeUncordon) Run(a *app) error { return cmd.post(a, "uncordon") }

func (n nodeName) post(a *app, action string) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	path := "/nodes/" + url.PathEscape(n.Network) + "/" + url.PathEscape(n.Node) + "/" + action
	if _, err := needAdmin(a.ctx, cfg, http.MethodPost, path); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%sed %s of network %s\n", action, safe(n.Node), safe(n.Network))
	return err
}
