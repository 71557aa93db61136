package server

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/blocktag"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
	"github.com/nodegate/nodegate/internal/rpc/eth"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/rpc/nonce"
	"github.com/nodegate/nodegate/internal/rpc/proven"
	"github.com/nodegate/nodegate/internal/rpc/require"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// batchCalls is how many calls of one batch ask remote nodes at once.
const batchCalls = 8

// remote is a running network of remote nodes.
type remote struct {
	cfg    config.Network // as it runs
	pool   *pool.Pool
	cache  *cache.Cache // nil without one
	ledger *ledger.Node // nil without one
	node   nodegate.Node

	settled atomic.Bool // it has a node, or has looked for one long enough
}

// openRemote stacks the checks over the tags over the proofs over the ledger over the level
// that answers must have over the cache over the fee model over the nonces over the pool. It never waits for a node. The ledger is to be
// started when the network is served.
func (ns *networks) openRemote(n *config.Network) (*remote, error) {
	r := &remote{cfg: *n}
	level := nodegate.LevelNamed(n.Verified)
	proven := level != nodegate.LevelNone && n.Ledger.Blocks > 0
	r.pool = pool.Open(pool.Config{
		Network: n.Name, Nodes: nodesOf(n), ChainID: n.ChainID, MaxLag: n.MaxLag, Timeout: ns.cfg.Limits.NodeTimeout,
		Poll: n.Poll, MaxHeadAge: n.MaxHeadAge,
		Retry:     pool.Retry{Attempts: n.Retry.Attempts, Percent: int64(n.Retry.Budget)},
		Hedge:     pool.Hedge{Off: n.Hedge.Off, Delay: n.Hedge.Delay, Percent: int64(n.Hedge.Budget)},
		MaxAnswer: int64(ns.cfg.Limits.ResponseBytes), Cost: ns.costOf, Shared: ns.shared.heads, Metrics: ns.metrics,
		FixHead: eth.HeadEvent, FixLog: eth.LogEvent, FixReceipt: eth.ReceiptEvent, Form: eth.Form, Stack: stackOf(n),
		Proven: proven, Log: ns.log,
	})
	var node nodegate.Node = nonce.New(asked(r.pool, n, level), n.Name, ns.shared.nonces)
	if n.Layer2 != nil {
		var err error
		if node, err = withFees(node, n.Layer2, true); err != nil {
			r.pool.Close()
			return nil, err
		}
	}
	if n.Cache > 0 {
		c := cache.Config{Network: n.Name, Bytes: int64(cacheMemory(ns.cfg, memoryLimit(), n.Cache)), Shared: ns.shared.cache}
		if level != nodegate.LevelNone {
			c.Shared = nil // it doesn't say how well other servers verified what they put there
		}
		r.cache = cache.New(node, c)
		node = r.cache
	}
	node = require.New(node, level, proven)
	machine, err := machineOf(ns.cfg, ns.lanes, n)
	if err != nil {
		r.pool.Close()
		return nil, err
	}
	if n.Ledger.Blocks == 0 {
		r.node = ns.withRules(blocktag.New(withProofs(ns.cfg, node, r, machine)), n, nil)
		return r, nil
	}
	r.ledger = ns.ledgers.over(node, r.pool, n)
	r.pool.LookUpIn(r.ledger.Only())
	tags := blocktag.New(withProofs(ns.cfg, r.ledger, r, machine))
	r.node = ns.withRules(tags, n, tags.Beside(r.ledger.Only()))
	return r, nil
}

// asked is the network's nodes as clients' calls reach them: one node for a call, or several
// that must agree.
func asked(p *pool.Pool, n *config.Network, level nodegate.Level) nodegate.Node {
	if level == nodegate.LevelAgreed {
		return p.Agreeing(n.Agree)
	}
	return p
}

// withProofs puts proofs over a network's node, where its stack has any that can be checked.
func withProofs(cfg *config.Config, node nodegate.Node, r *remote, machine *native.Machine) nodegate.Node {
	n := &r.cfg
	if !verify.Proves(stackOf(n)) {
		return node
	}
	c := proven.Config{
		Values: n.Verify == config.VerifyState || machine != nil, Source: r.pool, Hash: r.pool.Hash, Stack: stackOf(n), Machine: machine,
		Bytes: int64(cacheMemory(cfg, memoryLimit(), provenMemory(n))),
	}
	if r.ledger != nil {
		c.Vouched = r.ledger.Vouched
	}
	return proven.New(node, c)
}

// machineOf is what executes calls of a network here; nil leaves them to the nodes.
func machineOf(cfg *config.Config, lanes *lane.Lanes, n *config.Network) (*native.Machine, error) {
	if n.Verify != config.VerifyExecution {
		return nil, nil
	}
	var genesis []byte
	if n.Genesis != "" {
		var err error
		if genesis, err = os.ReadFile(n.Genesis); err != nil {
			return nil, badFile("can't read the genesis file "+n.Genesis, err)
		}
	}
	m, err := native.NewMachine(n.ChainID, genesis, native.Config{CallTimeout: cfg.Limits.CallTimeout, Lanes: lanes})
	if err != nil {
		return nil, badFile("can't execute calls by the genesis file "+n.Genesis+": "+err.Error(), err)
	}
	return m, nil
}

// start begins to follow the chain, where the network has a ledger.
func (r *remote) start() {
	if r.ledger != nil {
		r.ledger.Start()
	}
}

// stop ends following.
func (r *remote) stop() {
	if r.ledger != nil {
		r.ledger.Stop()
	}
}

// close ends the ledger, which asks the nodes, and then the pool.
func (r *remote) close() {
	if r.ledger != nil {
		r.ledger.Close()
	}
	r.pool.Close()
}

// stackOf is the network's rollup stack, or "".
func stackOf(n *config.Network) string {
	if n.Layer2 == nil {
		return ""
	}
	return n.Layer2.Stack
}

// network is what the front end serves of it.
func (r *remote) network() nodegate.Network {
	return nodegate.Network{Name: r.cfg.Name, Alias: aliasOf(&r.cfg), Node: r.node, Traced: true, Parallel: batchCalls}
}

// nodesOf translates the nodes of a network. Names are there but in a configuration
// that was not loaded.
func nodesOf(n *config.Network) []pool.Node {
	list := make([]pool.Node, len(n.Nodes))
	for i, node := range n.Nodes {
		list[i] = pool.Node{
			Name: node.Name, URL: string(node.URL), WS: string(node.WS), Backup: node.Role == "backup", Tier: node.Tier, Weight: node.Weight,
			Headers: map[string]string{}, Only: node.Only, Not: node.Not, CreditsPerSecond: node.CreditsPerSecond,
			CreditsPerDay: node.CreditsPerDay, CreditsPerMonth: node.CreditsPerMonth, MaxLogRange: node.MaxLogRange, Traceparent: !node.HideTrace,
			Transport: client.Transport{CA: string(node.CA), Cert: string(node.Cert), Key: string(node.Key), Proxy: string(node.Proxy), Gzip: node.Gzip},
		}
		if node.Name == "" {
			list[i].Name = fmt.Sprintf("node-%d", i+1)
		}
		for name, value := range node.Headers {
			list[i].Headers[name] = string(value)
		}
	}
	return list
}

// costOf is what a call takes of a node's credits.
func (ns *networks) costOf(name string) int64 { return ns.costs.Load().Of(name, true) }

// list is what is served now: the embedded ones first, then the remote ones by name.
func (ns *networks) list() []nodegate.Network {
	list := slices.Clone(ns.embedded)
	for _, name := range slices.Sorted(maps.Keys(ns.remotes)) {
		list = append(list, ns.remotes[name].network())
	}
	return list
}

// showCaches is what the metrics tell of the networks' caches.
func (ns *networks) showCaches(show func(network string, answers int, bytes int64)) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for name, f := range ns.fronts {
		held := f.Stats()
		show(name, held.Answers, held.Bytes)
	}
	for name, r := range ns.remotes {
		if r.cache != nil {
			held := r.cache.Stats()
			show(name, held.Answers, held.Bytes)
		}
	}
}

// Times of a network's change. Requests that began before it may still be in progress.
const (
	readyTime  = 5 * time.Second
	retireTime = 40 * time.Second
)

// retire closes the pool of a network that is served no more, once nobody uses it.
func (ns *networks) retire(r *remote) {
	ns.retired.Go(func() {
		select {
		case <-time.After(max(retireTime, ns.cfg.Limits.NodeTimeout+readyTime)):
		case <-ns.closing:
		}
		r.close()
	})
}

// closeRemotes ends the ledgers and the pools, after a reload that is in progress. Nothing asks them
// any more.
func (ns *networks) closeRemotes() {
	ns.closeOnce.Do(func() { close(ns.closing) })
	ns.changing.Lock()
	defer ns.changing.Unlock()
	ns.retired.Wait()
	creditFile{ns}.write()
	ns.mu.Lock()
	defer ns.mu.Unlock()
	var all sync.WaitGroup
	for _, r := range ns.remotes {
		all.Go(r.close) // a ledger's database may take seconds on a disk that hangs
	}
	all.Wait()
	clear(ns.remotes)
	ns.ledgers.memory.close()
}
