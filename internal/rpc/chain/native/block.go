package native

import (
	"math/big"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/maypok86/otter/v2"
)

// block is a header with what is costly to work out from it.
type block struct {
	header *types.Header
	hash   common.Hash

	once    sync.Once
	context vm.BlockContext // of calls on this block; GetHash is set for each
}

// callContext is the EVM's view of the block for a call. Everything in it is read
// only but GetHash, whose closure remembers what it has seen and belongs to one call.
func (b *block) callContext(bc *core.BlockChain) vm.BlockContext {
	b.once.Do(func() {
		b.context = core.NewEVMBlockContext(b.header, bc, nil)
		if b.context.BaseFee != nil {
			b.context.BaseFee = new(big.Int) // calls are free, and no price may be below the base fee
		}
	})
	c := b.context
	c.GetHash = core.GetHashFn(b.header, bc)
	return c
}

// location says where in the canonical chain a transaction is.
type location struct {
	block common.Hash
	index uint32
}

// canonicalIndex remembers facts that hold for one canonical chain: which block
// has a number, where a transaction is. When the head moves on to a child they
// stay; at a reorg all of them are dropped by swapping in an empty view.
type canonicalIndex struct {
	bc      *core.BlockChain
	answers uint64 // memory for encoded answers
	mu      sync.Mutex
	current atomic.Pointer[canonicalView]
}

// canonicalView is the index for one canonical chain. A request keeps the view it
// began with, so it never mixes two chains.
type canonicalView struct {
	bc      *core.BlockChain
	head    atomic.Pointer[block]
	blocks  table[uint64, *block]
	txs     table[common.Hash, location]
	answers *answerCache // by hash; but a reorg may delete blocks, not only leave them aside
}

// The index's own bounds; the entries are small and of one size.
const (
	maxIndexedBlocks = 16_384
	maxIndexedTxs    = 262_144
)

func (c *canonicalIndex) init(bc *core.BlockChain, answers uint64) error {
	c.bc, c.answers = bc, answers
	return c.swap(bc.CurrentBlock())
}

func (c *canonicalIndex) swap(head *types.Header) error {
	v := &canonicalView{bc: c.bc}
	var err error
	if v.blocks, err = otter.New(&otter.Options[uint64, *block]{MaximumSize: maxIndexedBlocks}); err != nil {
		return err
	}
	if v.txs, err = otter.New(&otter.Options[common.Hash, location]{MaximumSize: maxIndexedTxs}); err != nil {
		return err
	}
	if v.answers, err = newAnswerCache(c.bc, c.answers); err != nil {
		return err
	}
	v.head.Store(&block{header: head, hash: head.Hash()})
	c.current.Store(v)
	return nil
}

// view returns the index for the canonical chain as it is now. The check is one
// pointer comparison, so there is no moment in which a reorg is not seen.
func (c *canonicalIndex) view() *canonicalView {
	v := c.current.Load()
	if head := c.bc.CurrentBlock(); v.head.Load().header != head {
		return c.follow(head)
	}
	return v
}

// follow moves the view to a new head, or swaps it when the new head is not a
// descendant of the old one.
func (c *canonicalIndex) follow(head *types.Header) *canonicalView {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.current.Load()
	old := v.head.Load()
	if old.header == head {
		return v
	}
	if c.descends(head, old) {
		v.head.Store(&block{header: head, hash: head.Hash()})
		return v
	}
	if err := c.swap(head); err != nil {
		v.head.Store(&block{header: head, hash: head.Hash()}) // unreachable: the options are constants
	}
	return c.current.Load()
}

func (c *canonicalIndex) descends(head *types.Header, old *block) bool {
	if head.ParentHash == old.hash || head.Hash() == old.hash {
		return true
	}
	n := old.header.Number.Uint64()
	return head.Number.Uint64() > n && c.bc.GetCanonicalHash(n) == old.hash
}

// byNumber returns a canonical block, nil when there is none.
func (v *canonicalView) byNumber(number uint64) *block {
	if number > v.head.Load().header.Number.Uint64() {
		return nil
	}
	if b, ok := v.blocks.GetIfPresent(number); ok {
		return b
	}
	header := v.bc.GetHeaderByNumber(number)
	if header == nil {
		return nil
	}
	b := &block{header: header, hash: header.Hash()}
	v.blocks.Set(number, b)
	return b
}

// resolve finds the block that a parameter names: a tag, a number or a hash.
// Nil hands the call over, which also covers every error.
func (v *canonicalView) resolve(param []byte) *block {
	switch string(param) {
	case "latest":
		return v.head.Load()
	case "earliest":
		return v.byNumber(0)
	case "safe":
		return wrap(v.bc.CurrentSafeBlock())
	case "finalized":
		return wrap(v.bc.CurrentFinalBlock())
	}
	var hash common.Hash
	if fixedHex(hash[:], param) {
		if header := v.bc.GetHeaderByHash(hash); header != nil {
			return &block{header: header, hash: hash}
		}
		return nil
	}
	if n, ok := quantity(param); ok {
		return v.byNumber(n)
	}
	return nil
}

func wrap(header *types.Header) *block {
	if header == nil {
		return nil
	}
	return &block{header: header, hash: header.Hash()}
}

// block resolves parameter i in the canonical chain as it is now.
func (p *Path) block(a *args, i int) *block {
	return p.canon.view().param(a, i)
}

func (v *canonicalView) param(a *args, i int) *block {
	s, ok := a.text(i)
	if !ok {
		return nil
	}
	return v.resolve(s)
}

// find locates a mined transaction. The first look-up in a block remembers all
// of its transactions.
func (p *Path) find(hash common.Hash) (*blockAnswers, int) {
	v := p.canon.view()
	if at, ok := v.txs.GetIfPresent(hash); ok {
		if answers := v.answers.get(at.block); answers != nil {
			return answers, int(at.index)
		}
	}
	number := rawdb.ReadTxLookupEntry(p.bc.TrieDB().Disk(), hash)
	if number == nil {
		return nil, 0
	}
	b := v.byNumber(*number)
	if b == nil {
		return nil, 0
	}
	answers := v.answers.get(b.hash)
	if answers == nil {
		return nil, 0
	}
	return answers, answers.remember(v, hash)
}
