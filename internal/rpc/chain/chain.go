// Package chain is the embedded node: a complete go-ethereum node with its own
// block production, kept in the data folder, and over the same blockchain object
// the native path of package native, which answers the common shapes of the
// specification's methods several times faster.
//
// A Node answers a call natively where it can and hands everything else to
// go-ethereum's own API. "The same bytes, or handed over" is the whole
// correctness argument of the native path; a differential fuzz test checks it.
//
// This package and those below it are the only ones that import go-ethereum's engine.
package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/guard"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
	"github.com/nodegate/nodegate/internal/rpc/chain/steplog"
)

// Config describes one embedded chain.
type Config struct {
	Dir     string        // folder of this chain's data; empty keeps it in memory
	Genesis *core.Genesis // how the chain begins
	Chain   []byte        // RLP of the blocks imported at the first start, or nil
	Period  uint64        // seconds between blocks; 0 mines when a transaction arrives

	AnswerBytes uint64        // memory for pre-encoded answers and remembered calls
	StateBytes  uint64        // memory for cached state
	CallTimeout time.Duration // longest execution of one call
	Lanes       *lane.Lanes   // of the whole process; nil makes lanes for this chain alone
	TraceBytes  int64         // largest output of a trace; 0 is 16 MiB, and so is more
	QueryBlocks uint64        // blocks that one query may span; 0 is 10,000
	Scripts     bool          // traces may run JavaScript of clients, whose memory has no bound
	GenericOnly bool          // answer everything by go-ethereum's API, for comparison
	Guard       *disk.Guard   // refuses changes while the disk is almost full; nil never does
	MaxBytes    int64         // largest size of Dir; a larger chain takes no transactions. 0 is no bound
	DailyBytes  int64         // what the transactions of one account may add in a day. 0 is no bound
	Log         *slog.Logger
}

// Node is an embedded chain. It implements nodegate.Node and nodegate.Feed.
type Node struct {
	engine *engine
	feeds  *feeds
	lanes  *lane.Lanes
	briefs chan struct{} // short attempts in progress in go-ethereum's API
	// lowBriefs are those at low priority. They may take longer, and are fewer than cores.
	lowBriefs chan struct{}
	native    *native.Path
	evm       *devMethods
	gifts     sync.Mutex // of the faucet
	copies    *copies
	growth    *dailyGrowth // of accounts

	callTimeout time.Duration
	traceBytes  int64
	chunks      steplog.Chunks // of traces
}

// Open starts the chain, importing its chain file at the first start.
//
// Returns BadConfig when the genesis, the chain file or the data folder can't be
// used. A first start that fails leaves nothing behind.
func Open(cfg Config) (*Node, error) {
	watchFiles()
	if err := prepareDir(cfg); err != nil {
		return nil, err
	}
	n, err := guarded(cfg)
	if err != nil && cfg.Dir != "" && firstStartUnfinished(cfg.Dir) {
		_ = os.RemoveAll(cfg.Dir) // nothing was acknowledged yet, so nothing is lost
	}
	return n, err
}

// guarded opens the chain. Some damage to a database makes go-ethereum panic
// instead of returning an error.
func guarded(cfg Config) (n *Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			n, err = nil, openError(fmt.Errorf("%v", p))
		}
	}()
	return open(cfg)
}

func open(cfg Config) (*Node, error) {
	guard.Install()
	engine, err := startEngine(cfg)
	if err != nil {
		return nil, err
	}
	n := &Node{engine: engine, feeds: newFeeds(rpc.DialInProc(engine.rpc), engine.eth.BlockChain(), engine.producer.await), copies: newCopies()}
	n.callTimeout, n.traceBytes = cfg.CallTimeout, min(cmp.Or(cfg.TraceBytes, maxTraceBytes), maxTraceBytes)
	if n.lanes = cfg.Lanes; n.lanes == nil {
		n.lanes = lane.New(lane.Seats(), lane.Seats())
	}
	n.briefs = make(chan struct{}, 2*background.Cores())
	n.lowBriefs = make(chan struct{}, lane.Seats())
	n.evm = newDevMethods(n, cfg.Genesis)
	engine.producer.removed = n.feeds.removed
	n.feeds.correct = engine.producer.senders.correct
	if n.growth = newDailyGrowth(cfg.DailyBytes); n.growth != nil {
		n.growth.follow(engine.eth.BlockChain())
	}
	if !cfg.GenericOnly {
		n.native, err = native.New(engine.eth.BlockChain(), native.Config{
			AnswerBytes: cfg.AnswerBytes,
			StateBytes:  cfg.StateBytes,
			GasCap:      engine.gasCap,
			CallTimeout: cfg.CallTimeout,
			Lanes:       n.lanes,
		})
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	faults.watch(cfg.Dir, engine.producer)
	engine.producer.executable() // only then the pool knows the newest block: before, it takes nonces of the past and drops them later
	n.replay()
	return n, nil
}

// Call answers natively where the native path knows the shape, and by
// go-ethereum's API otherwise. No answer speaks of a block that is not on disk.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if broken := n.engine.producer.failure(); broken != nil {
		return nil, broken
	}
	if name == method.EthSendRawTransaction {
		return n.send(ctx, params)
	}
	result, err := n.answer(ctx, name, params)
	result = n.engine.producer.senders.correct(result)
	if broken := n.engine.producer.await(); broken != nil {
		return nil, broken
	}
	return result, err
}

// Ready tells whether the chain can be served: its disk takes what is written.
func (n *Node) Ready() error { return n.engine.producer.failure() }

func (n *Node) answer(ctx context.Context, name string, params []byte) (result []byte, err error) {
	defer n.contain(&err)
	if n.native != nil {
		if result, handled, err := n.native.Answer(ctx, name, params); handled {
			return result, err
		}
	}
	if result, handled, err := n.evm.call(ctx, name, params); handled {
		return result, err
	}
	switch name {
	case method.EthSendRawTransactionSync:
		return n.sendSync(ctx, params)
	case method.EthCapabilities:
		return n.capabilities(ctx, params)
	}
	return n.ask(ctx, name, params)
}

// Head is the newest block that an answer may speak of, and which version of the chain
// it ends.
func (n *Node) Head(context.Context) (nodegate.Head, error) {
	return n.engine.producer.told.Load().Head, nil
}

// Close stops block production and closes the database. It waits for both.
func (n *Node) Close() error {
	n.copies.close()
	n.feeds.close()
	return n.engine.close()
}

func badData(op, msg string, err error) error {
	return &nodegate.Error{Op: op, Code: nodegate.BadConfig, Msg: msg, Err: err}
}
