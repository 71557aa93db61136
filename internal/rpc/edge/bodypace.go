package edge

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/tokenbucket"
	"github.com/nodegate/nodegate/internal/web"
)

// For how many seconds of its rate an account may send at once, and how far behind it is when
// it gets an error instead of waiting.
const (
	bodyBurst  = 4
	bodyBehind = 2 * time.Second
)

// unreadablePart is what a body that is no JSON counts: a part of its bytes, since it is
// refused when it has been read once. So a client that sends a few by mistake is told what
// is wrong, and not that it sends too many.
const unreadablePart = 4

// arriving is how many times its rate an account may send in bodies that are not worked on:
// those that never end, and those that are refused.
const arriving = 2

// bodyPace holds accounts to a rate of bytes in large bodies. Decoding them takes as long as
// thousands of small calls, but their price knows only the method.
type bodyPace struct {
	accounts tokenbucket.Set[string]
	rate     tokenbucket.Rate // without PerSecond there is no limit

	// Bytes that came of bodies that have not ended: to take them in is work, too.
	arrived  tokenbucket.Set[string]
	arrivals tokenbucket.Rate
}

func newBodyPace(bytesPerSecond int64) *bodyPace {
	rate := tokenbucket.Rate{PerSecond: float64(bytesPerSecond), Burst: float64(bodyBurst * bytesPerSecond)}
	return &bodyPace{rate: rate, arrivals: tokenbucket.Rate{PerSecond: arriving * rate.PerSecond, Burst: arriving * rate.Burst}}
}

// mayRead lets a body of a size be read.
//
// Returns AccountBusy when the account is so far behind that it should wait itself.
func (p *bodyPace) mayRead(account string, size int) error {
	if p.rate.PerSecond == 0 || size <= freeBody {
		return nil
	}
	return tooFar(p.accounts.Spend(account, 0, p.rate))
}

func tooFar(behind time.Duration) error {
	if behind <= bodyBehind {
		return nil
	}
	return &nodegate.Error{
		Op: "edge.body", Code: nodegate.AccountBusy, RetryAfter: behind,
		Msg: "too many bytes in large requests of this account: send less at once (limits.body_rate)",
	}
}

// coming counts a body that is still being read, by the size of its buffer: who never ends one
// has sent it all the same.
//
// Returns AccountBusy for one that begins while the account is far behind with such bodies.
func (p *bodyPace) coming(x *exchange, size int) error {
	if size <= keepBuffer || p.rate.PerSecond == 0 { // a buffer of that size may be for a small body
		return nil
	}
	account, more := x.grant.AccountID, size-x.memory.came
	if x.memory.came == 0 {
		if err := tooFar(p.arrived.Spend(account, 0, p.arrivals)); err != nil {
			return err
		}
	}
	if more > 0 {
		p.arrived.Spend(account, float64(more), p.arrivals)
		x.memory.came = size
	}
	return nil
}

// whole is for a body that has come to its end. It is counted by what it is, in pace.
func (p *bodyPace) whole(x *exchange) {
	if x.memory.came > 0 {
		p.arrived.Give(x.grant.AccountID, float64(x.memory.came), p.arrivals)
		x.memory.came = 0
	}
}

// spend counts a body, or a part of it, and returns how late it is to be worked on.
//
// Returns AccountBusy like mayRead.
func (p *bodyPace) spend(account string, size, part int) (late time.Duration, err error) {
	if err := p.mayRead(account, size); err != nil || p.rate.PerSecond == 0 || size <= freeBody {
		return 0, err
	}
	return p.accounts.Spend(account, float64(size/part), p.rate), nil
}

// pace waits until a body may be worked on. A socket's next message waits instead: workers
// are everybody's.
func (p *bodyPace) pace(ctx context.Context, x *exchange, fault *jsonrpc.Fault) error {
	if len(x.body) <= freeBody || x.grant == nil {
		return nil
	}
	part := 1
	if fault != nil && fault != jsonrpc.BatchTooLarge {
		part = unreadablePart
	}
	late, err := p.spend(x.grant.AccountID, len(x.body), part)
	if err != nil {
		return err
	}
	if x.socket != nil {
		x.socket.delay.Store(int64(late))
		return nil
	}
	web.Pause(ctx, late)
	return nil
}

// skipStep is how many bytes of refused messages are counted at once.
const skipStep = 64 << 10

// skipped counts bytes of a refused message, which are only read over, and holds the socket to
// its account's rate.
func (s *socket) skipped(n int) (waited bool) {
	p := s.edge.bodyPace
	if s.over += n; s.over < skipStep || p.rate.PerSecond == 0 {
		return false
	}
	late := p.arrived.Spend(s.grant.AccountID, float64(s.over), p.arrivals)
	s.over = 0
	web.Pause(s.ctx, late)
	return late > 0
}
