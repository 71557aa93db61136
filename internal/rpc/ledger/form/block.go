package form

import (
	"bytes"
	"iter"
	"slices"
)

// Block is a block without its transactions.
type Block struct {
	Head        *Head
	Header      []byte     // RLP
	Size        uint64     // of the whole block in RLP, see Size
	Uncles      [][32]byte // their hashes
	Withdrawals []byte     // RLP of the list, see AppendList; nil where the block has no such list
	Extra       []byte     // members to append, as in `"a":1,"b":2`
}

// Block appends a block, with whole transactions or with their hashes. It returns false,
// and dst as it was, when something of it can't be read. Whether txs gave all transactions is
// for the caller to know: an iterator over a store may end early.
func (w *Writer) Block(dst []byte, b *Block, full bool, txs iter.Seq[*Tx]) ([]byte, bool) {
	var f header
	if !f.read(b.Header) {
		return dst, false
	}
	s := w.get()
	defer w.put(s)
	t := text{slices.Grow(dst, headerText+2*len(f[extraData])+len(b.Extra)+len(b.Uncles)*topicText)}
	start, ok := len(t.b), true
	for i := range headerMembers {
		switch m := &headerMembers[i]; m.kind {
		case sizeMember:
			t.number(m.name, b.Size)
		case transactionsMember:
			t.raw(m.name)
			ok = s.transactions(&t, b.Head, full, txs)
		case unclesMember:
			t.uncles(m.name, b.Uncles)
		case withdrawalsMember:
			if b.Withdrawals != nil {
				ok = ok && t.withdrawals(m.name, b.Withdrawals)
			}
		default:
			t.headerMember(m, &f, b.Head)
		}
		if !ok {
			return dst, false
		}
	}
	t.b[start] = '{'
	t.close(b.Extra)
	return t.b, true
}

// transactions writes the transactions of a block, or their hashes.
func (s *scratch) transactions(t *text, h *Head, full bool, txs iter.Seq[*Tx]) bool {
	s.list = list{scratch: s, text: text{append(t.b, '[')}, head: h, full: full}
	txs(s.addTx)
	t.b = append(s.list.b, ']')
	return !s.list.bad
}

// addTx writes the next transaction, or its hash.
func (l *list) addTx(tx *Tx) bool {
	l.comma(!l.more)
	l.more = true
	if !l.full {
		l.quote(l.hashOf(tx)[:])
		return true
	}
	out, ok := l.transaction(l.b, l.head, tx)
	l.b, l.bad = out, l.bad || !ok
	return ok
}

func (t *text) uncles(name string, hashes [][32]byte) {
	t.raw(name)
	t.b = append(t.b, '[')
	for i := range hashes {
		t.comma(i == 0)
		t.quote(hashes[i][:])
	}
	t.b = append(t.b, ']')
}

// withdrawals writes the withdrawals of a block.
func (t *text) withdrawals(name string, raw []byte) bool {
	in := cursor{rest: raw}
	list := in.list()
	t.raw(name)
	t.b = append(t.b, '[')
	for first := true; list.more(); first = false {
		t.comma(first)
		w := list.list()
		t.quantity(`{"index":`, w.quantity(smallBytes))
		t.quantity(`,"validatorIndex":`, w.quantity(smallBytes))
		t.data(`,"address":`, w.fixed(addressBytes))
		t.quantity(`,"amount":`, w.quantity(smallBytes))
		t.b = append(t.b, '}')
		if !w.done() {
			list.fail()
		}
	}
	t.b = append(t.b, ']')
	return in.done() && list.done()
}

// Size is the length of a whole block in RLP. The transactions are in their consensus
// encoding. uncles and withdrawals are RLP of lists: nil where there are no uncles, and
// where the block has no list of withdrawals.
func Size(header []byte, txs iter.Seq[[]byte], uncles, withdrawals []byte) uint64 {
	list := 0
	for tx := range txs {
		if list += len(tx); len(tx) > 0 && tx[0] < shortString { // typed ones are strings in the list
			list += headSize(len(tx))
		}
	}
	all := len(header) + headSize(list) + list + max(1, len(uncles)) + len(withdrawals)
	return uint64(headSize(all) + all)
}

// AppendBlock appends a whole block without uncles in RLP. The transactions are in their
// consensus encoding; withdrawals is RLP of a list, nil where the block has none.
func AppendBlock(dst, header []byte, txs [][]byte, withdrawals []byte) []byte {
	var list []byte
	for _, tx := range txs {
		if len(tx) > 0 && tx[0] < shortString { // typed ones are strings in the list
			list = appendData(list, tx)
		} else {
			list = append(list, tx...)
		}
	}
	const noUncles = shortList
	body := append(AppendList(bytes.Clone(header), list), noUncles)
	return AppendList(dst, append(body, withdrawals...))
}
