package form

import (
	"iter"
	"slices"
)

// Receipt is a receipt of a block.
type Receipt struct {
	Row      []byte // as Slim makes it
	GasUsed  uint64 // by this transaction alone
	FirstLog uint64 // the index in the block that its first log has, or would have
	Extra    []byte // members to append, as in `"a":1,"b":2`
}

// blobGas is the gas that a blob costs, EIP-4844.
const blobGas = 1 << 17

// Receipt appends the receipt of a transaction of the block h. It returns false, and dst as
// it was, when row or transaction can't be read, and when the block's blob gas price has to
// be shown and is not known.
func (w *Writer) Receipt(dst []byte, h *Head, tx *Tx, r *Receipt) ([]byte, bool) {
	s := w.get()
	defer w.put(s)
	return s.receipt(dst, h, tx, r)
}

// Receipts appends the list of a block's receipts. It returns false, and dst as it was, when
// one of them can't be written. Whether rows gave all of them is for the caller to know.
func (w *Writer) Receipts(dst []byte, h *Head, rows iter.Seq2[*Tx, *Receipt]) ([]byte, bool) {
	s := w.get()
	defer w.put(s)
	s.list = list{scratch: s, text: text{append(dst, '[')}, head: h}
	rows(s.addReceipt)
	if s.list.bad {
		return dst, false
	}
	return append(s.list.b, ']'), true
}

// addReceipt writes the next receipt.
func (l *list) addReceipt(tx *Tx, r *Receipt) bool {
	l.comma(!l.more)
	l.more = true
	out, ok := l.receipt(l.b, l.head, tx, r)
	l.b, l.bad = out, l.bad || !ok
	return ok
}

// receiptText is the most characters of a receipt beside its logs.
const receiptText = 1600

func (s *scratch) receipt(dst []byte, h *Head, tx *Tx, rc *Receipt) ([]byte, bool) {
	var f transaction
	r, ok := readRow(rc.Row)
	if !ok || !f.read(tx, &s.nonce) || !r.of(f.kind) || f.kind == blobType && !h.HasBlobGasPrice {
		return dst, false
	}
	count, ok := s.filter(r.logs)
	if !ok {
		return dst, false
	}
	hash := *s.hashOf(tx)
	var contract []byte
	if f.to == nil {
		contract = s.created(&tx.From, f.nonce)
	}
	t := text{slices.Grow(dst, receiptText+int(count)*(logText+topicText)+2*len(r.logs.rest)+len(rc.Extra))}
	var room [wordBytes]byte

	start := len(t.b)
	if ok = t.blobCost(&f, h); !ok {
		return dst, false
	}
	t.data(`,"blockHash":`, h.Hash[:])
	t.b[start] = '{'
	t.number(`,"blockNumber":`, h.Number)
	t.address(`,"contractAddress":`, contract)
	t.number(`,"cumulativeGasUsed":`, r.cumulative)
	t.quantity(`,"effectiveGasPrice":`, f.price(h, &room))
	t.data(`,"from":`, tx.From[:])
	t.number(`,"gasUsed":`, rc.GasUsed)
	t.logs(h, &Place{Transaction: hash, Index: tx.Index, Log: rc.FirstLog}, r.logs)
	t.data(`,"logsBloom":`, s.bloom[:])
	if len(r.state) == hashBytes {
		t.data(`,"root":`, r.state)
	} else {
		t.quantity(`,"status":`, r.state)
	}
	t.address(`,"to":`, f.to)
	t.data(`,"transactionHash":`, hash[:])
	t.number(`,"transactionIndex":`, tx.Index)
	t.number(`,"type":`, uint64(f.kind))
	t.close(rc.Extra)
	return t.b, true
}

// blobCost writes what a blob transaction's receipt says about its blobs.
func (t *text) blobCost(f *transaction, h *Head) bool {
	if f.kind != blobType {
		return true
	}
	blobs := uint64(0)
	for f.blobs.more() {
		f.blobs.fixed(hashBytes)
		blobs++
	}
	t.word(`,"blobGasPrice":`, &h.BlobGasPrice)
	t.number(`,"blobGasUsed":`, blobs*blobGas)
	return f.blobs.done()
}

// logs writes the logs of a receipt, the first of which is at a place. What all of them
// have in common is written once and then copied.
func (t *text) logs(h *Head, at *Place, list cursor) {
	t.raw(`,"logs":[`)
	logs := Logs{rest: list}
	shared, end := 0, 0
	for logs.Next() {
		if end == 0 {
			t.logContent(&logs.Log)
			shared = len(t.b)
			t.logPlace(h, at)
			end = len(t.b)
		} else {
			t.b = append(t.b, ',')
			t.logContent(&logs.Log)
			t.b = append(t.b, t.b[shared:end]...)
		}
		t.logEnd(at)
		at.Log++
	}
	t.b = append(t.b, ']')
}
