package server

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// networkStates is what operators see of the networks: the embedded ones first, then
// the remote ones by name.
func (s *Server) networkStates(ctx context.Context) []dashboard.NetworkState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []dashboard.NetworkState
	for _, n := range s.embedded {
		list = append(list, headOf(ctx, n.Node, dashboard.NetworkState{Name: n.Name, Embedded: true, Period: s.period(n.Name)}))
	}
	for _, name := range slices.Sorted(maps.Keys(s.remotes)) {
		state := dashboard.NetworkState{Name: name}
		for _, n := range s.remotes[name].pool.Status() {
			state.Nodes = append(state.Nodes, shownNode(n))
		}
		list = append(list, headOf(ctx, s.remotes[name].pool, state))
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

func (s *Server) period(network string) time.Duration {
	for _, n := range s.cfg.Networks {
		if n.Name == network && n.Embedded != nil {
			return time.Duration(n.Embedded.Period) * time.Second
		}
	}
	return 0
}

func shownNode(n pool.Status) dashboard.NodeState {
	return dashboard.NodeState{
		Name: n.Name, Role: n.Role, Client: n.Client, Healthy: n.Healthy, Why: n.Why, Head: n.Head, Lag: n.Lag,
		ErrorRate: n.ErrorRate, P50: n.P50, P95: n.P95, InFlight: n.InFlight, Ejections: n.Ejections,
	}
}

// database is a store that can say how large it is.
type database interface {
	Database(ctx context.Context) (sqlstore.Database, error)
}

// system is what operators see of the machine under the networks.
func (s *Server) system(ctx context.Context) dashboard.System {
	d := dashboard.System{Version: s.build.Version, Commit: s.build.Commit, Go: runtime.Version(), Engine: s.cfg.Storage.Engine}
	problem := func(what string, err error) {
		if err != nil {
			s.log.Error("operator page", "what", what, "err", err)
			d.Problems = append(d.Problems, what+" can't be told: the server's log says why.")
		}
	}
	if store, ok := s.control.Store.(database); ok {
		found, err := store.Database(ctx)
		problem("The database's size", err)
		d.Database, d.DatabaseBytes = found.Kind, found.Bytes
	}
	var err error
	d.DiskFree, err = disk.Free(s.cfg.Data)
	problem("The free disk space", err)
	problem("The state of the block store", s.showBlocks(ctx, &d))
	d.Config, err = s.configNow()
	problem("The configuration", err)
	return d
}

// showBlocks fills in how the storage engine is, whichever it is.
func (s *Server) showBlocks(ctx context.Context, d *dashboard.System) error {
	switch e := s.storage.engine.(type) {
	case reporter:
		r, err := e.Report(ctx)
		if err != nil {
			return err
		}
		d.Blocks = &dashboard.BlockState{DiskBytes: r.DiskBytes, LiveBytes: r.LiveBytes, Damaged: r.Damaged, ReadOnly: r.ReadOnly, Index: r.Index}
	case kuboEngine:
		for i, n := range e.Stats() {
			d.StorageNodes = append(d.StorageNodes, dashboard.StorageNode{Name: fmt.Sprintf("Storage node %d", i+1), Healthy: n.Up})
		}
	}
	return nil
}

// configNow is the configuration in force, without secrets.
func (s *Server) configNow() (string, error) {
	s.mu.Lock()
	live := s.live
	s.mu.Unlock()
	var b strings.Builder
	err := config.Dump(&b, live)
	return b.String(), err
}
