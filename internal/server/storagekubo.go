package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/kubo"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
	"github.com/nodegate/nodegate/internal/obs"
)

// engine is what the storage gateway runs on, the embedded store or nodes elsewhere,
// with what a server does beside the gateway.
type engine interface {
	unixfs.Engine
	keeper
	Collect(ctx context.Context, dryRun bool) (blockstore.CollectReport, error)
	Stored(accountID string) int64
	Ready() error
	Close() error
}

// kuboEngine lets objects work on the engine kubo.
type kuboEngine struct{ *kubo.Engine }

func (r kuboEngine) Begin(accountID string, quota int64) unixfs.Batch {
	return r.Engine.Begin(accountID, quota)
}

// pinsAndMeta is what the engines keep in the account store.
type pinsAndMeta interface {
	nodegate.PinStore
	nodegate.MetaStore
}

// openEngine opens what the configuration names.
func openEngine(ctx context.Context, cfg *config.Config, store pinsAndMeta, log *slog.Logger) (engine, error) {
	if cfg.Storage.Engine == "kubo" {
		return kuboEngine{openKubo(cfg, store, log)}, nil
	}
	if err := claimBlocks(ctx, cfg, store); err != nil {
		return nil, err
	}
	b, err := OpenBlocks(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	return stored{b}, nil
}

func openKubo(cfg *config.Config, pins nodegate.PinStore, log *slog.Logger) *kubo.Engine {
	k := cfg.Storage.Kubo
	c := kubo.Config{
		Copies: k.Copies, Fetch: k.Fetch, Timeout: cfg.Storage.Timeout, Undo: cfg.Storage.Undo,
		Pins: pins, Links: unixfs.Links, Log: log,
	}
	for _, e := range k.Endpoints {
		headers := map[string]string{}
		for name, value := range e.Headers {
			headers[name] = string(value)
		}
		c.Endpoints = append(c.Endpoints, kubo.Endpoint{URL: e.URL, Headers: headers, Traceparent: !e.HideTrace})
	}
	return kubo.New(c)
}

// Collect removes what nobody needs from the storage of a configuration, when no
// server runs on it.
func Collect(ctx context.Context, cfg *config.Config, log *slog.Logger, dryRun bool) (r blockstore.CollectReport, err error) {
	if cfg.Storage.Engine == "off" {
		return r, &nodegate.Error{Op: "server.collect", Code: nodegate.BadConfig, Msg: "there is no storage to collect: storage.engine is off"}
	}
	if cfg.Storage.Engine == "embedded" {
		return collectBlocks(ctx, cfg, log, dryRun)
	}
	control, err := OpenControl(ctx, cfg, log)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, control.Close()) }()
	e := openKubo(cfg, control.Store, log)
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Collect(ctx, dryRun)
}

func collectBlocks(ctx context.Context, cfg *config.Config, log *slog.Logger, dryRun bool) (r blockstore.CollectReport, err error) {
	b, err := OpenBlocks(ctx, cfg, log)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return b.Collect(ctx, dryRun)
}

// watchNodes shows the health of storage nodes in the metrics.
func (s *storageSide) watchNodes() {
	r, ok := s.engine.(kuboEngine)
	if !ok {
		return
	}
	s.metrics.FollowNodes(len(r.Stats()), func(i int) obs.NodeStat { return obs.NodeStat(r.Stats()[i]) })
}

// prepareRepair builds the repair of copies on storage nodes, where there are any.
func (s *storageSide) prepareRepair(leases nodegate.LeaseStore) {
	r, ok := s.engine.(kuboEngine)
	if every := s.cfg.Storage.Kubo.Repair; ok && every > 0 {
		s.repair = kubo.NewRepair(r.Engine, leases, every)
		s.metrics.FollowRepair(func() obs.RepairStat { return obs.RepairStat(s.repair.Stats()) })
	}
}

// blocksMeta is where the account store names the one block store beside it.
const blocksMeta = "storage.blocks"

// claimBlocks refuses a second block store beside a shared account store: content
// added on one server would not be found on the other.
//
// Returns BadConfig.
func claimBlocks(ctx context.Context, cfg *config.Config, store nodegate.MetaStore) error {
	if cfg.Store.Postgres == "" {
		return nil
	}
	id, err := readID(blocksID(cfg.Data))
	if err != nil {
		return err
	}
	known, err := store.SetMeta(ctx, blocksMeta, id)
	if err != nil || known == id {
		return err
	}
	return &nodegate.Error{
		Op: "server.storage", Code: nodegate.BadConfig,
		Msg: "another server keeps the stored content of this Postgres in its own data folder: the embedded store works on one server only. " +
			"Set storage.engine to kubo on all servers, or to off on this one. If the other server is permanently gone, run nodegate adopt to make this data folder the owner",
	}
}

// blocksID is the file that names the block store.
func blocksID(data string) string { return filepath.Join(data, "storage", "id") }

// readID is the name in a file, made at its first use.
func readID(path string) (string, error) {
	text, err := os.ReadFile(path)
	if id := strings.TrimSpace(string(text)); err == nil && id != "" {
		return id, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", badID(path, err)
	}
	id := rand.Text()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", badID(path, err)
	}
	if err := disk.WriteFile(path, []byte(id+"\n")); err != nil {
		return "", badID(path, err)
	}
	return id, nil
}

func badID(path string, err error) error {
	return &nodegate.Error{Op: "server.id", Code: nodegate.BadConfig, Msg: "can't read or write " + path, Err: err}
}
