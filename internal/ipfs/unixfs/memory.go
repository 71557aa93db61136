package unixfs

import (
	"context"
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

// What listings and walks keep takes about so much: a decoded link beside its name, a block
// that waits for its turn, and a change between two trees.
const (
	linkCost   = 128
	stepCost   = 96
	changeCost = 256
)

// reserve is Grow for what waiting can't help with: more than the account may have at all is
// refused as too large, with what to do about it.
func reserve(h *budget.Hold, n int64, advice string) error {
	err := h.Grow(n)
	if err != nil && !h.Fits(n) {
		return tooLarge("%s", advice)
	}
	return err
}

const (
	listLess = "the listing takes more memory than an account may use (memory.requests_per_account): list less at once"
	walkLess = "the content has more blocks than an account has memory to keep track of (memory.requests_per_account): work on it in parts"
)

const readLess = "the file's blocks take more memory than an account may use (memory.requests_per_account): read fewer files at once"

// fewLinks are those of an inner block of a file that is laid out as by default. Up to there
// what was reserved for the download is enough.
const fewLinks = 256

// levelCost is about what an inner block of a file takes while it is read.
func levelCost(n *node) int64 {
	if len(n.links) <= fewLinks {
		return 0
	}
	return int64(len(n.raw)) + linksCost(n.links) + int64(len(n.links))*8
}

// linksCost is about what decoded links take.
func linksCost(links []link) int64 {
	cost := int64(len(links)) * linkCost
	for i := range links {
		cost += int64(len(links[i].name))
	}
	return cost
}

// holdLinks reserves decoded links, until what it returns is called.
func holdLinks(ctx context.Context, links []link) (release func(), err error) {
	hold, cost := budget.From(ctx), linksCost(links)
	if err := reserve(hold, cost, listLess); err != nil {
		return nil, err
	}
	return func() { hold.Shrink(cost) }, nil
}

// notes reserve what a walk keeps in mind: the blocks it has seen, and those that wait. The
// first of them are free: most walks have fewer.
type notes struct {
	hold          *budget.Hold
	seen, waiting int   // that are paid for, beside the first
	reserved      int64 // for them
}

// keep makes sure of the memory for so many of each.
func (n *notes) keep(seen, waiting int) error {
	moreSeen, moreWaiting := beyond(seen, n.seen), beyond(waiting, n.waiting)
	if moreSeen+moreWaiting == 0 {
		return nil
	}
	cost := int64(moreSeen)*blockCost + int64(moreWaiting)*stepCost
	if err := reserve(n.hold, cost, walkLess); err != nil {
		return err
	}
	n.seen, n.waiting, n.reserved = n.seen+moreSeen, n.waiting+moreWaiting, n.reserved+cost
	return nil
}

// beyond is how many more are paid for next, in whole steps.
func beyond(count, paid int) int {
	over := count - blockStep - paid
	if over <= 0 {
		return 0
	}
	return (over + blockStep - 1) / blockStep * blockStep
}

// release gives back what a walk kept that is over.
func (n *notes) release() {
	n.hold.Shrink(n.reserved)
	*n = notes{hold: n.hold}
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
