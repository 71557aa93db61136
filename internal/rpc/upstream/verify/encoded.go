package verify

import (
	"bytes"
	"encoding/hex"
	"slices"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/internal/method"
)

// List is a list of which a header has the root: transactions or receipts in their consensus
// encoding, or withdrawals in RLP.
type List struct {
	Data []byte // the elements, one after the other
	Ends []int  // where each ends
}

// Len is how many elements there are.
func (l *List) Len() int { return len(l.Ends) }

// At is one element, which must not be changed.
func (l *List) At(i int) []byte {
	start, end := 0, l.Ends[i]
	if i > 0 {
		start = l.Ends[i-1]
	}
	return l.Data[start:end:end]
}

// Add appends an element.
func (l *List) Add(element []byte) {
	l.Data = append(l.Data, element...)
	l.Ends = append(l.Ends, len(l.Data))
}

// Root is the root of the list, as a header has it.
func (l *List) Root() [32]byte {
	s := scratch{keccak: crypto.NewKeccakState()}
	t := trie{data: l.Data, ends: l.Ends, hash: s.hash}
	return t.root()
}

// Encoded is a block as its hash commits to it. A list is empty unless it has the root of the
// header: what can't be proven is left out, and Held tells whether it was.
type Encoded struct {
	*Header             // nil where the network's headers have their own hash
	RLP          []byte // of the header
	Transactions List
	Withdrawals  List
	// HasWithdrawals tells a block without any from one of a time before there were some.
	HasWithdrawals bool
	// Outside are the transactions that the root leaves out, by their index in the answer,
	// after all others: Polygon's nodes show state from the base chain as one.
	Outside []int
	Held    Kinds
}

// Encode checks a block with whole transactions, the answer to a call for it by its hash, and
// encodes it. Held has TransactionsRoot when all transactions are there, and WithdrawalsRoot
// when all withdrawals are; the OP stack's header has no root of those, and its blocks have
// none. The answer must be well-formed JSON.
//
// It is stricter than Check: withdrawals that the header doesn't prove are a finding, and so
// are transactions that the root leaves out where they move the index of others.
func (c *Checker) Encode(block [32]byte, raw []byte) (*Encoded, *Finding) {
	hash := hashToken(block)
	ask := Ask{Row: method.Of(method.EthGetBlockByHash), Params: slices.Concat([]byte("["), hash, []byte(",true]")), Hash: hash}
	var k keeper
	held, f := c.run(&ask, raw, &k)
	if f != nil {
		return nil, f
	}
	if n := len(k.Outside); n > 1 || n == 1 && k.Outside[0] != k.Transactions.Len() {
		return nil, &Finding{Kind: Placement, Claim: block, What: "the block has a transaction outside its root before others"}
	}
	if k.Held = held; k.Header != nil && k.TransactionsRoot == emptyRoot {
		k.Held |= Of(TransactionsRoot) // of no transactions
	}
	return &k.Encoded, nil
}

// EncodeReceipts checks the receipts of a block whose header was checked, and encodes them.
// The kinds have ReceiptsRoot when all receipts are there; otherwise the list is empty.
func (c *Checker) EncodeReceipts(h *Header, raw []byte) (List, Kinds, *Finding) {
	hash := hashToken(h.Hash)
	ask := Ask{
		Row: method.Of(method.EthGetBlockReceipts), Params: slices.Concat([]byte("["), hash, []byte("]")), Hash: hash, Number: h.Number, Exact: true,
		ByHash: func(block [32]byte) *Header {
			if block != h.Hash {
				return nil
			}
			return h
		},
	}
	var k keeper
	held, f := c.run(&ask, raw, &k)
	if f != nil {
		return List{}, 0, f
	}
	return k.receipts, held, nil
}

// hashToken is a hash as JSON has it.
func hashToken(h [32]byte) []byte {
	token := hex.AppendEncode([]byte(`"0x`), h[:])
	return append(token, '"')
}

// keeper keeps what a check encodes on its way: the room that checks work in is used again.
// A nil keeper keeps nothing.
type keeper struct {
	Encoded
	receipts List
}

// keepHeader keeps a header that hashes to its hash.
func (k *keeper) keepHeader(h *Header, o *object, rlp []byte) {
	if k != nil {
		k.Header, k.RLP, k.HasWithdrawals = h, bytes.Clone(rlp), o.fields[withdrawalsRoot] != nil
	}
}

// skip notes a transaction that the root leaves out.
func (k *keeper) skip(index int) {
	if k != nil {
		k.Outside = append(k.Outside, index)
	}
}

// keepTransactions, and the next two, keep a list that has the root of the header.
func (k *keeper) keepTransactions(t *trie) {
	if k != nil {
		k.Transactions = t.list()
	}
}

func (k *keeper) keepWithdrawals(t *trie) {
	if k != nil {
		k.Withdrawals = t.list()
	}
}

func (k *keeper) keepReceipts(t *trie) {
	if k != nil {
		k.receipts = t.list()
	}
}

// list is a copy of the elements.
func (t *trie) list() List {
	if len(t.ends) == 0 {
		return List{}
	}
	return List{Data: bytes.Clone(t.data[:t.ends[len(t.ends)-1]]), Ends: slices.Clone(t.ends)}
}

// unproven checks, where a block is kept, the withdrawals that were not compared with a root:
// the header has none, or it is no root of them, or the answer shows no list. None may be
// shown then, and none may be missing.
func (c *check) unproven(o *object, h *Header) *Finding {
	if c.keep == nil || h == nil {
		return nil
	}
	if o.fields[withdrawals] != nil {
		if list, ok := elements(nil, o.fields[withdrawals]); !ok || len(list) > 0 {
			return found(WithdrawalsRoot, o, "the block has withdrawals that its header has no root of")
		}
		return nil
	}
	if o.fields[withdrawalsRoot] == nil || c.rules.off().Has(WithdrawalsRoot) {
		return nil
	}
	var root [32]byte
	if !fixed(root[:], o.fields[withdrawalsRoot]) || root != emptyRoot {
		f := found(WithdrawalsRoot, o, "the block doesn't show the withdrawals of its header")
		f.Foreign = true // a root of another kind
		return f
	}
	c.pass(WithdrawalsRoot)
	return nil
}
