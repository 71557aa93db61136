package server

import (
	"context"

	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/gateway"
	"github.com/nodegate/nodegate/internal/obs"
)

// withReading adds to the storage gateway's configuration what its read gateway and
// its metrics need.
func (s *Server) withReading(c gateway.Config) gateway.Config {
	c.Read = map[string]gateway.Access{"keys": gateway.Holders, "public": gateway.Everybody}[s.cfg.Storage.Gateway]
	c.ReadRate = int64(s.cfg.Storage.GatewayRate)
	c.Metrics = s.metrics
	if store, ok := s.storage.engine.(reporter); ok {
		s.metrics.FollowBlocks(func() (obs.BlockFigures, bool) { return blockFigures(store) })
	}
	if store, ok := s.storage.engine.(stored); ok {
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
