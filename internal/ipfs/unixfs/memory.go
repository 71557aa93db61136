package unixfs

import (
	"io"

	"github.com/nodegate/nodegate/internal/budget"
)

// What uploads and downloads keep in memory is reserved in the hold of their request,
// which gives it back at its end.

// blockCost is about what the notes about one block of an upload take, and blockStep of
// how many blocks they are reserved at once: most uploads have fewer.
const (
	blockCost = 64
	blockStep = 4096
)

// holdBlocks reserves the notes about the blocks of an upload, of which there are n now.
func holdBlocks(h *budget.Hold, n int) error {
	if n%blockStep != 0 {
		return nil
	}
	err := h.Grow(blockStep * blockCost)
	if err != nil && !h.Fits(blockStep*blockCost) {
		return tooLarge("the upload has more than %d blocks: use larger chunks, or upload in parts", n)
	}
	return err
}

// heldStep is how much of a buffer that grows with what comes is reserved at once.
const heldStep = 64 << 10

// heldReader reserves what is read from it, twice: who reads it all into one buffer has
// a copy while the buffer grows.
type heldReader struct {
	io.Reader
	hold *budget.Hold
	left int64 // reserved and not read
}

func (r *heldReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		if err := r.hold.Grow(2 * heldStep); err != nil {
			return 0, err
		}
		r.left = heldStep
	}
	n, err := r.Reader.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	return n, err
}

// keep reserves the blocks that a reader has in its hands, the one that is sent and the
// next, where they are larger than by default. Up to there the front end has reserved
// them, before the answer began.
func (r *reader) keep(size int) error {
	more := 2 * int64(size-max(r.largest, DefaultChunk+wrapping))
	if more <= 0 {
		return nil
	}
	if err := r.hold.Grow(more); err != nil {
		return err
	}
	r.largest, r.reserved = size, r.reserved+more
	return nil
}

// mayLead reserves, once, what a reader fetches far ahead. Without memory for it the
// reader fetches one block ahead.
func (r *reader) mayLead() bool {
	if !r.asked {
		r.asked = true
		if r.leads = r.hold.Try(readAhead); r.leads {
			r.reserved += readAhead
		}
	}
	return r.leads
}
