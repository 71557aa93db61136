package edge

import (
	"context"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
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

// memory is what one exchange holds of the memory that its account may use.
type memory struct {
	hold   budget.Hold // of the body, the results and the answer
	body   int         // of it, bytes of the body's buffer
	answer int         // and of the answer's buffer
	came   int         // bytes of a body that its account's rate has counted
}

// release gives everything back.
func (m *memory) release() {
	m.hold.Release()
	m.body, m.answer, m.came = 0, 0, 0
}

// holdBody reserves the buffer of a body, of this size from now on.
func (m *memory) holdBody(size int) error {
	if size <= freeBody || size <= m.body {
		return nil
	}
	if err := m.hold.Grow(int64(size - m.body)); err != nil {
		return err
	}
	m.body = size
	return nil
}

// holdParams reserves what the calls of a large body work with: a copy of their
// parameters. Nothing is executed for an account whose results would be dropped.
func (m *memory) holdParams(body []byte) error {
	if err := m.hold.Admit(); err != nil || len(body) <= keepBuffer {
		return err
	}
	return m.hold.Grow(int64(len(body)))
}

// counted tells whether a result is reserved while it waits to be a part of the answer.
func counted(result []byte, batch bool) bool {
	return len(result) > keepBuffer || batch && len(result) > freeResult
}

// holdResult reserves a result that has just come.
func (m *memory) holdResult(result []byte, batch bool) error {
	if !counted(result, batch) {
		return nil
	}
	return m.hold.Grow(int64(len(result)))
}

// dropResult gives back what holdResult has reserved.
func (m *memory) dropResult(result []byte, batch bool) {
	if counted(result, batch) {
		m.hold.Shrink(int64(len(result)))
	}
}

// holdAnswer reserves the buffer of an answer, of this size from now on.
func (m *memory) holdAnswer(size int) error {
	if size <= m.answer {
		return nil
	}
	if err := m.hold.Grow(int64(size - m.answer)); err != nil {
		return err
	}
	m.answer = size
	return nil
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
	if err := x.memory.holdAnswer(size); err != nil {
		return err
	}
	x.answer = web.Enlarge(x.answer, size-len(x.answer))
	return nil
}

// mayCompress reserves a compressed copy of an answer. Without memory for it the answer
// is sent as it is.
func (m *memory) mayCompress(size int) bool {
	return size <= keepBuffer || m.hold.Try(int64(size))
}

// holdMessage is holdBody of the message that is being read.
func (s *socket) holdMessage(size int) error {
	if err := s.edge.bodyPace.coming(s.reading, size); err != nil {
		return err
	}
	return s.reading.memory.holdBody(size)
}

// largeBody is the size of a body from which on reading it takes milliseconds.
const largeBody = 256 << 10

// scanBody reads the envelope. Large bodies leave a processor to the others: reading one
// of 5 MiB with millions of values takes longer than a small call waits for its turn. The
// error is that of a request that ended before its turn.
func (x *exchange) scanBody(ctx context.Context) (*jsonrpc.Fault, error) {
	if len(x.body) < largeBody { // most are, and a closure is two allocations
		return x.scan.Scan(x.body, x.edge.cfg.BatchItems), nil
	}
	return x.scanLarge(ctx)
}

func (x *exchange) scanLarge(ctx context.Context) (fault *jsonrpc.Fault, err error) {
	err = x.edge.large.run(ctx, x.grant.AccountID, len(x.body), func() {
		var rests background.Rests
		fault = x.scan.ScanLarge(x.body, x.edge.cfg.BatchItems, rests.Now)
	})
	if err != nil {
		x.scan.Reset() // it has the requests of another body
	}
	return fault, err
}

// appendResult puts a result into the answer. Copying megabytes takes as long as reading
// them. If the request ends before its turn, the answer is copied at once: it is paid for.
func (x *exchange) appendResult(ctx context.Context, id, result []byte) {
	if len(result) >= largeBody && appendLarge(ctx, x, id, result) == nil {
		return
	}
	x.answer = jsonrpc.AppendResult(x.answer, id, result)
}

func appendLarge(ctx context.Context, x *exchange, id, result []byte) error {
	return x.edge.large.run(ctx, x.grant.AccountID, len(result), func() {
		var rests background.Rests
		x.answer = jsonrpc.AppendLargeResult(x.answer, id, result, rests.Now)
	})
}

// reading is how the body is read: its memory is the account's, and a large gzip leaves a
// processor to the others.
func (x *exchange) reading(ctx context.Context) web.Reading {
	inflating := false // what comes out of a gzip did not come from the client
	grow := func(size int) error {
		if size > keepBuffer {
			if err := x.edge.bodyPace.mayRead(x.grant.AccountID, size); err != nil {
				return err
			}
		}
		if !inflating {
			if err := x.edge.bodyPace.coming(x, size); err != nil {
				return err
			}
		}
		return x.memory.holdBody(size)
	}
	return web.Reading{
		Limit: x.edge.cfg.BodyBytes, Grow: grow,
		Inflate: func(work func()) error {
			inflating = true
			return x.edge.large.run(ctx, x.grant.AccountID, largeBody, work)
		},
	}
}

// largeLane has a slot for each large body or answer that is worked on. Accounts take turns.
type largeLane struct{ slots *fairshare.Pool }

// newLargeLane leaves a core to small calls and, if there are slots for it, a slot to other accounts.
func newLargeLane(cores int) largeLane {
	slots := max(1, cores-1)
	return largeLane{fairshare.New(slots, max(1, slots-1))}
}

// compress is web.Gzip. Large answers leave a processor to the others, too. It returns nil
// for one whose request ended before its turn.
func (l largeLane) compress(ctx context.Context, account string, dst, body []byte) (packed []byte) {
	if l.run(ctx, account, len(body), func() { packed = web.Gzip(dst, body) }) != nil {
		return nil
	}
	return packed
}

// run works on so many bytes: on many in the background, a few at a time.
//
// Returns Timeout if the request ended before the work began.
func (l largeLane) run(ctx context.Context, account string, size int, work func()) error {
	if size < largeBody {
		work()
		return nil
	}
	if err := l.slots.Acquire(ctx, account); err != nil {
		return nodegate.ErrTimeout("edge.large", err)
	}
	defer l.slots.Release(account)
	background.Run(work)
	return nil
}

// refused answers a body that is not executed, for lack of memory or because of the bytes
// before it.
func (x *exchange) refused(err error) error {
	x.edge.cfg.Metrics.Refused(nodegate.AsError(err).Code)
	x.edge.recordOther(x.network, x.grant, x.id, err, 0)
	x.notAdmitted(err)
	return err
}
