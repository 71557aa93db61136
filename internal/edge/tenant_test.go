package edge

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/journal"
	"github.com/nodegate/nodegate/internal/meter"
	"github.com/nodegate/nodegate/internal/usage"
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

// Bill puts a real meter, recorder and journal into a configuration. What was recorded is
// in the returned sink once Flush was called on the recorder.
func Bill(tb testing.TB, c *Config) *Sink {
	sink := &Sink{}
	c.Meter, c.Costs = meter.New(meter.Config{}), CostsOfTest
	c.Usage = usage.New(usage.Config{Store: sink, Every: time.Hour})
	c.Journal = journal.New(journal.Config{})
	tb.Cleanup(func() {
		c.Journal.Close()
		ctx := context.Background()
		if err := c.Usage.Close(ctx); err != nil {
			tb.Error(err)
		}
		if err := c.Meter.Close(ctx); err != nil {
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
