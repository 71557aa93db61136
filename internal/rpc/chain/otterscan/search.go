package otterscan

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/rpc/chain/replay"
)

// maxResults is the largest page of a search, as in Erigon.
const maxResults = 25

// Found is one page of a search, newest first.
type Found struct {
	Txs       []map[string]any `json:"txs"`
	Receipts  []map[string]any `json:"receipts"`
	FirstPage bool             `json:"firstPage"`
	LastPage  bool             `json:"lastPage"`
}

// SearchTransactionsBefore answers ots_searchTransactionsBefore: the transactions before a
// block, or all for block 0, in which an address calls or is called.
func (a *API) SearchTransactionsBefore(ctx context.Context, addr common.Address, before uint64, size uint16) (*Found, error) {
	from, head := before-1, a.chain.CurrentBlock().Number.Uint64()
	if before == 0 || from > head {
		from = head
	}
	found, ended, err := a.search(ctx, addr, size, from, 0)
	if err != nil {
		return nil, err
	}
	found.FirstPage, found.LastPage = before == 0, ended
	return found, nil
}

// SearchTransactionsAfter answers ots_searchTransactionsAfter: the same behind a block.
func (a *API) SearchTransactionsAfter(ctx context.Context, addr common.Address, after uint64, size uint16) (*Found, error) {
	head := a.chain.CurrentBlock().Number.Uint64()
	if after >= head {
		return &Found{[]map[string]any{}, []map[string]any{}, true, after == 0}, nil
	}
	found, ended, err := a.search(ctx, addr, size, after+1, head)
	if err != nil {
		return nil, err
	}
	slices.Reverse(found.Txs)
	slices.Reverse(found.Receipts)
	found.FirstPage, found.LastPage = ended, after == 0
	return found, nil
}

// search looks at one block after the other, forward or backward, until the page is full or
// the last block is reached. It never ends for another reason without an error: a part would
// look like the whole.
func (a *API) search(ctx context.Context, addr common.Address, size uint16, number, last uint64) (found *Found, ended bool, err error) {
	if size == 0 || size > maxResults {
		return nil, false, invalid("max allowed page size: %d", maxResults)
	}
	found = &Found{Txs: []map[string]any{}, Receipts: []map[string]any{}}
	backward := last < number
	for looked := uint64(1); ; looked++ {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		block := a.chain.GetBlockByNumber(number)
		if block == nil {
			return found, true, nil // it was taken back
		}
		if err := a.add(ctx, found, block, addr, backward); err != nil {
			return nil, false, err
		}
		switch {
		case number == last:
			return found, true, nil
		case len(found.Txs) >= int(size):
			return found, false, nil
		case looked == a.blocks:
			return nil, false, fmt.Errorf("there is no index of addresses: %d blocks were searched and %d of %d transactions found; continue the search at block %d", looked, len(found.Txs), size, number)
		}
		if number++; backward {
			number -= 2
		}
	}
}

// add looks for an address in a block.
func (a *API) add(ctx context.Context, found *Found, block *types.Block, addr common.Address, backward bool) error {
	matches, err := a.touching(ctx, block, addr)
	if err != nil || len(matches) == 0 {
		return err
	}
	if backward {
		slices.Reverse(matches)
	}
	_, txs, err := a.transactions(ctx, block)
	if err != nil {
		return err
	}
	receipts, err := a.receipts(ctx, block)
	if err != nil {
		return err
	}
	for _, i := range matches {
		receipts[i]["timestamp"] = block.Time()
		found.Txs, found.Receipts = append(found.Txs, txs[i]), append(found.Receipts, receipts[i])
	}
	return nil
}

// touching are the transactions of a block in which an address calls or is called.
func (a *API) touching(ctx context.Context, block *types.Block, addr common.Address) (matches []int, err error) {
	err = a.chain.Block(ctx, block, len(block.Transactions())-1, false, func(i int, o *replay.Outcome) error {
		if slices.ContainsFunc(o.Frames, func(f *replay.Frame) bool { return f.From == addr || f.To == addr }) {
			matches = append(matches, i)
		}
		o.Drop()
		return nil
	})
	return matches, err
}

// first is the first block whose state has what is looked for, which the newest one must
// have and later blocks keep.
func (a *API) first(has func(*state.StateDB) bool) (block *types.Block, err error) {
	at := func(number uint64) (found bool) {
		header := a.chain.GetHeaderByNumber(number)
		if header == nil {
			return true // it was taken back
		}
		db, e := a.chain.StateAt(header.Root, header.Number, header.Time)
		if e != nil {
			err = e
			return true
		}
		return has(db)
	}
	head := a.chain.CurrentBlock().Number.Uint64()
	if !at(head) || err != nil {
		return nil, err
	}
	number := sort.Search(int(head), func(n int) bool { return at(uint64(n)) }) //nolint:gosec // not negative
	if err != nil || number == 0 {
		return nil, err // nothing was executed in the first block
	}
	return a.chain.GetBlockByNumber(uint64(number)), nil //nolint:gosec // not negative
}

// GetTransactionBySenderAndNonce answers ots_getTransactionBySenderAndNonce; null where
// there is none.
func (a *API) GetTransactionBySenderAndNonce(_ context.Context, addr common.Address, nonce uint64) (*common.Hash, error) {
	block, err := a.first(func(db *state.StateDB) bool { return db.GetNonce(addr) > nonce })
	if err != nil || block == nil {
		return nil, err
	}
	signer := types.MakeSigner(a.chain.Config(), block.Number(), block.Time())
	for _, tx := range block.Transactions() {
		from, err := types.Sender(signer, tx)
		if err != nil {
			return nil, err
		}
		if from, _ = a.chain.Behind(from); from == addr && tx.Nonce() == nonce {
			hash := tx.Hash()
			return &hash, nil
		}
	}
	return nil, nil
}

// Creator tells how a contract came to be.
type Creator struct {
	Hash    common.Hash    `json:"hash"`
	Creator common.Address `json:"creator"`
}

// GetContractCreator answers ots_getContractCreator; null for what no transaction created.
func (a *API) GetContractCreator(ctx context.Context, addr common.Address) (creator *Creator, err error) {
	block, err := a.first(func(db *state.StateDB) bool { return db.GetCodeSize(addr) > 0 })
	if err != nil || block == nil {
		return nil, err
	}
	err = a.chain.Block(ctx, block, len(block.Transactions())-1, false, func(i int, o *replay.Outcome) error {
		for _, f := range o.Frames {
			if f.Created() && f.To == addr && f.Err == nil {
				creator = &Creator{block.Transactions()[i].Hash(), f.From}
			}
		}
		o.Drop()
		return nil
	})
	return creator, err
}
