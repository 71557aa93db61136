package guard

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
)

// mostExcessBlobGas is far more than any chain has. The price of blobs grows exponentially
// with it, and go-ethereum computes it with a loop that nothing can stop: from the largest
// number it would take years.
const mostExcessBlobGas = 1 << 32

// CheckBlock refuses a block of a client that can't be executed in any time, or that lacks
// what the chain's rules need. What is no block at all is left to the method that reads it.
func CheckBlock(raw []byte, rules *params.ChainConfig) error {
	var header types.Header
	s := rlp.NewStream(bytes.NewReader(raw), uint64(len(raw)))
	if _, err := s.List(); err != nil || s.Decode(&header) != nil {
		return nil
	}
	return CheckHeader(&header, rules)
}

// CheckHeader refuses the header of such a block.
func CheckHeader(header *types.Header, rules *params.ChainConfig) error {
	if header.ExcessBlobGas != nil && *header.ExcessBlobGas > mostExcessBlobGas {
		return errors.New("invalid block: its excessBlobGas is larger than any chain's")
	}
	if err := header.SanityCheck(); err != nil {
		return fmt.Errorf("invalid block: %w", err)
	}
	if fork, field := missingField(header, rules); field != "" {
		return fmt.Errorf("invalid block: its header has no %s, which this chain's blocks have since %s", field, fork)
	}
	return nil
}

// missingField finds a field that a header needs by the rules of its fork. go-ethereum takes
// them for granted once it executes a block.
func missingField(h *types.Header, rules *params.ChainConfig) (fork, field string) {
	cancun := rules.IsCancun(h.Number, h.Time)
	amsterdam := rules.IsAmsterdam(h.Number, h.Time)
	switch {
	case h.BaseFee == nil && rules.IsLondon(h.Number):
		return "London", "baseFeePerGas"
	case h.WithdrawalsHash == nil && rules.IsShanghai(h.Number, h.Time):
		return "Shanghai", "withdrawalsRoot"
	case h.BlobGasUsed == nil && cancun:
		return "Cancun", "blobGasUsed"
	case h.ExcessBlobGas == nil && cancun:
		return "Cancun", "excessBlobGas"
	case h.ParentBeaconRoot == nil && cancun:
		return "Cancun", "parentBeaconBlockRoot"
	case h.RequestsHash == nil && rules.IsPrague(h.Number, h.Time):
		return "Prague", "requestsHash"
	case h.BlockAccessListHash == nil && amsterdam:
		return "Amsterdam", "blockAccessListHash"
	case h.SlotNumber == nil && amsterdam:
		return "Amsterdam", "slotNumber"
	}
	return "", ""
}
