package ledger

import (
	"errors"
	"iter"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// answer is the result of a lookup, and who vouches for it.
type answer struct {
	result []byte
	level  nodegate.Level
	agreed int
	linked bool // to the checkpoint
}

// reader answers a query by one view. All that it can't read as it was written is not ok:
// a node is asked then.
type reader struct {
	store  *store.Store
	writer *form.Writer
	heads  *readHeads
	view   *view
	head   nodegate.Head
	known  bool // the head is of now

	number    uint64 // of the block that was found
	canonical bool   // which is on the chain

	torn   [32]byte // the block that turned out to be damaged
	isTorn bool     // if one did
	lost   bool     // something is, and it can't be said which block it is of
}

// failed notes a block that is damaged, if that is why it could not be read.
func (r *reader) failed(at *store.Place, err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, nodegate.Damaged) {
		r.torn, r.isTorn = at.Hash, true
	}
	return true
}

// answer finds the block of a query and writes what was asked for.
func (r *reader) answer(q *query) (answer, bool) {
	at, index, ok := r.find(q)
	if !ok {
		return answer{}, false
	}
	b, ok := r.block(at)
	if !ok {
		return answer{}, false
	}
	if q.by == byTransaction {
		b.asked = &q.hash
	}
	var result []byte
	switch q.answer {
	case method.BlockAnswer:
		result, ok = b.write(q.full)
	case method.HeaderAnswer:
		result, ok = b.writer.Header(nil, &b.head, b.stored.Header, b.stored.Extra)
	case method.CountAnswer:
		result, ok = b.count(b.stored.Txs)
	case method.UncleCountAnswer:
		result, ok = b.count(0)
	case method.UncleAnswer:
		// The header shows that a block with a size has no uncles.
		result, ok = []byte("null"), b.stored.Size > 0
	case method.ReceiptsAnswer:
		result, ok = b.receipts()
	case method.ReceiptAnswer:
		result, ok = b.receipt(index)
	case method.RawTransactionAnswer, method.RawAtAnswer:
		result, ok = b.raw(index)
	case method.RawHeaderAnswer:
		result, ok = quoted(b.stored.Header), true
	case method.RawBlockAnswer:
		result, ok = b.rawBlock()
	case method.RawReceiptsAnswer:
		result, ok = b.rawReceipts()
	default:
		result, ok = b.transaction(index)
	}
	agreed, linked := r.vouched(q.by, at)
	return answer{result, nodegate.Level(b.stored.Level), agreed, linked}, ok
}

// vouched is how many nodes gave the hash of a block, and whether it is linked to the
// checkpoint. What a client names by its hash may be of another branch, which one node gave.
func (r *reader) vouched(by by, at store.Place) (agreed int, linked bool) {
	r.number, r.canonical = at.Number, true
	if by == byBlock {
		m, ok, err := r.store.Canonical(at.Number)
		r.canonical = err == nil && ok && m.Hash == at.Hash
	}
	if !r.canonical {
		return 1, false
	}
	return r.view.agreed(at.Number), r.view.linked
}

// find finds the block of a query, which must be one that clients may know of, and the
// index of the transaction in it.
func (r *reader) find(q *query) (at store.Place, index int, ok bool) {
	var err error
	defer func() { r.lost = err != nil && errors.Is(err, nodegate.Damaged) }()
	switch q.by {
	case byTransaction:
		at, index, ok, err = store.Guess(r.store, q.hash) // tx compares the hash
		return at, index, ok && err == nil && r.view.holds(at.Number, r.head, r.known)
	case byBlock:
		// A hash names one block, on the chain or not.
		at, ok, err = r.store.ByHash(q.hash)
		ok = ok && at.Number <= r.head.Number
	default:
		if !r.view.holds(q.number, r.head, r.known) {
			return at, 0, false
		}
		var m store.Mark
		m, ok, err = r.store.Canonical(q.number)
		at = m.Place
	}
	const mostIndex = 1 << 24
	return at, int(min(q.index, mostIndex)), ok && err == nil
}

// block reads a block without its rows. The header must hash to the block's hash.
func (r *reader) block(at store.Place) (*block, bool) {
	stored, err := r.store.Head(at)
	if r.failed(&at, err) || stored.Kept {
		return nil, false
	}
	slot := &r.heads[at.Number%uint64(len(r.heads))]
	if kept := slot.Load(); kept != nil && kept.stored == stored {
		return &block{reader: r, stored: stored, head: kept.head, kept: kept}, true
	}
	head, ok := r.writer.Head(stored.Header)
	if !ok || head.Hash != at.Hash {
		r.torn, r.isTorn = at.Hash, true
		return nil, false
	}
	kept := &readHead{stored: stored, head: head}
	slot.Store(kept)
	return &block{reader: r, stored: stored, head: head, kept: kept}, true
}

// readHeads are headers that were read and hashed, by height.
type readHeads [512]atomic.Pointer[readHead]

type readHead struct {
	stored  *store.Head // the store's: another one may be of another block
	head    form.Head
	senders atomic.Pointer[[]byte] // of all transactions; nil: not read yet, or too many
}

// mostSenders is how many bytes of senders are kept for a block.
const mostSenders = 400 * 20

// block is a stored block that is being answered from.
type block struct {
	*reader
	stored *store.Head
	head   form.Head
	kept   *readHead // what is kept of it for later lookups
	asked  *[32]byte // the transaction, if it was asked for by its hash
}

// write writes the whole block, with its transactions or their hashes. A block whose size
// isn't known has parts that are not stored.
func (b *block) write(full bool) ([]byte, bool) {
	if b.stored.Size == 0 {
		return nil, false
	}
	all := true
	list := b.hashes(&all)
	if full {
		list = b.transactions(&all)
	}
	result, ok := b.writer.Block(nil, &form.Block{
		Head: &b.head, Header: b.stored.Header, Size: b.stored.Size, Withdrawals: b.stored.Withdrawals, Extra: b.stored.Extra,
	}, full, list)
	return result, ok && all
}

// count writes how many of something the block has, if it is one that has a size: those with
// uncles, or with transactions that are not stored, have none.
func (b *block) count(n int) ([]byte, bool) {
	return []byte(hexjson.Number(uint64(n))), b.stored.Size > 0
}

// hashes are the transactions by their hashes alone. all becomes false if one is missing.
func (b *block) hashes(all *bool) iter.Seq[*form.Tx] {
	return func(yield func(*form.Tx) bool) {
		if b.stored.Txs == 0 {
			return
		}
		hashes, err := b.store.Hashes(b.stored.Place)
		if *all = !b.failed(&b.stored.Place, err) && len(hashes) == 32*b.stored.Txs; !*all {
			return
		}
		var tx form.Tx
		for i := 0; i < len(hashes); i += 32 {
			tx.Hash = [32]byte(hashes[i:])
			if !yield(&tx) {
				return
			}
		}
	}
}

// transactions are the whole transactions. all becomes false if one is missing.
func (b *block) transactions(all *bool) iter.Seq[*form.Tx] {
	return func(yield func(*form.Tx) bool) {
		if b.stored.Txs == 0 {
			return
		}
		senders, err := b.store.Senders(b.stored.Place)
		if *all = !b.failed(&b.stored.Place, err) && len(senders) == 20*b.stored.Txs; !*all {
			return
		}
		hashes, err := b.store.Hashes(b.stored.Place) // one read instead of a hash for each
		if *all = !b.failed(&b.stored.Place, err) && len(hashes) == 32*b.stored.Txs; !*all {
			return
		}
		err = b.store.Txs(b.stored.Place, func(i int, row store.Row) bool {
			tx := form.Tx{Index: uint64(i), Raw: row.Data, From: [20]byte(senders[20*i:]), Hash: [32]byte(hashes[32*i:]), Extra: row.Extra}
			*all = b.addNonce(&tx)
			return *all && yield(&tx)
		})
		*all = !b.failed(&b.stored.Place, err) && *all
	}
}

// depositType is the type of the OP stack's deposits, whose nonces only receipts have.
const depositType = 0x7e

// addNonce adds the nonce of a deposit. It is false where that isn't known.
func (b *block) addNonce(tx *form.Tx) (ok bool) {
	if len(tx.Raw) == 0 || tx.Raw[0] != depositType {
		return true
	}
	row, err := b.store.Receipt(b.stored.Place, int(tx.Index))
	if b.failed(&b.stored.Place, err) {
		return false
	}
	tx.Nonce, ok = form.DepositNonce(row.Data)
	return ok
}

// tx reads one transaction.
func (b *block) tx(index int) (*form.Tx, bool) {
	if index >= b.stored.Txs {
		return nil, false
	}
	row, err := b.store.Tx(b.stored.Place, index)
	if b.failed(&b.stored.Place, err) {
		return nil, false
	}
	sender, err := b.sender(index)
	if b.failed(&b.stored.Place, err) {
		return nil, false
	}
	tx := &form.Tx{Index: uint64(index), Raw: row.Data, From: sender, Extra: row.Extra, Hash: b.writer.Hash(row.Data)}
	return tx, (b.asked == nil || *b.asked == tx.Hash) && b.addNonce(tx)
}

// sender is who sent a transaction. Those of usual blocks are read together once.
func (b *block) sender(index int) (sender [20]byte, err error) {
	if 20*b.stored.Txs > mostSenders {
		return b.store.Sender(b.stored.Place, index)
	}
	all := b.kept.senders.Load()
	if all == nil {
		read, err := b.store.Senders(b.stored.Place)
		if err != nil || len(read) != 20*b.stored.Txs {
			return b.store.Sender(b.stored.Place, index) // it says what is wrong
		}
		all = &read
		b.kept.senders.Store(all)
	}
	return [20]byte((*all)[20*index:]), nil
}

func (b *block) transaction(index int) ([]byte, bool) {
	tx, ok := b.tx(index)
	if !ok {
		return nil, false
	}
	return b.writer.Transaction(nil, &b.head, tx)
}

func (b *block) receipt(index int) ([]byte, bool) {
	tx, ok := b.tx(index)
	if !ok {
		return nil, false
	}
	row, err := b.store.Receipt(b.stored.Place, index)
	if b.failed(&b.stored.Place, err) {
		return nil, false
	}
	r, ok := b.receiptOf(&row)
	if !ok {
		return nil, false
	}
	return b.writer.Receipt(nil, &b.head, tx, &r)
}

// receipts writes the receipts of the block.
func (b *block) receipts() ([]byte, bool) {
	if b.stored.Size == 0 || b.stored.Receipts != b.stored.Txs {
		return nil, false
	}
	txs, ok := b.collect()
	if !ok {
		return nil, false
	}
	all := true
	const usualReceipt = 1400 // characters
	result, ok := b.writer.Receipts(make([]byte, 0, usualReceipt*len(txs)+2), &b.head, func(yield func(*form.Tx, *form.Receipt) bool) {
		if len(txs) == 0 {
			return
		}
		err := b.store.Receipts(b.stored.Place, func(i int, row store.Receipt) bool {
			var r form.Receipt
			r, all = b.receiptOf(&row)
			return all && yield(&txs[i], &r)
		})
		all = !b.failed(&b.stored.Place, err) && all
	})
	return result, ok && all
}

// mostRoom bounds what is allocated before it is known to be needed.
const mostRoom = 1 << 20

// collect reads all transactions, which the store only lends.
func (b *block) collect() (txs []form.Tx, ok bool) {
	all := true
	txs = make([]form.Tx, 0, b.stored.Txs)
	raws := make([]byte, 0, min(b.stored.Size, mostRoom)) // about what they take together
	for tx := range b.transactions(&all) {
		own := *tx
		raws = append(raws, tx.Raw...)
		own.Raw, own.Extra = raws[len(raws)-len(tx.Raw):len(raws):len(raws)], nil
		txs = append(txs, own)
	}
	return txs, all && len(txs) == b.stored.Txs
}

// receiptOf is a stored receipt as it is written.
func (b *block) receiptOf(row *store.Receipt) (form.Receipt, bool) {
	price, has, extra := cutPrice(row.Extra)
	if has {
		word, ok := priceWord(price)
		if !ok {
			return form.Receipt{}, false
		}
		b.head.BlobGasPrice, b.head.HasBlobGasPrice = word, true
	}
	return form.Receipt{Row: row.Data, GasUsed: row.GasUsed, FirstLog: row.FirstLog, Extra: extra}, true
}
