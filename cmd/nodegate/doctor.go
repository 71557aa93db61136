package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/doctor"
	"github.com/nodegate/nodegate/internal/server"
)

// doctorCmd checks what the service depends on.
type doctorCmd struct {
	Network string `placeholder:"NAME" help:"Check the nodes of this network only."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// errUnwell is the end of a doctor that found something to mend: all is said already.
var errUnwell = errors.New("problems were found")

// diagnosis is all that the doctor found.
type diagnosis struct {
	OK     bool           `json:"ok"`
	Checks []server.Check `json:"checks,omitempty"`
	Nodes  []nodeReport   `json:"nodes"`
	Found  []nodeFinding  `json:"findings"`
}

// nodeReport is a row of the table of nodes.
type nodeReport struct {
	Network string `json:"network"`
	Node    string `json:"node"`
	Client  string `json:"client,omitempty"`
	ChainID uint64 `json:"chain_id,omitempty"`
	Head    uint64 `json:"head,omitempty"`
	Lag     uint64 `json:"lag"`
	Syncing bool   `json:"syncing"`
	Error   string `json:"error,omitempty"`

	cells []string
}

// nodeFinding is something about a network or a node of it.
type nodeFinding struct {
	Network string `json:"network"`
	Node    string `json:"node,omitempty"`
	Problem bool   `json:"problem"`
	Text    string `json:"text"`
}

// Run prints the checks, a table of all nodes, and what is wrong with them. With --network
// it is about the nodes alone.
func (cmd doctorCmd) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	networks, err := cmd.networks(cfg)
	if err != nil {
		return err
	}
	d := &diagnosis{OK: true, Nodes: []nodeReport{}, Found: []nodeFinding{}}
	if cmd.Network == "" {
		d.Checks = append(localChecks(a.ctx, cfg), server.Diagnose(a.ctx, cfg)...)
	}
	for _, n := range networks {
		d.examine(a.ctx, n)
	}
	d.OK = !slices.ContainsFunc(d.Checks, func(c server.Check) bool { return c.Status == server.CheckProblem }) &&
		!slices.ContainsFunc(d.Found, func(f nodeFinding) bool { return f.Problem })
	if cmd.JSON {
		err = writeJSON(a.stdout, d)
	} else {
		err = d.print(a.stdout)
	}
	if err == nil && !d.OK {
		err = errUnwell
	}
	return err
}

// examine asks the nodes of a network.
func (d *diagnosis) examine(ctx context.Context, n doctor.Network) {
	reports, findings := doctor.Examine(ctx, n)
	for i := range reports {
		r := &reports[i]
		row := nodeReport{
			Network: n.Name, Node: r.Node, Client: safe(r.Client), ChainID: r.ChainID, Head: r.Head, Lag: r.Lag, Syncing: r.Syncing,
			cells: append([]string{n.Name}, reportCells(r)...),
		}
		if r.Err != nil {
			row.Error = safe(r.Err.Error())
		}
		d.Nodes = append(d.Nodes, row)
	}
	for _, f := range findings {
		d.Found = append(d.Found, nodeFinding{n.Name, f.Node, f.Problem, safe(f.Text)})
	}
}

func (d *diagnosis) print(w io.Writer) error {
	if len(d.Checks) > 0 {
		t := newTable(w)
		t.row("CHECK", "STATUS", "DETAIL")
		for _, c := range d.Checks {
			status := c.Status
			if status == server.CheckProblem {
				status = "PROBLEM"
			}
			t.row(c.Name, status, safe(c.Detail))
		}
		if err := t.flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if len(d.Nodes) == 0 {
		_, err := fmt.Fprintln(w, "No remote nodes configured: every network has an embedded node.")
		return err
	}
	lines := newTable(w)
	lines.row("network", "node", "role", "client", "chain", "head", "lag", "state", "logs", "batch", "p50", "lacks")
	for _, n := range d.Nodes {
		lines.row(n.cells...)
	}
	if err := lines.flush(); err != nil {
		return err
	}
	for i, f := range d.Found {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, f.line())
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

// line is a finding as it is printed. What a node said was made safe for the terminal.
func (f nodeFinding) line() string {
	kind, who := "note", f.Network
	if f.Problem {
		kind = "PROBLEM"
	}
	if f.Node != "" {
		who += "/" + f.Node
	}
	return fmt.Sprintf("%s  %s: %s", kind, who, f.Text)
}
