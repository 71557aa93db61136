package verify

import (
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// oneTransaction checks a transaction that was asked for by its hash or its place.
func (c *check) oneTransaction(result []byte) *Finding {
	o, ok := transactionNames.read(result, c.fields[:txFields], c.scratch.seed)
	if !ok || o.broken {
		return falsely(Identity, "the transaction can't be read, or names a field twice")
	}
	if f := c.namedTransaction(&o); f != nil {
		return f
	}
	mined := o.fields[txBlockHash] != nil
	if mined != (o.fields[txBlockNumber] != nil) || mined != (o.fields[txIndex] != nil) {
		return c.failed(foundTx(Placement, &o, "the transaction names a part of its place only"))
	}
	if mined {
		if _, f := c.numbered(o.fields[txBlockHash], o.fields[txBlockNumber]); f != nil {
			return f
		}
	}
	out, _, f := c.body(c.buf2(), &o)
	c.trie.data = out[:0]
	return f
}

// buf2 is a buffer that hashing doesn't use.
func (s *scratch) buf2() []byte { return s.trie.data[:0] }

func foundTx(k Kind, o *object, what string) *Finding {
	f := &Finding{Kind: k, Shape: o.other, What: what}
	_ = fixed(f.Claim[:], o.fields[txHash]) // or zero
	return f
}

// namedTransaction checks that it is the one that was asked for.
func (c *check) namedTransaction(o *object) *Finding {
	if c.ask.Row.Answer == method.TransactionAnswer {
		return c.named(o.fields[txHash], nil)
	}
	if f := c.named(o.fields[txBlockHash], o.fields[txBlockNumber]); f != nil || c.ask.Pending {
		return f
	}
	asked, ok := hexjson.Quantity(c.param(1))
	if got, fine := hexjson.Quantity(o.fields[txIndex]); ok && (!fine || got != asked) {
		return falsely(Identity, "the answer is about another index than was asked for")
	}
	return nil
}

// rawTransaction checks that an encoded transaction hashes to the hash that was asked for.
func (c *check) rawTransaction(result []byte) *Finding {
	raw, ok := plainBytes(result)
	switch {
	case !ok:
		return falsely(Identity, "the answer is not an encoded transaction")
	case len(raw) == 0 || c.ask.Hash == nil:
		return nil
	}
	f := &Finding{Kind: TransactionHash, Shape: uint64(raw[0]), What: "the encoded transaction doesn't hash to the hash that was asked for"}
	if !fixed(f.Claim[:], c.ask.Hash) || *c.hash(raw) == f.Claim || raw[0] == blobType && *c.hash(WithoutBlobs(raw)) == f.Claim {
		c.pass(TransactionHash)
		return nil
	}
	return c.failed(f)
}

// WithoutBlobs takes the blobs off a transaction: they travel with it before it is in a
// block, and are not part of its hash.
func WithoutBlobs(raw []byte) []byte {
	content, _, err := rlp.SplitList(raw[1:])
	if err != nil {
		return raw
	}
	kind, _, rest, err := rlp.Split(content)
	if err != nil || kind != rlp.List {
		return raw
	}
	return append([]byte{blobType}, content[:len(content)-len(rest)]...)
}

// oneReceipt checks a receipt by itself. Its status and what it costs are the node's word.
func (c *check) oneReceipt(result []byte) *Finding {
	in := c.begin(result)
	v, f := c.receipt(&in, -1, blooming)
	if f == nil && !in.ended() {
		f = falsely(Identity, "the answer is not a receipt")
	}
	if wrong := c.named(v.fields[rcTransactionHash], nil); wrong != nil {
		return wrong
	}
	if f != nil {
		return c.failed(f)
	}
	c.pass(Placement)
	c.pass(Bloom)
	h, f := c.numbered(v.fields[rcBlockHash], v.fields[rcBlockNumber])
	if f == nil && h != nil && !within(&c.working, &h.Bloom) {
		f = c.failed(v.found(Bloom, "the receipt's logs are not in the bloom filter of its block"))
	}
	return f
}

// receipts checks the receipts of a block, and their root where the header is known.
func (c *check) receipts(result []byte) *Finding {
	in := c.begin(result)
	if !in.take('[') || in.peek() != '{' && in.peek() != ']' {
		return falsely(Identity, "the answer is not a list of receipts")
	}
	h, f := c.headerOfReceipts(in)
	if f != nil {
		return f
	}
	l := receiptList{mode: encoding}
	if h == nil {
		l.mode = blooming
	}
	if f := c.eachReceipt(&in, &l); f != nil {
		return c.failed(f) // an exception ends the check: the rest can't be told
	}
	if l.count > 0 {
		c.pass(Placement)
	}
	return c.receiptsRoot(h, &l)
}

// receiptList is what is known of the receipts of a block while they are read.
type receiptList struct {
	mode    mode
	count   int
	foreign bool      // there are types that Ethereum doesn't have
	next    int       // the index of the next log
	block   [2][]byte // the hash and the number that the last receipt named
	hash    []byte    // the transaction of the last receipt
}

// eachReceipt checks one receipt after the other.
func (c *check) eachReceipt(in *scanner, l *receiptList) *Finding {
	c.trie.reset()
	for ; in.more(l.count == 0, ']'); l.count++ {
		v, f := c.receipt(in, l.next, l.mode)
		if wrong := c.inBlock(&v, l.count, l.block); f == nil || wrong != nil && wrong.Kind == Identity {
			f = wrong
		}
		if f != nil {
			return f
		}
		l.next, l.foreign = v.next, l.foreign || v.kind > setCodeType
		l.block, l.hash = [2][]byte{v.fields[rcBlockHash], v.fields[rcBlockNumber]}, v.fields[rcTransactionHash]
	}
	if !in.ended() {
		return falsely(Identity, "the answer is not a list of receipts")
	}
	return nil
}

// headerOfReceipts is the header of the block that receipts are of. The scanner, a copy, is
// before the first one.
func (c *check) headerOfReceipts(in scanner) (*Header, *Finding) {
	if c.rules.off().Has(ReceiptsRoot) {
		return nil, nil
	}
	token := c.ask.Hash
	if in.peek() == '{' {
		o := receiptNames.scan(&in, c.fields[:receiptFields], c.scratch.seed, nil, nil)
		token = o.fields[rcBlockHash]
	}
	h := c.findToken(token)
	if h != nil || !c.ask.Exact || c.ask.ByNumber == nil {
		return h, nil
	}
	var claim [32]byte
	if h = c.ask.ByNumber(c.ask.Number); h != nil && fixed(claim[:], token) && claim != h.Hash {
		return nil, c.failed(&Finding{Kind: Placement, Claim: claim, What: "the receipts name a block that the node doesn't have at that number"})
	}
	return h, nil
}

// inBlock checks a receipt's place among the others. before is the hash and the number of
// the block that the last one named.
func (c *check) inBlock(v *view, i int, before [2][]byte) *Finding {
	hash, number := v.fields[rcBlockHash], v.fields[rcBlockNumber]
	if f := c.named(hash, number); f != nil {
		return f
	}
	index, ok := hexjson.Quantity(v.fields[rcIndex])
	if !ok || index != uint64(i) || i > 0 && (!same(before[0], hash) || !same(before[1], number)) {
		return v.found(Placement, "the receipts are not those of one block, one after the other")
	}
	if i > 0 {
		return nil
	}
	_, f := c.numbered(hash, number)
	return f
}

// receiptsRoot compares the root of the receipts with that of the header.
func (c *check) receiptsRoot(h *Header, l *receiptList) *Finding {
	if h == nil {
		return nil
	}
	if c.trie.root() == h.ReceiptsRoot || c.withoutStateSync(h, l) {
		c.pass(ReceiptsRoot)
		c.keep.keepReceipts(&c.trie)
		return nil
	}
	return c.failed(&Finding{Kind: ReceiptsRoot, Claim: h.Hash, Foreign: l.foreign, What: "the receipts don't have the root of their block's header"})
}

// withoutStateSync tells whether the last receipt is the one that Polygon's nodes show for
// state from the base chain, and the others have the header's root.
func (c *check) withoutStateSync(h *Header, l *receiptList) bool {
	var hash [32]byte
	if l.count == 0 || !fixed(hash[:], l.hash) || *c.hash(stateSyncText(h.Number, h.Hash)) != hash {
		return false
	}
	c.trie.drop()
	return c.trie.root() == h.ReceiptsRoot
}
