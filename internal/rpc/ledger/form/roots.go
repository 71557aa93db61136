package form

// Roots are what a header has of the lists of its block.
type Roots struct {
	Transactions, Receipts, Withdrawals [32]byte
	HasWithdrawals                      bool
}

// RootsOf reads the roots of a header. It returns false when that is not possible.
func RootsOf(raw []byte) (r Roots, ok bool) {
	var f header
	if !f.read(raw) {
		return r, false
	}
	r.Transactions, r.Receipts = [32]byte(f[transactionsRoot]), [32]byte(f[receiptsRoot])
	if root := f[withdrawalsRoot]; root != nil {
		r.Withdrawals, r.HasWithdrawals = [32]byte(root), true
	}
	return r, true
}

// Elements are the lists in a list, as AppendList makes one, each in RLP.
func Elements(list []byte) (elements [][]byte, ok bool) {
	in := cursor{rest: list}
	for inner := in.list(); inner.more(); {
		before := inner.rest
		inner.list()
		if inner.bad {
			return nil, false
		}
		elements = append(elements, before[:len(before)-len(inner.rest)])
	}
	return elements, in.done()
}
