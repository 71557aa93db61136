package guard

import (
	"bytes"
	"errors"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// mostExcessBlobGas is far more than any chain has. The price of blobs grows exponentially
// with it, and go-ethereum computes it with a loop that nothing can stop: from the largest
// number it would take years.
const mostExcessBlobGas = 1 << 32

// CheckBlock refuses a block of a client that can't be executed in any time. What is no
// block at all is left to the method that reads it.
func CheckBlock(raw []byte) error {
	var header types.Header
	s := rlp.NewStream(bytes.NewReader(raw), uint64(len(raw)))
	if _, err := s.List(); err != nil || s.Decode(&header) != nil {
		return nil
	}
	if header.ExcessBlobGas != nil && *header.ExcessBlobGas > mostExcessBlobGas {
		return errors.New("invalid block: its excessBlobGas is larger than any chain's")
	}
	return nil
}
