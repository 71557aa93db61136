package rollup

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/method"
)

const wordSize = 32

// selector names a contract's function: the first bytes of its signature's hash.
type selector [4]byte

// withBytes encodes a call whose only argument is a byte string.
func (s selector) withBytes(data []byte) []byte {
	return appendBytes(appendWord(s[:], wordSize), data)
}

// withNumber encodes a call whose only argument is a number.
func (s selector) withNumber(n uint64) []byte { return appendWord(s[:], n) }

func appendWord(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, make([]byte, wordSize-8)...), n)
}

// appendBytes writes a byte string where its offset points: the length, and the
// bytes filled up to whole words.
func appendBytes(dst, data []byte) []byte {
	dst = append(appendWord(dst, uint64(len(data))), data...)
	return append(dst, make([]byte, (wordSize-len(data)%wordSize)%wordSize)...)
}

// view calls a contract's function at a block and returns exactly that many words.
// A contract that isn't there answers with none, which is no number.
func (n *Node) view(ctx context.Context, to common.Address, input []byte, at json.RawMessage, words int) ([]*big.Int, error) {
	call := fmt.Appendf(nil, `{"to":"%#x","input":"%#x"}`, to, input)
	return n.execute(ctx, call, at, words)
}

func (n *Node) execute(ctx context.Context, call, at json.RawMessage, words int) ([]*big.Int, error) {
	out, err := ask[hexutil.Bytes](ctx, n.next, method.EthCall, call, at)
	if err != nil {
		return nil, err
	}
	if len(out) != words*wordSize {
		return nil, nodeNonsense(method.EthCall, fmt.Errorf("%d bytes where a contract of the stack %s returns %d", len(out), n.cfg.Stack, words*wordSize))
	}
	list := make([]*big.Int, words)
	for i := range list {
		list[i] = new(big.Int).SetBytes(out[i*wordSize : (i+1)*wordSize])
	}
	return list, nil
}
