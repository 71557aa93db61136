package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
)

// states is what operators see of the networks: the embedded ones first, then
// the remote ones by name.
func (ns *networks) states(ctx context.Context) []dashboard.NetworkState {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	var list []dashboard.NetworkState
	for _, n := range ns.embedded {
		state := dashboard.NetworkState{Name: n.Name, Embedded: true, Elsewhere: slices.Contains(ns.elsewhere, n.Name), Period: ns.period(n.Name)}
		list = append(list, headOf(ctx, n.Node, state))
	}
	for _, name := range slices.Sorted(maps.Keys(ns.remotes)) {
		state := dashboard.NetworkState{Name: name}
		for _, n := range ns.remotes[name].pool.Status() {
			state.Nodes = append(state.Nodes, shownNode(n))
		}
		state.Ledger = ns.remotes[name].shownLedger()
		list = append(list, headOf(ctx, ns.remotes[name].pool, state))
	}
	return list
}

// up tells of each network whether it answers now, in the order of the configuration.
func (ns *networks) up() (list []dashboard.NetworkUp) {
	for _, n := range *ns.shown.Load() {
		list = append(list, dashboard.NetworkUp{Name: n.Name, Up: ns.ready(n.Name) == nil})
	}
	return list
}

// headOf fills in the newest block, or why there is none.
func headOf(ctx context.Context, node nodegate.Node, state dashboard.NetworkState) dashboard.NetworkState {
	head, err := node.Head(ctx)
	if err != nil {
		state.Problem = nodegate.AsError(err).Msg
	}
	state.Head = head.Number
	return state
}

func (ns *networks) period(network string) time.Duration {
	for _, n := range ns.cfg.Networks {
		if n.Name == network && n.Embedded != nil {
			return time.Duration(n.Embedded.Period) * time.Second
		}
	}
	return 0
}

func shownNode(n pool.Status) dashboard.NodeState {
	return dashboard.NodeState{
		Name: n.Name, Role: n.Role, Client: n.Client, Healthy: n.Healthy, Cordoned: n.Cordoned, Why: n.Why, Head: n.Head, Lag: n.Lag,
		ErrorRate: n.ErrorRate, P50: n.P50, P95: n.P95, InFlight: n.InFlight, Ejections: n.Ejections,
	}
}

// shownLedger is what operators see of a network's ledger; nil without one.
func (r *remote) shownLedger() *dashboard.LedgerState {
	if r.ledger == nil {
		return nil
	}
	s := r.ledger.Status()
	return &dashboard.LedgerState{
		First: s.First, Last: s.Last, Blocks: int64(s.Blocks), Window: int64(r.cfg.Ledger.Blocks), Lag: s.Lag, Bytes: s.Data + s.Index,
		Answered: int64(s.Answered), Passed: int64(s.Passed), Damaged: s.Damaged, Off: s.Off, Problem: s.Problem,
		Missing: int64(s.Missing), MissingTime: s.MissingTime, Agreed: s.Agreed,
	}
}

// show notes which networks are served from now on, in the order of the
// configuration.
func (ns *networks) show(cfg *config.Config) {
	served := map[string]nodegate.Network{}
	for _, n := range ns.list() {
		served[n.Name] = n
	}
	list := make([]dashboard.Network, 0, len(cfg.Networks))
	for i := range cfg.Networks {
		n := &cfg.Networks[i]
		list = append(list, dashboard.Network{Network: served[n.Name], Embedded: len(n.Nodes) == 0, Rollup: n.Layer2 != nil, Namespaces: n.Namespaces, Currency: n.Currency, Explorer: n.Explorer})
	}
	ns.shown.Store(&list)
}

// config is the configuration in force, without secrets.
func (ns *networks) config() (string, error) {
	ns.mu.Lock()
	live := ns.live
	ns.mu.Unlock()
	var b strings.Builder
	err := config.Dump(&b, live)
	return b.String(), err
}
