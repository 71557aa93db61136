package ledger

import (
	"encoding/hex"
	"strconv"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logquery"
)

// query is a call that the ledger understands: a lookup, or a log query.
type query struct {
	lookup
	logs *logquery.Filter
}

// lookup is what a client wants to know of which block or transaction.
type lookup struct {
	answer method.Answer
	by     by
	hash   [32]byte // of the block or the transaction
	number uint64
	index  uint64 // of the transaction in its block
	full   bool   // whole transactions, not their hashes
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
	if !row.LooksUp() {
		return 0, false
	}
	switch row.Answer {
	case method.TransactionAnswer, method.ReceiptAnswer, method.ReceiptsAnswer, method.HeaderAnswer, method.LogsAnswer,
		method.CountAnswer, method.UncleCountAnswer, method.RawTransactionAnswer, method.RawHeaderAnswer, method.RawBlockAnswer, method.RawReceiptsAnswer:
		return 1, true
	case method.BlockAnswer, method.AtHashAnswer, method.AtNumberAnswer, method.RawAtAnswer, method.UncleAnswer:
		return 2, true
	}
	return 0, false
}

// readPlace reads the first parameter, which names a block or a transaction.
func (q *query) readPlace(row *method.Row, arg []byte) (ok bool) {
	switch row.Answer { // answers that name no block are never kept, so the truth of these tells nothing
	case method.RawTransactionAnswer:
		return q.readHash(byTransaction, arg)
	case method.RawHeaderAnswer, method.RawBlockAnswer, method.RawReceiptsAnswer:
		return q.readBlock(arg, true)
	case method.RawAtAnswer:
		if row.Block == method.None {
			return q.readHash(byBlock, arg)
		}
		return q.readBlock(arg, row.BlockObject)
	}
	switch row.Truth {
	case method.OfItsAnswer:
		return q.readHash(byTransaction, arg)
	case method.OfAHash:
		return q.readHash(byBlock, arg)
	case method.OfABlock:
		return q.readBlock(arg, row.BlockObject)
	}
	return false
}

// readBlock reads a block's number, or its hash where one may be given.
func (q *query) readBlock(arg []byte, orHash bool) (ok bool) {
	if q.number, ok = quantity(arg); ok {
		return true
	}
	return orHash && q.readHash(byBlock, arg)
}

func (q *query) readHash(by by, arg []byte) bool {
	q.by = by
	return fixedHex(q.hash[:], arg)
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
