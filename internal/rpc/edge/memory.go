package edge

import (
	"slices"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/web"
)

// What is not counted, because counting it would cost more than it is worth: a body or
// message up to freeBody while it is read, an answer up to keepBuffer, and a result in a
// batch up to freeResult. How many of them there are is bounded by connections and by
// what each socket may have executed at once.
const (
	freeBody   = 16 << 10
	freeResult = 4 << 10
)

// holdBody reserves the buffer of a body, of this size from now on.
func (x *exchange) holdBody(size int) error {
	if size <= freeBody || size <= x.heldBody {
		return nil
	}
	if err := x.hold.Grow(int64(size - x.heldBody)); err != nil {
		return err
	}
	x.heldBody = size
	return nil
}

// holdParams reserves what the calls of a large body work with: a copy of their
// parameters. Nothing is executed for an account whose results would be dropped.
func (x *exchange) holdParams() error {
	if err := x.hold.Admit(); err != nil || len(x.body) <= keepBuffer {
		return err
	}
	return x.hold.Grow(int64(len(x.body)))
}

// counted tells whether a result is reserved while it waits to be a part of the answer.
func (x *exchange) counted(result []byte) bool {
	return len(result) > keepBuffer || x.scan.Batch && len(result) > freeResult
}

// holdResult reserves a result that has just come.
func (x *exchange) holdResult(result []byte) error {
	if !x.counted(result) {
		return nil
	}
	return x.hold.Grow(int64(len(result)))
}

// dropResult gives back what holdResult has reserved.
func (x *exchange) dropResult(result []byte) {
	if x.counted(result) {
		x.hold.Shrink(int64(len(result)))
	}
}

// billed is the error that decides what a call costs. A result that was dropped because
// the account is over its share was worked for, so it costs what any result does; else
// an account could have work done for nothing.
func (o *executed) billed() error {
	if o.dropped && nodegate.AsError(o.err).Code == nodegate.AccountBusy {
		return nil
	}
	return o.err
}

// envelopeRoom is more than an answer takes beside its id and its result.
const envelopeRoom = 64

// makeRoom lets the answer grow by n bytes. A buffer that more than keepBuffer is written to
// is reserved first, also when it comes from the pool: it is in use until the peer has read.
func (x *exchange) makeRoom(n int) error {
	size, need := cap(x.answer), len(x.answer)+n
	if need <= keepBuffer {
		return nil
	}
	if need > size {
		size = max(need, size+size/2)
	}
	if size > x.heldAnswer {
		if err := x.hold.Grow(int64(size - x.heldAnswer)); err != nil {
			return err
		}
		x.heldAnswer = size
	}
	x.answer = slices.Grow(x.answer, size-len(x.answer))
	return nil
}

// mayCompress reserves a compressed copy of an answer. Without memory for it the answer
// is sent as it is.
func (x *exchange) mayCompress(size int) bool {
	return size <= keepBuffer || x.hold.Try(int64(size))
}

// holdMessage is holdBody of the message that is being read.
func (s *socket) holdMessage(size int) error { return s.reading.holdBody(size) }

// largeBody is the size of a body from which on reading it takes milliseconds.
const largeBody = 256 << 10

// scanBody reads the envelope. Large bodies leave a processor to the others: reading one
// of 5 MiB with millions of values takes longer than a small call waits for its turn.
func (x *exchange) scanBody() (fault *jsonrpc.Fault) {
	x.edge.aside(len(x.body), func() { fault = x.scan.Scan(x.body, x.edge.cfg.BatchItems) })
	return fault
}

// compress is web.Gzip. Large answers leave a processor to the others, too.
func (e *Edge) compress(dst, body []byte) (packed []byte) {
	e.aside(len(body), func() { packed = web.Gzip(dst, body) })
	return packed
}

// aside works on so many bytes: on many in the background, a few at a time.
func (e *Edge) aside(size int, work func()) {
	if size < largeBody {
		work()
		return
	}
	e.large <- struct{}{}
	defer func() { <-e.large }()
	background.Run(work)
}

// noMemory answers a body that there is no memory to execute.
func (x *exchange) noMemory(err error) error {
	x.edge.cfg.Metrics.Refused(nodegate.AsError(err).Code)
	x.edge.recordOther(x.network, x.grant, err, 0)
	x.notAdmitted(err)
	return err
}
