// Package chain is the embedded node: a complete go-ethereum node with its own
// block production, kept in the data folder, and over the same blockchain object
// the native path of package native, which answers the common shapes of the
// specification's methods several times faster.
//
// A Node answers a call natively where it can and hands everything else to
// go-ethereum's own API. «The same bytes, or handed over» is the whole
// correctness argument of the native path; a differential fuzz test checks it.
//
// This package and those below it are the only ones that import go-ethereum's engine.
package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/chain/lane"
	"github.com/nodegate/nodegate/internal/chain/native"
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
	HeavyPerKey int           // long-running calls that one key may have under way
	GenericOnly bool          // answer everything by go-ethereum's API, for comparison
	Log         *slog.Logger
}

// Node is an embedded chain. It implements nodegate.Node and nodegate.Feed.
type Node struct {
	engine *engine
	client *rpc.Client // for subscriptions; calls go to the engine's RPC server
	lanes  *lane.Lanes
	briefs chan struct{} // short attempts under way in go-ethereum's API
	native *native.Path
	evm    *devMethods
	gifts  sync.Mutex // of the faucet
}

// Open starts the chain, importing its chain file at the first start.
//
// Returns BadConfig when the genesis, the chain file or the data folder can't be
// used. A first start that fails leaves nothing behind.
func Open(cfg Config) (*Node, error) {
	if err := prepareDir(cfg); err != nil {
		return nil, err
	}
	n, err := guarded(cfg)
	if err != nil && cfg.Dir != "" && !imported(cfg.Dir) {
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
	engine, err := startEngine(cfg)
	if err != nil {
		return nil, err
	}
	n := &Node{engine: engine, client: rpc.DialInProc(engine.rpc)}
	n.lanes = lane.New(max(1, runtime.GOMAXPROCS(0)-1), max(1, cfg.HeavyPerKey))
	n.briefs = make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	n.evm = &devMethods{engine: engine}
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
	return n, nil
}

// prepareDir makes the data folder, first clearing what an interrupted first
// start left: until the import is marked complete nobody was ever answered from it.
func prepareDir(cfg Config) error {
	if cfg.Dir == "" {
		return nil
	}
	if !imported(cfg.Dir) && holdsChain(cfg.Dir) {
		if err := os.RemoveAll(cfg.Dir); err != nil {
			return badData("chain.open", "can't clear the unfinished first start in "+cfg.Dir, err)
		}
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return badData("chain.open", "can't make the data folder "+cfg.Dir, err)
	}
	return nil
}

func holdsChain(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, nodeName))
	return err == nil
}

// Call answers natively where the native path knows the shape, and by
// go-ethereum's API otherwise. No answer speaks of a block that is not on disk.
func (n *Node) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	result, err := n.answer(ctx, method, params)
	if broken := n.engine.producer.await(); broken != nil {
		return nil, broken
	}
	return result, err
}

// Ready tells whether the chain can be served: its disk takes what is written.
func (n *Node) Ready() error { return n.engine.producer.failure() }

func (n *Node) answer(ctx context.Context, method string, params []byte) ([]byte, error) {
	if n.native != nil {
		if result, handled, err := n.native.Answer(ctx, method, params); handled {
			return result, err
		}
	}
	if call := n.evm.method(method); call != nil {
		return call(params)
	}
	return n.generic(ctx, method, params)
}

// Head is the newest block that an answer may speak of, and which version of the chain
// it ends.
func (n *Node) Head(context.Context) (nodegate.Head, error) {
	return n.engine.producer.told.Load().Head, nil
}

// Close stops block production and closes the database. It waits for both.
func (n *Node) Close() error {
	n.client.Close()
	return n.engine.close()
}

func badData(op, msg string, err error) error {
	return &nodegate.Error{Op: op, Code: nodegate.BadConfig, Msg: msg, Err: err}
}
