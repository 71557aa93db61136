package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/internal/rpc/eth"
	"github.com/nodegate/nodegate/internal/rpc/filter"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/rpc/nonce"
	"github.com/nodegate/nodegate/internal/rpc/rollup"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// networks are the networks that are served: embedded chains, which stay, and remote
// ones, which a reload can change.
type networks struct {
	*common
	shared  shared
	lanes   *lane.Lanes // one for all chains
	ledgers *ledgers

	chains   []*chain.Node
	chainOf  map[string]*chain.Node // by network
	embedded []nodegate.Network
	// elsewhere are the embedded networks that another server has under the same name.
	elsewhere []string
	fronts    map[string]*cache.Front // of the embedded ones that have a cache
	costs     atomic.Pointer[nodegate.Costs]
	shown     atomic.Pointer[[]dashboard.Network]

	changing  sync.Mutex // held by a reload from begin to end
	mu        sync.Mutex
	live      *config.Config     // what is in force; changed with changing and mu held
	remotes   map[string]*remote // by name; changed only by a reload, with mu held
	retired   sync.WaitGroup     // networks that are served no more and not closed yet
	closing   chan struct{}
	closeOnce sync.Once
}

// shared is what all servers have together, where there are several.
type shared struct {
	heads   heads.Shared
	cache   cache.Shared
	filters filter.Store
	nonces  nonce.Store
	blocks  ledger.Shared
}

func newNetworks(c *common) *networks {
	n := &networks{
		common: c, ledgers: newLedgers(c), lanes: lane.New(lane.Seats(), c.cfg.Limits.HeavyPerAccount), live: c.cfg,
		fronts: map[string]*cache.Front{}, chainOf: map[string]*chain.Node{}, remotes: map[string]*remote{}, closing: make(chan struct{}),
	}
	costs := costsOf(c.cfg)
	n.costs.Store(&costs)
	return n
}

// open starts every network and stacks its layers.
func (ns *networks) open(with shared, pace *collector) error {
	ns.shared, ns.ledgers.shared = with, with.blocks
	credits := creditFile{ns}
	used := credits.read()
	for i := range ns.cfg.Networks {
		n := &ns.cfg.Networks[i]
		if err := ns.openOne(n); err != nil {
			return fmt.Errorf("network %s: %w", n.Name, err)
		}
		if r := ns.remotes[n.Name]; r != nil {
			r.pool.Continue(used[n.Name])
		}
	}
	go credits.keep()
	go ns.ledgers.memory.keepPace(pace, ns.closing)
	return nil
}

func (ns *networks) openOne(n *config.Network) error {
	if len(n.Nodes) > 0 {
		r, err := ns.openRemote(n)
		if err == nil {
			ns.remotes[n.Name] = r
			r.start()
			go func() { _ = r.awaitReady(context.Background(), ns.closing) }() // see settled
		}
		return err
	}
	node, err := ns.openEmbedded(n)
	if err == nil {
		ns.embedded = append(ns.embedded, nodegate.Network{Name: n.Name, Alias: aliasOf(n), Node: node})
	}
	return err
}

// openEmbedded stacks the checks over the cache, where the network has one, over
// the fee model over the chain. What the layers do with a call is not traced there: most
// calls pass the cache by, and would pay for it.
func (ns *networks) openEmbedded(n *config.Network) (nodegate.Node, error) {
	var node nodegate.Node
	embedded, err := ns.openChain(n)
	if err != nil {
		return nil, err
	}
	node = embedded
	if n.Layer2 != nil {
		if node, err = withFees(node, n.Layer2, false); err != nil {
			return nil, err
		}
	}
	if n.Cache > 0 {
		front := cache.NewFront(node, cache.Config{Network: n.Name, Bytes: int64(cacheMemory(ns.cfg, memoryLimit(), n.Cache))})
		ns.fronts[n.Name], node = front, front
	}
	return ns.withRules(node, n, nil), nil
}

// withRules puts the checks of the methods over the filters over a network's node. Log
// queries of any width go to wide, if there is one.
func (ns *networks) withRules(node nodegate.Node, n *config.Network, wide nodegate.Node) nodegate.Node {
	dialect, _ := eth.ParseDialect(n.Dialect) // checked when the configuration was read
	filters := filter.New(node, filter.Config{Network: n.Name, Store: ns.shared.filters, LogBlocks: uint64(ns.cfg.Limits.LogBlocks)})
	return eth.New(filters, eth.Config{
		Dialect: dialect, Remote: len(n.Nodes) > 0, HistoryWindow: n.HistoryWindow, Layer2: n.Layer2 != nil, Alias: aliasOf(n),
		Namespaces: n.Namespaces, LogBlocks: uint64(ns.cfg.Limits.LogBlocks), LogResults: ns.cfg.Limits.LogResults,
		WideLogs: wide,
	})
}

func aliasOf(n *config.Network) string {
	if n.Layer2 == nil {
		return ""
	}
	return n.Layer2.Alias
}

func (ns *networks) openChain(n *config.Network) (*chain.Node, error) {
	genesis, blocks, err := chain.Beginning(n.Embedded.Preset, n.Embedded.Genesis, n.Embedded.Chain)
	if err != nil {
		return nil, err
	}
	node, err := chain.Open(chain.Config{
		Dir: filepath.Join(ns.cfg.Data, "networks", n.Name), Genesis: genesis, Chain: blocks, Period: n.Embedded.Period,
		AnswerBytes: cacheMemory(ns.cfg, memoryLimit(), ns.cfg.Memory.Answers), StateBytes: cacheMemory(ns.cfg, memoryLimit(), ns.cfg.Memory.State),
		CallTimeout: ns.cfg.Limits.CallTimeout, Lanes: ns.lanes, TraceBytes: int64(ns.cfg.Limits.ResponseBytes), QueryBlocks: uint64(ns.cfg.Limits.LogBlocks),
		Scripts: ns.cfg.Tracers.JavaScript, Guard: guardOf(ns.cfg), MaxBytes: int64(n.Embedded.MaxSize), DailyBytes: int64(n.Embedded.DailyPerAccount), Log: ns.log.With("network", n.Name),
	})
	if err != nil {
		return nil, err
	}
	ns.chains, ns.chainOf[n.Name] = append(ns.chains, node), node
	return node, nil
}

// withFees puts a rollup's fee model over its chain.
func withFees(node nodegate.Node, l *config.Layer2, remote bool) (nodegate.Node, error) {
	c := rollup.Config{Stack: l.Stack, Remote: remote, Margin: l.Margin}
	if l.Dictionary != "" {
		dictionary, err := os.ReadFile(l.Dictionary)
		if err != nil {
			return nil, badFile("can't read the compressor's dictionary "+l.Dictionary, err)
		}
		c.Dictionary = dictionary
	}
	return rollup.New(node, c)
}

func badFile(msg string, err error) error {
	return &nodegate.Error{Op: "server.open", Code: nodegate.BadConfig, Msg: msg, Err: err}
}
