package eth

import (
	"bytes"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// beyond shapes answers of methods without rules of their own that hold transactions:
// their signatures have the form that the nine methods give them.
func (d Dialect) beyond(name string, params, result []byte) []byte {
	if d != Strict {
		return result
	}
	switch method.Of(name).Answer {
	case method.BlockAnswer:
		if bytes.HasSuffix(params, []byte("true]")) { // with whole transactions
			return padBlock(result)
		}
	case method.AtNumberAnswer:
		return padTransaction(result)
	case method.TransactionsAnswer:
		return each(result, padTransaction)
	}
	return result
}

// signature rewrites r and s where the dialect pads them. Only strict does, although the
// specification names 32 bytes: go-ethereum's client reads quantities, refuses leading
// zeros and could not read one transaction in eight.
func (d Dialect) signature() func(name, value []byte) []byte {
	if d == Strict {
		return padded
	}
	return nil
}

func padBlock(block []byte) []byte {
	return filter(block, func([]byte) bool { return true }, func(name, value []byte) []byte {
		if string(name) != "transactions" {
			return value
		}
		return each(value, padTransaction)
	})
}

// padTransaction copies a transaction only where its signature is short, as one in
// eight is.
func padTransaction(tx []byte) []byte {
	short := false
	jsonrpc.Fields(tx, func(name, value []byte) bool {
		short = len(padded(name, value)) != len(value)
		return !short
	})
	if !short {
		return tx
	}
	return filter(tx, func([]byte) bool { return true }, padded)
}

// padded gives r and s of a signature the leading zeros that quantities lack.
func padded(name, value []byte) []byte {
	if len(name) != 1 || name[0] != 'r' && name[0] != 's' {
		return value
	}
	if len(value) == len(`"0x"`)+hashDigits { // nearly all
		return value
	}
	digits, ok := hexDigits(value)
	if short := hashDigits - len(digits); ok && short > 0 {
		return []byte(`"0x` + strings.Repeat("0", short) + digits + `"`)
	}
	return value
}
