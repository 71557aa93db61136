package chain

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/eth/tracers"
	_ "github.com/ethereum/go-ethereum/eth/tracers/native" // callTracer, prestateTracer and the like
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/replay"
	"github.com/nodegate/nodegate/internal/rpc/chain/txjournal"
)

// nodeName is go-ethereum's instance name: the folder it makes in the data folder.
const nodeName = "chain"

// gasCapFactor is how far above the block gas limit a call may ask. The layer
// above enforces the contract's cap; the engine's must never be the lower one.
const gasCapFactor = 10

// minGasCap is what a call without gas gets.
const minGasCap = 50_000_000

// engine is the running go-ethereum node with its block producer.
type engine struct {
	dir      string
	stack    *node.Node
	eth      *eth.Ethereum
	rpc      *rpc.Server
	producer *producer
	journal  *txjournal.Journal // nil in memory
	kept     []txjournal.Tx     // what the journal held at the start
	gasCap   uint64

	long   map[string]*apiMethod // that may take long, by name
	replay *replay.Chain
}

func startEngine(cfg Config) (*engine, error) {
	stack, err := node.New(nodeConfig(cfg.Dir))
	if err != nil {
		return nil, badData("chain.open", "can't open the data folder; is another nodegate using it?", err)
	}
	e := &engine{dir: cfg.Dir, stack: stack}
	if err := e.start(cfg); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *engine) start(cfg Config) error {
	conf := ethConfig(cfg)
	var err error
	if e.eth, err = eth.New(e.stack, conf); err != nil {
		return openError(err)
	}
	system := filters.NewFilterSystem(e.eth.APIBackend, filters.Config{LogCacheSize: conf.FilterLogCacheSize, LogQueryLimit: conf.LogQueryLimit})
	apis := append(e.eth.APIs(), rpc.API{Namespace: "eth", Service: filters.NewFilterAPI(system)})
	apis = append(append(apis, tracers.APIs(e.eth.APIBackend)...), e.traceAPIs(cfg, apis)...)
	if e.rpc, err = newRPC(apis); err != nil {
		return badData("chain.open", "can't start the embedded node", err)
	}
	if e.long, err = longMethods(apis, cfg.Scripts, e.eth.BlockChain().Config()); err != nil {
		return badData("chain.open", "can't start the embedded node", err)
	}
	if err := e.stack.Start(); err != nil {
		return badData("chain.open", "can't start the embedded node", err)
	}
	if err := importOnce(e.eth.BlockChain(), e.eth.ChainDb().SyncKeyValue, cfg); err != nil {
		return err
	}
	if err := e.openJournal(cfg); err != nil {
		return err
	}
	e.followGasLimit(conf)
	e.awaitIndex()
	return e.produce(cfg)
}

// indexWait is how long a start waits for the transaction index; a chain that
// takes longer serves, and says so for the transactions it can't find yet.
const indexWait = 10 * time.Second

// awaitIndex waits until every transaction can be found by its hash.
func (e *engine) awaitIndex() {
	bc := e.eth.BlockChain()
	if bc.CurrentBlock().Number.Sign() == 0 {
		return // the index begins with the first block
	}
	for deadline := time.Now().Add(indexWait); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if bc.TxIndexDone() {
			return
		}
	}
}

// followGasLimit takes the gas limit from the chain's head, which an import may
// have moved far from the genesis. go-ethereum keeps the configuration it was
// given and reads the cap from it at each call; nothing calls it yet.
func (e *engine) followGasLimit(conf *ethconfig.Config) {
	limit := max(e.eth.BlockChain().CurrentBlock().GasLimit, conf.Genesis.GasLimit)
	conf.RPCGasCap = max(gasCapFactor*limit, minGasCap)
	e.gasCap, e.replay.GasCap = conf.RPCGasCap, conf.RPCGasCap
	e.eth.Miner().SetGasCeil(e.eth.BlockChain().CurrentBlock().GasLimit)
}

// produce starts the block producer on top of what was imported or mined before.
func (e *engine) produce(cfg Config) error {
	beacon, err := catalyst.NewSimulatedBeacon(0, cfg.Genesis.Coinbase, e.eth)
	if err != nil {
		return badData("chain.open", "can't produce blocks on this chain: its newest fork must be post-merge", err)
	}
	bc := e.eth.BlockChain()
	bc.SetSafe(bc.CurrentBlock()) // as after every block; go-ethereum forgets it at a restart
	set, err := readSettings(cfg.Dir)
	if err != nil {
		return err
	}
	first, err := firstHead(bc, cfg.Dir)
	if err != nil {
		return err
	}
	senders, err := openSenders(e.eth.ChainDb())
	if err != nil {
		return openError(err)
	}
	e.producer = newProducer(e.eth, beacon, e.journal, development{set, senders, first}, cfg)
	return nil
}

// firstHead is the number of the newest block that was imported, or 0.
func firstHead(bc *core.BlockChain, dir string) (uint64, error) {
	if dir == "" {
		return bc.CurrentBlock().Number.Uint64(), nil // every start is the first one
	}
	m, err := readMarker(dir)
	return m.number, err
}

func (e *engine) close() error {
	if e.producer != nil {
		e.producer.close()
	}
	if e.rpc != nil {
		e.rpc.Stop()
	}
	err := e.stop()
	if e.producer == nil || !e.producer.hasEnded() {
		faults.forget(e.dir)
	}
	return errors.Join(err, e.journal.Close())
}

// stop closes the database. One whose disk failed may never be closed: its process has
// to end.
func (e *engine) stop() (err error) {
	if e.producer == nil {
		return e.stack.Close()
	}
	closed := make(chan error, 1)
	e.producer.bounded(func() { closed <- e.stack.Close() })
	select {
	case err = <-closed:
	default:
	}
	if e.producer.hasEnded() {
		err = nil // it was reported when it failed
	}
	return err
}

// nodeConfig has no peers, no ports and no keys: everything goes through Attach.
func nodeConfig(dir string) *node.Config {
	c := node.DefaultConfig
	c.Name = nodeName
	c.DataDir = dir
	c.IPCPath = ""
	c.AllowUnprotectedTxs = true
	c.P2P = p2p.Config{NoDiscovery: true, NoDial: true, MaxPeers: 0, ListenAddr: ""}
	return &c
}

// ethConfig is a hash-scheme archive without a log index: every state and proof
// of every block right after import, and megabytes where the index takes gigabytes.
func ethConfig(cfg Config) *ethconfig.Config {
	c := ethconfig.Defaults
	c.Genesis = cfg.Genesis
	c.SyncMode = ethconfig.FullSync
	c.NoPruning = true
	c.StateScheme = rawdb.HashScheme
	c.SnapshotCache = 0
	c.TrieDirtyCache = 0
	c.TrieCleanCache = max(int(cfg.StateBytes>>20), 16)
	c.DatabaseCache = 16
	c.DatabaseHandles = 64
	c.LogNoHistory = true
	c.TransactionHistory = 0 // index every block's transactions
	c.RPCEVMTimeout = cfg.CallTimeout
	c.RPCTxFeeCap = 0 // a development account may pay what it likes
	c.Miner.GasCeil = cfg.Genesis.GasLimit
	c.Miner.GasPrice = big.NewInt(1)
	c.Miner.ExtraData = cfg.Genesis.ExtraData
	c.TxPool.NoLocals = true
	c.TxPool.Journal = ""
	c.TxPool.PriceLimit = 1
	// Blocks come as soon as transactions do. What waits nevertheless is held in memory, and in
	// the journal: at most 128 MiB, and 64 MiB with blobs, instead of 200 MiB and 2.5 GiB.
	c.TxPool.GlobalSlots, c.TxPool.GlobalQueue = 3072, 1024
	c.BlobPool.Datacap = 64 << 20
	return &c
}

// openError tells a genesis that differs from the stored one apart from a
// database that can't be read.
func openError(err error) error {
	var mismatch *core.GenesisMismatchError
	if errors.As(err, &mismatch) {
		return badData("chain.open", fmt.Sprintf("the data folder holds another chain (genesis %s, configured %s): use another data folder or the old genesis",
			mismatch.Stored, mismatch.New), nil)
	}
	return badData("chain.open", "the chain database can't be opened; restore it from a backup, or remove the network's folder to start with an empty chain", err)
}
