package rollup

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// maxEncoded is the longest transaction that the network's compressor measures.
const maxEncoded = 256 << 10

// Compressed bytes are packed into field elements of the base layer's blobs:
// 254 bits of every 32 bytes are of use.
const (
	elementBits  = 254
	elementBytes = 32
)

var errTooLong = fmt.Errorf("the encoded transaction is longer than %d bytes", maxEncoded)

// shortEncoded is the longest transaction that is measured at once: within a millisecond.
const shortEncoded = 8 << 10

// sizer measures transactions. It is safe for concurrent use.
type sizer struct {
	dict  func() *dictionary
	slots *fairshare.Pool // for long ones, one to an account
}

// newSizer leaves the index over the dictionary to the first transaction, so
// that a network which is never asked costs nothing.
func newSizer(dict []byte, concurrency int) *sizer {
	dict = slices.Clone(dict)
	return &sizer{
		dict:  sync.OnceValue(func() *dictionary { return newDictionary(dict) }),
		slots: fairshare.New(concurrency, 1),
	}
}

// size is how many bytes of blob an encoded transaction takes. A long one keeps
// a core busy for a part of a second, so it waits for its account's turn, and works at
// low priority.
//
// Returns errTooLong for too long a transaction, or ctx's error if it ends first.
func (s *sizer) size(ctx context.Context, encoded []byte) (int, error) {
	if len(encoded) > maxEncoded {
		return 0, errTooLong
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(encoded) <= shortEncoded {
		return packedSize(compressedSize(s.dict(), encoded, func() {}), len(encoded)), nil
	}
	account := nodegate.GrantFrom(ctx).AccountID
	if err := s.slots.Acquire(ctx, account); err != nil {
		return 0, err
	}
	defer s.slots.Release(account)
	var compressed int
	background.Run(func() {
		var rests background.Rests
		compressed = compressedSize(s.dict(), encoded, rests.Now)
	})
	return packedSize(compressed, len(encoded)), nil
}

// packedSize turns a compressed size into bytes of blob. What compression makes
// longer is published as it is, behind the same header.
func packedSize(compressed, raw int) int {
	if compressed > raw {
		compressed = raw + lzssHeader
	}
	return (8*compressed + elementBits - 1) / elementBits * elementBytes
}
