package steplog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"
	"github.com/holiman/uint256"
)

// AtLeast is how many bytes of an instruction's entry are copies of memory and returned
// data. They are the parts that can be large; they are counted before they are written.
func AtLeast(c *logger.Config, scope tracing.OpContext, rData []byte) int {
	size := 0
	if c.EnableMemory {
		size += len(scope.MemoryData()) / 32 * (len(`"0x",`) + 64)
	}
	if c.EnableReturnData {
		size += 2 * len(rData)
	}
	return size
}

func appendHead(b []byte, pc uint64, op vm.OpCode, gas, cost uint64, depth int, err error) []byte {
	b = strconv.AppendUint(append(b, `{"pc":`...), pc, 10)
	b = append(append(b, `,"op":"`...), op.String()...)
	b = strconv.AppendUint(append(b, `","gas":`...), gas, 10)
	b = strconv.AppendUint(append(b, `,"gasCost":`...), cost, 10)
	b = strconv.AppendInt(append(b, `,"depth":`...), int64(depth), 10)
	if err == nil || err.Error() == "" {
		return b
	}
	quoted, _ := json.Marshal(err.Error()) // a string always has a form
	return append(append(b, `,"error":`...), quoted...)
}

func appendStack(b []byte, stack []uint256.Int) []byte {
	b = append(b, `,"stack":[`...)
	for i := range stack {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendWord(append(b, `"0x`...), &stack[i]), '"')
	}
	return append(b, ']')
}

// appendWord writes a number in hexadecimal without leading zeros.
func appendWord(b []byte, n *uint256.Int) []byte {
	const digits = "0123456789abcdef"
	top := (n.BitLen() + 3) / 4
	if top == 0 {
		return append(b, '0')
	}
	for i := top - 1; i >= 0; i-- {
		b = append(b, digits[n[i/16]>>(i%16*4)&15])
	}
	return b
}

func appendHex(b, data []byte) []byte {
	b = slices.Grow(b, hex.EncodedLen(len(data)))
	return hex.AppendEncode(b, data)
}

// appendMemory writes memory in words of 32 bytes.
func appendMemory(b, memory []byte) []byte {
	b = append(b, `,"memory":[`...)
	for i := 0; i < len(memory); i += 32 {
		if i > 0 {
			b = append(b, ',')
		}
		var word common.Hash
		copy(word[:], memory[i:])
		b = append(appendHex(append(b, `"0x`...), word[:]), '"')
	}
	return append(b, ']')
}

// slots are a contract's slots, ordered by their keys.
type slots []slot

type slot struct{ key, value common.Hash }

// with is the slots with one that was added or changed.
func (s slots) with(key, value common.Hash) slots {
	at, found := slices.BinarySearchFunc(s, key, func(a slot, key common.Hash) int { return bytes.Compare(a.key[:], key[:]) })
	if found {
		s[at].value = value
		return s
	}
	return slices.Insert(s, at, slot{key, value})
}

func appendStorage(b []byte, all slots) []byte {
	if len(all) == 0 {
		return b
	}
	b = append(b, `,"storage":{`...)
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendHex(append(b, `"0x`...), all[i].key[:])
		b = append(appendHex(append(b, `":"0x`...), all[i].value[:]), '"')
	}
	return append(b, '}')
}

func appendRefund(b []byte, refund uint64) []byte {
	if refund == 0 {
		return b
	}
	return strconv.AppendUint(append(b, `,"refund":`...), refund, 10)
}

func appendResult(gas uint64, failed bool, returned []byte, t *text) []byte {
	const frame = len(`{"gas":,"failed":false,"returnValue":"0x","structLogs":[]}`) + 20
	b := make([]byte, 0, frame+hex.EncodedLen(len(returned))+t.length())
	b = strconv.AppendUint(append(b, `{"gas":`...), gas, 10)
	b = strconv.AppendBool(append(b, `,"failed":`...), failed)
	b = appendHex(append(b, `,"returnValue":"0x`...), returned)
	b = t.appendTo(append(b, `","structLogs":[`...))
	return append(b, ']', '}')
}
