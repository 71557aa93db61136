package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/bench/chainfile"
	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/internal/rpc/chain"
)

// gethServer is go-ethereum by itself: its node, its eth API and its rpc server
// behind a bare listener. There is nothing in front that could slow it down.
type gethServer struct {
	stack *node.Node
	eth   *eth.Ethereum
	rpc   *rpc.Server
	http  *http.Server
	addr  string
}

func openGeth(c childFlags, log *slog.Logger) (child.Server, error) {
	chain.RouteLogs(log)
	genesis, blocks, err := chainfile.Load(chainfile.Files{Genesis: c.genesis, Chain: c.chain})
	if err != nil {
		return nil, err
	}
	g := &gethServer{rpc: rpc.NewServer()}
	if g.stack, err = node.New(gethNodeConfig(c.data)); err != nil {
		return nil, err
	}
	if g.eth, err = eth.New(g.stack, gethConfig(genesis)); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if err := g.start(blocks); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *gethServer) start(blocks []*types.Block) error {
	if err := g.stack.Start(); err != nil {
		return err
	}
	if err := importChain(g.eth.BlockChain(), blocks); err != nil {
		return err
	}
	if err := g.register(); err != nil {
		return err
	}
	return g.listen()
}

func gethNodeConfig(dir string) *node.Config {
	c := node.DefaultConfig
	c.Name = "geth"
	c.DataDir = dir
	c.IPCPath = ""
	c.P2P = p2p.Config{NoDiscovery: true, NoDial: true, MaxPeers: 0, ListenAddr: ""}
	return &c
}

// gethConfig is the archive that answers about every block, with Geth's own default
// caches and snapshots: far more memory than nodegate takes, so that the peer has
// no handicap. The index for searching logs plays no part in what is measured.
func gethConfig(genesis *core.Genesis) *ethconfig.Config {
	c := ethconfig.Defaults
	c.Genesis = genesis
	c.SyncMode = ethconfig.FullSync
	c.NoPruning = true
	c.StateScheme = rawdb.HashScheme
	c.DatabaseHandles = 1024
	c.LogNoHistory = true
	return &c
}

// importChain makes the last block the safe and the finalized one and waits for the
// index of transactions.
func importChain(bc *core.BlockChain, blocks []*types.Block) error {
	if i, err := bc.InsertChain(blocks); err != nil {
		return fmt.Errorf("import block %d: %w", blocks[i].NumberU64(), err)
	}
	bc.SetFinalized(bc.CurrentBlock())
	bc.SetSafe(bc.CurrentBlock())
	for range 600 {
		if bc.TxIndexDone() {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the index of transactions is not done after a minute")
}

// register offers what Geth offers, and sets its usual limits.
func (g *gethServer) register() error {
	system := filters.NewFilterSystem(g.eth.APIBackend, filters.Config{})
	apis := append(g.eth.APIs(), rpc.API{Namespace: "eth", Service: filters.NewFilterAPI(system)})
	for _, api := range apis {
		if err := g.rpc.RegisterName(api.Namespace, api.Service); err != nil {
			return err
		}
	}
	g.rpc.SetBatchLimits(node.DefaultConfig.BatchRequestLimit, node.DefaultConfig.BatchResponseMaxSize)
	return nil
}

func (g *gethServer) listen() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g.addr = ln.Addr().String()
	g.http = &http.Server{Handler: g.rpc}
	go func() { _ = g.http.Serve(ln) }() // its only error is that it was closed
	return nil
}

// Hello tells where it listens.
func (g *gethServer) Hello() child.Hello { return child.Hello{RPC: "http://" + g.addr} }

// Close ends it.
func (g *gethServer) Close() error {
	var err error
	if g.http != nil {
		err = g.http.Close()
	}
	g.rpc.Stop()
	return errors.Join(err, g.stack.Close())
}
