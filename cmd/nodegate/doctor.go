package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/doctor"
)

// doctorCmd asks the remote nodes what they can do.
type doctorCmd struct {
	Network string `placeholder:"NAME" help:"Check the nodes of this network only."`
}

// errUnwell is the end of a doctor that found something to mend: all is said already.
var errUnwell = errors.New("some nodes have problems")

// Run prints a table of all nodes, and below it what is wrong.
func (cmd doctorCmd) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	networks, err := cmd.networks(cfg)
	if err != nil {
		return err
	}
	if len(networks) == 0 {
		_, err := fmt.Fprintln(a.stdout, "No remote nodes configured: every network has an embedded node.")
		return err
	}
	lines := newTable(a.stdout)
	lines.row("network", "node", "role", "client", "chain", "head", "lag", "state", "logs", "batch", "p50", "lacks")
	var found []string
	unwell := false
	for _, n := range networks {
		reports, findings := doctor.Examine(a.ctx, n)
		for i := range reports {
			lines.row(append([]string{n.Name}, reportCells(&reports[i])...)...)
		}
		for _, f := range findings {
			found = append(found, findingLine(n.Name, f))
			unwell = unwell || f.Problem
		}
	}
	if err := lines.flush(); err != nil {
		return err
	}
	if len(found) > 0 {
		fmt.Fprintf(a.stdout, "\n%s\n", strings.Join(found, "\n"))
	}
	if unwell {
		return errUnwell
	}
	return nil
}

// networks are those that have nodes, or the one that was named.
func (cmd doctorCmd) networks(cfg *config.Config) ([]doctor.Network, error) {
	var list []doctor.Network
	for i := range cfg.Networks {
		n := &cfg.Networks[i]
		if cmd.Network != "" && n.Name != cmd.Network {
			continue
		}
		if len(n.Nodes) > 0 {
			list = append(list, patient(cfg, n))
		} else if cmd.Network != "" {
			return nil, invalid(fmt.Sprintf("the network %s has an embedded chain and no nodes", safe(n.Name)))
		}
	}
	if cmd.Network != "" && len(list) == 0 {
		return nil, notFound(fmt.Sprintf("there is no network %q; there are %s", cmd.Network, networkNames(cfg)))
	}
	return list, nil
}

// patient is a network as the doctor sees it.
func patient(cfg *config.Config, n *config.Network) doctor.Network {
	p := doctor.Network{
		Name: n.Name, ChainID: n.ChainID, MaxLag: n.MaxLag, Namespaces: n.Namespaces, LogBlocks: uint64(cfg.Limits.LogBlocks),
	}
	if n.Layer2 != nil {
		p.Stack = n.Layer2.Stack
	}
	p.Ledger = doctor.Ledger{
		Blocks: n.Ledger.Blocks, Usual: config.UsualLedger, Backfill: n.Ledger.Backfill, MinBlockTime: n.Ledger.MinBlockTime, Unprovable: !n.Provable(),
		Cost: func(name string) int64 {
			if credits, ok := cfg.Costs[name]; ok {
				return credits
			}
			return cfg.Costs[method.PriceOther]
		},
	}
	for i := range n.Nodes {
		p.Nodes = append(p.Nodes, patientNode(&n.Nodes[i]))
	}
	return p
}

func patientNode(n *config.Node) doctor.Node {
	node := doctor.Node{
		Name: n.Name, URL: string(n.URL), WS: string(n.WS), Backup: n.Role == "backup", Headers: map[string]string{}, MaxLogRange: n.MaxLogRange,
	}
	for name, value := range n.Headers {
		node.Headers[name] = string(value)
	}
	t := &node.Transport
	t.CA, t.Cert, t.Key, t.Proxy, t.Gzip = string(n.CA), string(n.Cert), string(n.Key), string(n.Proxy), n.Gzip
	return node
}

// reportCells is one line of the table, behind the network's name.
func reportCells(r *doctor.Report) []string {
	role := "primary"
	if r.Backup {
		role = "backup"
	}
	if r.Err != nil {
		return []string{r.Node, role, "", "", "", "", "", "", "", "", ""}
	}
	lag := strconv.FormatUint(r.Lag, 10)
	if r.Syncing {
		lag += " syncing"
	}
	return []string{
		r.Node, role, r.Client, strconv.FormatUint(r.ChainID, 10), strconv.FormatUint(r.Head, 10), lag,
		depthText(r.State), strconv.FormatUint(r.Logs, 10), yesNo(r.Batch), r.P50.Round(10 * time.Microsecond).String(), strings.Join(r.Missing, " "),
	}
}

func depthText(d doctor.Depth) string {
	if d.All {
		return "all"
	}
	return strconv.FormatUint(d.Blocks, 10)
}

// findingLine holds what a node said: it is made safe for the terminal.
func findingLine(network string, f doctor.Finding) string {
	kind, who := "note", network
	if f.Problem {
		kind = "PROBLEM"
	}
	if f.Node != "" {
		who += "/" + f.Node
	}
	return fmt.Sprintf("%s  %s: %s", kind, who, safe(f.Text))
}
