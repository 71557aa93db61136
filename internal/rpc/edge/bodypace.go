package edge

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/tokenbucket"
	"github.com/nodegate/nodegate/internal/web"
)

// For how many seconds of its rate an account may send at once, and how far behind it is when
// it gets an error instead of waiting.
const (
	bodyBurst  = 4
	bodyBehind = 2 * time.Second
)

// bodyPace holds accounts to a rate of bytes in large bodies. Decoding them takes as long as
// thousands of small calls, but their price knows only the method. What is no JSON-RPC is
// refused sooner, and doesn't count.
type bodyPace struct {
	accounts tokenbucket.Set[string]
	rate     tokenbucket.Rate // without PerSecond there is no limit
}

func newBodyPace(bytesPerSecond int64) *bodyPace {
	return &bodyPace{rate: tokenbucket.Rate{PerSecond: float64(bytesPerSecond), Burst: float64(bodyBurst * bytesPerSecond)}}
}

// spend counts a body and returns how late it is to be worked on.
//
// Returns AccountBusy when the account is so far behind that it should wait itself.
func (p *bodyPace) spend(account string, size int) (late time.Duration, err error) {
	if p.rate.PerSecond == 0 || size <= freeBody {
		return 0, nil
	}
	if behind := p.accounts.Spend(account, 0, p.rate); behind > bodyBehind {
		return 0, &nodegate.Error{
			Op: "edge.body", Code: nodegate.AccountBusy, RetryAfter: behind,
			Msg: "too many bytes in large requests of this account: send less at once (limits.body_rate)",
		}
	}
	return p.accounts.Spend(account, float64(size), p.rate), nil
}

// pace waits until a body may be worked on. A socket's next message waits instead: workers
// are everybody's.
func (p *bodyPace) pace(ctx context.Context, x *exchange) error {
	if len(x.body) <= freeBody || x.grant == nil {
		return nil
	}
	late, err := p.spend(x.grant.AccountID, len(x.body))
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
