package native

var (
	jsonNull  = []byte("null")
	jsonFalse = []byte("false")
)

// transactionByHash answers mined transactions.
func (p *Path) transactionByHash(a *args) ([]byte, bool, error) {
	b, i := p.mined(a)
	if b == nil {
		return nil, false, nil
	}
	return b.txs[i], true, nil
}

// receipt answers receipts of mined transactions.
func (p *Path) receipt(a *args) ([]byte, bool, error) {
	b, i := p.mined(a)
	if b == nil {
		return nil, false, nil
	}
	return b.receipts[i], true, nil
}

// mined finds the transaction whose hash is the only parameter. Pending and unknown
// ones are handed over: the pool and the state of the index decide about those.
func (p *Path) mined(a *args) (*blockAnswers, int) {
	hash, ok := a.hash(0)
	if !ok || a.n != 1 {
		return nil, 0
	}
	b, i := p.find(hash)
	if b == nil || i < 0 {
		return nil, 0
	}
	return b, i
}

// transactionByIndex answers by block hash, canonical or not.
func (p *Path) transactionByIndex(a *args) ([]byte, bool, error) {
	hash, ok := a.hash(0)
	index, okIndex := a.text(1)
	if !ok || !okIndex || a.n != 2 {
		return nil, false, nil
	}
	i, ok := quantity(index)
	if !ok || i > 1<<31 {
		return nil, false, nil
	}
	b := p.canon.view().answers.get(hash)
	if b == nil {
		return nil, false, nil
	}
	if i >= uint64(len(b.txs)) {
		return jsonNull, true, nil
	}
	return b.txs[i], true, nil
}

// blockReceipts answers all receipts of a block that exists.
func (p *Path) blockReceipts(a *args) ([]byte, bool, error) {
	if a.n != 1 {
		return nil, false, nil
	}
	v := p.canon.view()
	blk := v.param(a, 0)
	if blk == nil {
		return nil, false, nil
	}
	b := v.answers.get(blk.hash)
	if b == nil {
		return nil, false, nil
	}
	return b.all, true, nil
}
