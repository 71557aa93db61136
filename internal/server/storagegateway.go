package server

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/gateway"
	"github.com/nodegate/nodegate/internal/obs"
)

// withReading adds to the storage gateway's configuration what its read gateway and
// its metrics need.
func (s *storageSide) withReading(c gateway.Config) gateway.Config {
	c.Read = map[string]gateway.Access{"keys": gateway.Holders, "public": gateway.Everybody}[s.cfg.Storage.Gateway]
	c.ReadRate, c.Sites = int64(s.cfg.Storage.GatewayRate), s.cfg.Storage.GatewayHosts
	c.Metrics, c.Tracer = s.metrics, s.tracer
	if store, ok := s.engine.(reporter); ok {
		s.metrics.FollowBlocks(func() (obs.BlockFigures, bool) { return blockFigures(store) })
	}
	if store, ok := s.engine.(stored); ok {
		c.Room = store.Room
	}
	return c
}

// reporter is an engine that can say how its blocks are: the embedded one.
type reporter interface {
	Report(ctx context.Context) (blockstore.Report, error)
}

func blockFigures(store reporter) (obs.BlockFigures, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), figuresTime)
	defer cancel()
	r, err := store.Report(ctx)
	return obs.BlockFigures{DiskBytes: r.DiskBytes, LiveBytes: r.LiveBytes, Damaged: r.Damaged, ReadOnly: r.ReadOnly != ""}, err == nil
}

// show fills in how the storage engine is, whichever it is.
func (s *storageSide) show(ctx context.Context, d *dashboard.System) error {
	switch e := s.engine.(type) {
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

// localAuthority tells whether clients of the storage gateway have to trust the local
// authority. Where the gateway has a public address of its own, something with another
// certificate stands before it.
func (s *storageSide) localAuthority() bool {
	if s.cfg.Storage.TLS.Cert != "" {
		return false
	}
	u, err := url.Parse(s.cfg.Dashboard.StorageURL)
	if err != nil || u.Host == "" || u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}
