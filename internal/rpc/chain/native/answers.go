package native

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/maypok86/otter/v2"
)

// blockAnswers holds the encoded transactions and receipts of one block. They
// never change for a block hash.
type blockAnswers struct {
	hash     common.Hash
	hashes   []common.Hash
	txs      [][]byte // one JSON object each
	receipts [][]byte // slices of all
	all      []byte   // the JSON array of the receipts
	size     int
}

// remember enters the block's transactions into the view's index and returns the
// place of one of them, or -1.
func (b *blockAnswers) remember(v *canonicalView, wanted common.Hash) int {
	place := -1
	for i, h := range b.hashes {
		v.txs.Set(h, location{block: b.hash, index: uint32(i)})
		if h == wanted {
			place = i
		}
	}
	return place
}

// answerCache encodes blocks when they are first asked for and keeps as many as
// its budget allows.
type answerCache struct {
	bc     *core.BlockChain
	budget uint64
	cache  interface {
		table[common.Hash, *blockAnswers]
		Get(ctx context.Context, key common.Hash, loader otter.Loader[common.Hash, *blockAnswers]) (*blockAnswers, error)
	}
}

var errNoBlock = errors.New("no such block")

func newAnswerCache(bc *core.BlockChain, budget uint64) (*answerCache, error) {
	cache, err := otter.New(&otter.Options[common.Hash, *blockAnswers]{
		MaximumWeight: max(budget, 1),
		Weigher:       func(_ common.Hash, b *blockAnswers) uint32 { return uint32(b.size) },
	})
	return &answerCache{bc: bc, budget: budget, cache: cache}, err
}

// get returns a block's answers, encoding them once however many ask. Nil means
// that the block or its receipts are not there.
func (c *answerCache) get(hash common.Hash) *blockAnswers {
	if b, ok := c.cache.GetIfPresent(hash); ok {
		return b
	}
	b, err := c.cache.Get(context.Background(), hash, otter.LoaderFunc[common.Hash, *blockAnswers](c.load))
	if err != nil {
		return nil
	}
	return b
}

func (c *answerCache) load(_ context.Context, hash common.Hash) (*blockAnswers, error) {
	blk := c.bc.GetBlockByHash(hash)
	if blk == nil {
		return nil, errNoBlock
	}
	receipts := c.bc.GetReceiptsByHash(hash)
	if len(receipts) != len(blk.Transactions()) || encodedSize(blk, receipts) > c.budget/4 {
		return nil, errNoBlock
	}
	return encodeBlock(c.bc, blk, receipts)
}

// encodedSize is roughly what a block's answers take. One that would fill much of
// the cache is handed over: it would be encoded whole for each look-up in it.
func encodedSize(blk *types.Block, receipts types.Receipts) uint64 {
	size := 2 * blk.Size()
	for _, r := range receipts {
		size += receiptSize
		for _, log := range r.Logs {
			size += logSize + 2*uint64(len(log.Data))
		}
	}
	return size
}

// Encoded sizes without their data: a receipt is mostly bloom filter.
const (
	receiptSize = 1200
	logSize     = 700
)

func encodeBlock(bc *core.BlockChain, blk *types.Block, receipts types.Receipts) (*blockAnswers, error) {
	n := len(receipts)
	b := &blockAnswers{hash: blk.Hash(), hashes: make([]common.Hash, n), txs: make([][]byte, n), receipts: make([][]byte, n)}
	ends := make([]int, n)
	b.all = append(b.all, '[')
	enc := newEncoder(bc.Config(), blk)
	for i, tx := range blk.Transactions() {
		b.hashes[i] = tx.Hash()
		encodedTx, receipt, err := enc.encode(i, tx, receipts[i])
		if err != nil {
			return nil, err
		}
		b.txs[i] = encodedTx
		if i > 0 {
			b.all = append(b.all, ',')
		}
		b.all = append(b.all, receipt...)
		ends[i] = len(b.all)
		b.size += len(encodedTx) + 2*common.HashLength + 64
	}
	b.all = append(b.all, ']')
	start := 1
	for i, end := range ends {
		b.receipts[i] = b.all[start:end:end]
		start = end + 1
	}
	b.size += cap(b.all) + 256
	return b, nil
}
