package verify

import (
	"hash/maphash"
	"sync"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// Ask is a call whose answer is checked.
type Ask struct {
	Row    *method.Row
	Params []byte
	Hash   []byte // what was asked for by its hash, as a JSON token; nil: not by a hash
	Number uint64 // the block that was asked for, with Exact
	Exact  bool   // by its number
	// Pending asks are about a block that has no hash yet.
	Pending bool

	// ByHash and ByNumber find checked headers that are not in memory, or return nil. They
	// may ask a node. Without them only headers in memory are used.
	ByHash   func(hash [32]byte) *Header
	ByNumber func(number uint64) *Header
}

// Checker checks the answers of one network's nodes.
type Checker struct {
	rules   rules
	headers headers
	seen    seen
	seed    maphash.Seed
	pool    sync.Pool

	mu     sync.RWMutex
	except map[exception]bool
}

// exception is data that this network hashes in its own way.
type exception struct {
	kind  Kind
	shape uint64
}

// maxExceptions bounds the exceptions: each takes two nodes that agree.
const maxExceptions = 64

// New makes a checker for a network of a rollup stack; "" is no known one.
func New(stack string) *Checker {
	c := &Checker{rules: rules{stack}, seed: maphash.MakeSeed(), except: map[exception]bool{}}
	c.pool.New = func() any {
		s := &scratch{seed: c.seed, keccak: crypto.NewKeccakState()}
		s.trie.hash = s.hash
		return s
	}
	return c
}

// Except ends a check for the data of a finding, on which two nodes agree. It is false when
// there can be no such exception.
func (c *Checker) Except(f *Finding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Kind == Identity || len(c.except) >= maxExceptions {
		return false
	}
	c.except[exception{f.Kind, f.Shape}] = true
	return true
}

// Excepted tells whether a finding means nothing on this network.
func (c *Checker) Excepted(f *Finding) bool {
	if c.rules.off().Has(f.Kind) {
		return true
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.except[exception{f.Kind, f.Shape}]
}

// Known tells whether a transaction is in a block that was seen a short while ago.
func (c *Checker) Known(hash []byte) bool { return c.seen.has(hash) }

// Header is a checked header that is in memory, or nil.
func (c *Checker) Header(hash [32]byte) *Header { return c.headers.get(hash) }

// Check checks an answer. held are the checks that it passed; the finding is nil when no
// check failed.
func (c *Checker) Check(a *Ask, result []byte) (held Kinds, f *Finding) {
	return c.run(a, result, nil)
}

// run makes the checks of an answer. Where there is a keeper, it gets what they encode.
func (c *Checker) run(a *Ask, result []byte, keep *keeper) (held Kinds, f *Finding) {
	s := c.pool.Get().(*scratch)
	defer c.pool.Put(s)
	one := check{Checker: c, scratch: s, ask: a, keep: keep}
	f = one.answer(result)
	s.release()
	return one.held, f
}

// Read checks a header or a block for ourselves and returns what is kept of it; nil where
// it doesn't hash to its hash.
func (c *Checker) Read(raw []byte) (*Header, *Finding) {
	s := c.pool.Get().(*scratch)
	defer c.pool.Put(s)
	o, ok := blockNames.read(raw, s.fields[:blockFields], s.seed)
	if !ok || o.broken {
		return nil, falsely(Identity, "the block can't be read, or names a field twice")
	}
	h, f := s.header(&o)
	s.release()
	if h != nil {
		c.headers.add(h)
	}
	return h, f
}

// check is one check that is being made.
type check struct {
	*Checker
	*scratch
	ask  *Ask
	held Kinds
	keep *keeper // nil: nothing is kept
}

// pass notes a check that held.
func (c *check) pass(k Kind) { c.held |= Of(k) }

// failed is the finding, unless it is an exception on this network.
func (c *check) failed(f *Finding) *Finding {
	if f == nil || c.Excepted(f) {
		return nil
	}
	return f
}

func (c *check) answer(result []byte) *Finding {
	switch c.ask.Row.Answer {
	case method.BlockAnswer, method.HeaderAnswer:
		return c.block(result)
	case method.TransactionAnswer, method.AtHashAnswer, method.AtNumberAnswer:
		return c.oneTransaction(result)
	case method.RawTransactionAnswer:
		return c.rawTransaction(result)
	case method.ReceiptAnswer:
		return c.oneReceipt(result)
	case method.ReceiptsAnswer:
		return c.receipts(result)
	case method.LogsAnswer:
		return c.logsAnswer(result)
	case method.ProofAnswer:
		return c.proofAnswer(result)
	}
	return nil
}

// param is one parameter of the call, or nil.
func (c *check) param(i int) []byte {
	var room [4][]byte
	list, ok := jsonrpc.Elements(room[:0], c.ask.Params)
	if !ok || i >= len(list) {
		return nil
	}
	return list[i]
}

// named checks that an answer is about the block that was asked for.
func (c *check) named(hash, number []byte) *Finding {
	if c.ask.Hash != nil && !same(hash, c.ask.Hash) {
		return falsely(Identity, "the answer is about another hash than was asked for")
	}
	if c.ask.Exact {
		if n, ok := hexjson.Quantity(number); !ok || n != c.ask.Number {
			return falsely(Identity, "the answer is about another block number than was asked for")
		}
	}
	return nil
}

// find is a checked header: from memory, or as the caller finds it.
func (c *check) find(hash [32]byte) *Header {
	if h := c.headers.get(hash); h != nil || c.ask.ByHash == nil {
		return h
	}
	return c.ask.ByHash(hash)
}

func (c *check) findToken(token []byte) *Header {
	var hash [32]byte
	if !fixed(hash[:], token) {
		return nil
	}
	return c.find(hash)
}

// known is a checked header that is in memory.
func (c *check) known(token []byte) *Header { return c.headerOf(token, c.headers.get) }

// numbered checks a block's number against its checked header, if that is in memory.
func (c *check) numbered(block, number []byte) (*Header, *Finding) {
	h := c.known(block)
	if h == nil {
		return nil, nil
	}
	if n, ok := hexjson.Quantity(number); !ok || n != h.Number {
		return h, c.failed(&Finding{Kind: Placement, Claim: h.Hash, What: "the answer gives a block another number than it has"})
	}
	return h, nil
}

func (c *check) logsAnswer(result []byte) *Finding {
	if c.ask.Row.Kind != method.Read {
		return nil // of a filter that the node keeps
	}
	var f filter
	if !f.read(c.param(0)) {
		return nil
	}
	found := c.failed(c.checkLogs(&f, result, c.headers.get))
	if found == nil && len(result) > len("[]") {
		c.pass(FilterMatch)
	}
	return found
}

func (c *check) proofAnswer(result []byte) *Finding {
	if c.rules.off().Has(Proof) {
		return nil
	}
	var h *Header
	switch {
	case c.ask.Hash != nil:
		h = c.findToken(c.ask.Hash)
	case c.ask.Exact && c.ask.ByNumber != nil:
		h = c.ask.ByNumber(c.ask.Number)
	}
	if h == nil {
		return nil
	}
	found := c.proof(h, c.ask.Params, result)
	if found == nil {
		c.pass(Proof)
	}
	return c.failed(found)
}
