package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/rpc/eth"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
)

// ledgers are the copies of remote chains on this server's disk. A reload opens a second
// instance of a network while the first still answers: both use one open copy.
type ledgers struct {
	cfg   *config.Config
	log   *slog.Logger
	guard *disk.Guard
	// memory caches parts of the copies.
	memory ledgerMemories
	// shared has the blocks that other servers fetched; nil on one server.
	shared ledger.Shared

	mu      sync.Mutex
	folders map[string]*openLedger
}

// openLedger is a folder with a copy. It has a lock for itself: to open or close a copy may take
// long, and those of other networks don't wait for that.
type openLedger struct {
	mu    sync.Mutex
	store *store.Store // nil while nobody uses it
	of    origin
	users int
}

// origin says of which chain a copy is. The chain id is not part of it: a setting that was
// left out and is given later would empty the copy.
type origin struct {
	genesis [32]byte
	stack   string
}

func newLedgers(c *common) *ledgers {
	return &ledgers{cfg: c.cfg, log: c.log, guard: ledgerGuard(c.cfg), memory: ledgerMemories{cfg: c.cfg}, folders: map[string]*openLedger{}}
}

// ledgerGuard stops ledgers before anything else that writes: they are copies, and the others
// are not.
func ledgerGuard(cfg *config.Config) *disk.Guard {
	return disk.NewGuard(cfg.Data, ledgerReserve(reserveOf(cfg)))
}

// ledgerReserve is what ledgers leave free of a disk where others leave a reserve.
func ledgerReserve(reserve int64) int64 { return reserve + max(reserve, 1<<30) }

// showHeadAge is how long no node reports a head before responses show its age: the longest
// time between two looks at a node.
const showHeadAge = 10 * time.Second

// fillPause keeps a new copy from using up what nodes allow in a second: it gets at most 20
// blocks, with two calls for each.
const fillPause = 50 * time.Millisecond

// over puts a ledger over a network's node. It fetches blocks from source, below the cache:
// they would drive out what clients ask for.
func (l *ledgers) over(node nodegate.Node, source *pool.Pool, n *config.Network) *ledger.Node {
	folder, memory := filepath.Join(l.cfg.Data, "ledger", n.Name), l.memory.of(n)
	of := origin{stack: stackOf(n)}
	log := l.log.With("network", n.Name)
	return ledger.New(node, ledger.Config{
		Stack: of.stack, Blocks: n.Ledger.Blocks, Disk: int64(n.Ledger.Disk), Answers: memory.answers, Source: source, Log: log,
		MinBlockTime: n.Ledger.MinBlockTime, Usual: n.Ledger.Usual, FillPause: fillPause, Backfill: n.Ledger.Backfill,
		Claims: func() []ledger.Claim { return claimsOf(source) }, Agree: n.Agree, Checkpoint: checkpointOf(n),
		Network: n.Name, Hash: source.Hash, Shared: l.shared, SharedWait: ledger.ShareWait,
		Last: source.Last, ShowAge: min(showHeadAge, n.MaxHeadAge),
		MaxAnswer: int(l.cfg.Limits.ResponseBytes), SearchTime: l.cfg.Limits.NodeTimeout,
		Fix: ledger.Forms{Block: eth.BlockForm, Receipts: eth.ReceiptsForm},
		Open: func(ctx context.Context, genesis [32]byte) (*store.Store, error) {
			of.genesis = genesis
			return l.take(ctx, folder, of, memory, log)
		},
		Existing: func(ctx context.Context) (*store.Store, error) { return l.existing(ctx, folder, of.stack, memory, log) }, Origin: originOf(n),
		Release: func() { l.release(folder, log) },
	})
}

// claimsOf are the newest blocks of a pool's nodes, in the ledger's words.
func claimsOf(p *pool.Pool) []ledger.Claim {
	claims := p.Claims()
	list := make([]ledger.Claim, 0, len(claims))
	for _, c := range claims {
		hash, fine := hashOf(c.Place.Hash)
		parent, alike := hashOf(c.Parent)
		list = append(list, ledger.Claim{Node: c.Node, Number: c.Place.Number, Hash: hash, Parent: parent, Fresh: c.Fresh && fine && alike})
	}
	return list
}

// hashOf reads a hash as JSON has it.
func hashOf(token string) (hash [32]byte, ok bool) {
	text, err := strconv.Unquote(token)
	if err != nil {
		return hash, false
	}
	n, err := hex.Decode(hash[:], []byte(strings.TrimPrefix(text, "0x")))
	return hash, err == nil && n == len(hash)
}

// checkpointOf is the block that a network's chain must have; nil where none is set.
func checkpointOf(n *config.Network) *ledger.Checkpoint {
	number, hash, ok := n.CheckpointBlock()
	if !ok {
		return nil
	}
	return &ledger.Checkpoint{Number: number, Hash: hash}
}

// errInUse is the error of a folder that is still open as the copy of another chain. Who
// uses it lets go of it soon.
var errInUse = errors.New("the ledger's folder is in use for another chain")

// at is what is known of a folder.
func (l *ledgers) at(folder string) *openLedger {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.folders[folder]
	if o == nil {
		o = new(openLedger)
		l.folders[folder] = o
	}
	return o
}

// take opens a copy, or joins those who use it.
func (l *ledgers) take(ctx context.Context, folder string, of origin, memory ledgerCaches, log *slog.Logger) (*store.Store, error) {
	o := l.at(folder)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.store == nil {
		s, err := store.Open(store.Config{
			Dir: folder, Genesis: of.genesis, Stack: of.stack, Cache: memory.blocks, Memory: memory.own, Guard: l.guard, Log: log, Stop: ctx.Done(),
		})
		if err != nil {
			return nil, err
		}
		o.store, o.of = s, of
	}
	if o.of != of {
		return nil, errInUse
	}
	o.users++
	return o.store, nil
}

// existing opens the copy that is there, or joins those who use it.
func (l *ledgers) existing(ctx context.Context, folder, stack string, memory ledgerCaches, log *slog.Logger) (*store.Store, error) {
	o := l.at(folder)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.store == nil {
		s, err := store.Open(store.Config{Dir: folder, Stack: stack, Cache: memory.blocks, Memory: memory.own, Guard: l.guard, Log: log, Stop: ctx.Done(), Existing: true})
		if err != nil {
			return nil, err
		}
		o.store, o.of = s, origin{store.Genesis(s), stack}
	}
	if o.of.stack != stack {
		return nil, errInUse
	}
	o.users++
	return o.store, nil
}

// originOf tells the nodes of a network from others: while none can be reached, a copy of the
// same nodes is taken for one of their chain. URLs may hold keys, so it is a hash of them.
func originOf(n *config.Network) [32]byte {
	text := fmt.Sprintf("%q %d %q", n.Name, n.ChainID, n.Checkpoint)
	for i := range n.Nodes {
		text += fmt.Sprintf(" %q", string(n.Nodes[i].URL))
	}
	return sha256.Sum256([]byte(text))
}

// release closes a copy that nobody uses any more.
func (l *ledgers) release(folder string, log *slog.Logger) {
	o := l.at(folder)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users--; o.users > 0 {
		return
	}
	if err := o.store.Close(); err != nil {
		log.Warn("the ledger's database was not closed properly", "err", err)
	}
	o.store = nil
}
