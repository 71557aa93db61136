package edge

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage"
)

// NewTestGrant is a grant of a key with a plan and settings.
func NewTestGrant(key string, p nodegate.Policy) *nodegate.Grant {
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&p)
	g, _ := nodegate.NewGrant("account of "+key, key, policy)
	return g
}

// CostsOfTest are easy to tell apart in a sum.
var CostsOfTest = nodegate.Costs{Methods: map[string]int64{"echo": 10}, Other: 80, Unknown: 160, Refused: 5}

// Bill puts a real rate limiter, usage recorder and request log into a configuration. What was recorded is
// in the returned sink once Flush was called on the recorder.
func Bill(tb testing.TB, c *Config) *Sink {
	sink := &Sink{}
	c.Limiter, c.Costs = ratelimit.New(ratelimit.Config{}), CostsOfTest
	c.Usage = usage.New(usage.Config{Store: sink, Every: time.Hour})
	c.RequestLog = requestlog.New(requestlog.Config{})
	tb.Cleanup(func() {
		c.RequestLog.Close()
		ctx := context.Background()
		if err := c.Usage.Close(ctx); err != nil {
			tb.Error(err)
		}
		if err := c.Limiter.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	return sink
}

// Sink keeps usage in memory.
type Sink struct {
	mu   sync.Mutex
	rows []nodegate.Usage
}

// Rows are those that were flushed.
func (s *Sink) Rows() []nodegate.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]nodegate.Usage(nil), s.rows...)
}

func (s *Sink) AddUsage(_ context.Context, b *nodegate.UsageBatch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, b.Rows...)
	return nil
}

func (s *Sink) Usage(context.Context, nodegate.UsageQuery) ([]nodegate.Usage, error) {
	return s.Rows(), nil
}

// SumUsage answers nothing.
func (s *Sink) SumUsage(context.Context, nodegate.UsageSums) ([]nodegate.UsageSum, error) {
	return nil, nil
}

func (s *Sink) Spent(context.Context, time.Time) (*nodegate.Spent, error) {
	return &nodegate.Spent{}, nil
}

func (s *Sink) Figures(context.Context, string, time.Time) (nodegate.Figures, error) {
	return nodegate.Figures{}, nil
}

func (s *Sink) PurgeUsage(context.Context, time.Time) (int64, error) { return 0, nil }

// NewAccountGrant is a grant of one key among several of an account.
func NewAccountGrant(account, key string, p nodegate.Policy) *nodegate.Grant {
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&p)
	g, _ := nodegate.NewGrant(account, key, policy)
	return g
}

// OpenOf is what an account has open, and what all have.
func (e *Edge) OpenOf(account string) (open struct{ Sockets, Subscriptions, Calls, AllSockets, AllSubscriptions int }) {
	g, _ := nodegate.NewGrant(account, "", nil)
	s := e.shares.of(g)
	s.mu.Lock()
	defer s.mu.Unlock()
	open.Sockets, open.Subscriptions, open.Calls = s.sockets, s.subs, int(s.calls.inside.Load())
	open.AllSockets, open.AllSubscriptions = int(e.shares.sockets.Load()), int(e.shares.subs.Load())
	return open
}

// TestSharesAreSwept: accounts that have nothing open are forgotten, others are not.
func TestSharesAreSwept(t *testing.T) {
	l := newShares(Bounds{CallsPerAccount: 1})
	busy, err := l.openSocket(NewAccountGrant("busy", "k", nodegate.Policy{}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * sweepAfter {
		l.of(NewAccountGrant(fmt.Sprint(i), "k", nodegate.Policy{}))
	}
	count := 0
	for range l.index.All() {
		count++
	}
	if count > sweepAfter+1 || l.of(NewAccountGrant("busy", "other", nodegate.Policy{})) != busy {
		t.Errorf("%d accounts are kept", count)
	}
}

// SendersOf is how many senders of an account's events run.
func (e *Edge) SendersOf(account string) int {
	g, _ := nodegate.NewGrant(account, "", nil)
	q := &e.shares.of(g).senders
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(1, runtime.GOMAXPROCS(0)/2) - q.free
}
