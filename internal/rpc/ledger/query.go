package ledger

import (
	"encoding/hex"
	"strconv"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logquery"
)

// query is a call that the ledger understands.
type query struct {
	answer method.Answer
	by     by
	hash   [32]byte // of the block or the transaction
	number uint64
	index  uint64 // of the transaction in its block
	full   bool   // whole transactions, not their hashes
	logs   *logquery.Filter
}

// by is what a query names: a block by its number or hash, or a transaction.
type by uint8

const (
	byNumber by = iota
	byBlock
	byTransaction
)

// read reads a call. It is strict: what a node may read in another way, or refuse, is for
// a node to answer, and false here.
func (q *query) read(row *method.Row, params []byte) bool {
	var room [2][]byte
	want, ok := wanted(row)
	if !ok {
		return false
	}
	q.answer = row.Answer
	if q.answer == method.LogsAnswer {
		q.logs, ok = logquery.Parse(params)
		return ok
	}
	args, over, ok := jsonrpc.FirstElements(room[:0], params, len(room))
	if !ok || over || len(args) != want {
		return false
	}
	if !q.readPlace(row, args[0]) {
		return false
	}
	switch row.Answer {
	case method.BlockAnswer:
		q.full = string(args[1]) == "true"
		return q.full || string(args[1]) == "false"
	case method.AtHashAnswer, method.AtNumberAnswer, method.RawAtAnswer, method.UncleAnswer:
		q.index, ok = quantity(args[1])
		return ok
	}
	return true
}

// wanted is how many parameters a lookup has that can be answered here.
func wanted(row *method.Row) (int, bool) {
	if row.Kind != method.Read {
		return 0, false
	}
	switch row.Answer {
	case method.TransactionAnswer, method.ReceiptAnswer, method.ReceiptsAnswer, method.HeaderAnswer, method.LogsAnswer,
		method.CountAnswer, method.UncleCountAnswer, method.RawTransactionAnswer:
		return 1, true
	case method.BlockAnswer, method.AtHashAnswer, method.AtNumberAnswer, method.RawAtAnswer, method.UncleAnswer:
		return 2, true
	}
	return 0, false
}

// readPlace reads the first parameter, which names a block or a transaction.
func (q *query) readPlace(row *method.Row, arg []byte) (ok bool) {
	raw := row.Answer == method.RawAtAnswer // answers that name no block are never kept, so their truth tells nothing
	switch {
	case row.Truth == method.OfItsAnswer || row.Answer == method.RawTransactionAnswer:
		q.by = byTransaction
		return fixedHex(q.hash[:], arg)
	case row.Truth == method.OfAHash || raw && row.Block == method.None:
		q.by = byBlock
		return fixedHex(q.hash[:], arg)
	case row.Truth == method.OfABlock || raw:
		if q.number, ok = quantity(arg); ok {
			return true
		}
		q.by = byBlock
		return row.BlockObject && fixedHex(q.hash[:], arg)
	}
	return false
}

// fixedHex reads a string of 0x and exactly len(dst) bytes.
func fixedHex(dst, token []byte) bool {
	n := len(token)
	if n != len(`"0x"`)+2*len(dst) || string(token[:3]) != `"0x` || token[n-1] != '"' {
		return false
	}
	_, err := hex.Decode(dst, token[3:n-1])
	return err == nil
}

// quantity reads a string with a hex number of at most 64 bits, without zeros before it.
func quantity(token []byte) (uint64, bool) {
	const shortest, longest = len(`"0x0"`), len(`"0x"`) + 16
	n := len(token)
	if n < shortest || n > longest || string(token[:3]) != `"0x` || token[n-1] != '"' || token[3] == '0' && n > shortest {
		return 0, false
	}
	v, err := strconv.ParseUint(string(token[3:n-1]), 16, 64)
	return v, err == nil
}
