package ledger

import (
	"bytes"
	"encoding/hex"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// raw writes a transaction as it was signed.
func (b *block) raw(index int) ([]byte, bool) {
	tx, ok := b.tx(index)
	if !ok {
		return nil, false
	}
	return quoted(tx.Raw), true
}

// rawBlock writes the block as RLP. One without a size has parts that are not stored.
func (b *block) rawBlock() ([]byte, bool) {
	if b.stored.Size == 0 {
		return nil, false
	}
	var txs [][]byte
	ok := b.eachTx(func(raw []byte) { txs = append(txs, bytes.Clone(raw)) })
	raw := form.AppendBlock(nil, b.stored.Header, txs, b.stored.Withdrawals)
	return quoted(raw), ok && uint64(len(raw)) == b.stored.Size
}

// rawReceipts writes the receipts as the receipts root has them.
func (b *block) rawReceipts() ([]byte, bool) {
	if b.stored.Size == 0 || b.stored.Receipts != b.stored.Txs {
		return nil, false
	}
	if b.stored.Txs == 0 {
		return []byte("[]"), true
	}
	var kinds []byte
	all := b.eachTx(func(raw []byte) { kinds = append(kinds, typeOf(raw)) })
	if !all {
		return nil, false
	}
	out := []byte{'['}
	var room []byte
	err := b.store.Receipts(b.stored.Place, func(i int, row store.Receipt) bool {
		room, all = b.writer.Consensus(room[:0], kinds[i], row.Data)
		// Before the fork Canyon, a deposit's nonce is not in the root, but in what nodes answer.
		if kinds[i] == depositType {
			_, known := form.DepositNonce(row.Data)
			all = all && known
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = appendQuoted(out, room)
		return all
	})
	return append(out, ']'), !b.failed(&b.stored.Place, err) && all
}

// eachTx lends the transactions of the block to each. It is false if one is missing.
func (b *block) eachTx(each func(raw []byte)) bool {
	if b.stored.Txs == 0 {
		return true
	}
	err := b.store.Txs(b.stored.Place, func(_ int, row store.Row) bool {
		each(row.Data)
		return true
	})
	return !b.failed(&b.stored.Place, err)
}

// quoted is a string of 0x and hex digits.
func quoted(raw []byte) []byte {
	return appendQuoted(make([]byte, 0, 2*len(raw)+len(`"0x"`)), raw)
}

func appendQuoted(dst, raw []byte) []byte {
	return append(hex.AppendEncode(append(dst, `"0x`...), raw), '"')
}
