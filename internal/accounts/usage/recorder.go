package usage

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

const (
	defaultEvery   = 5 * time.Second
	defaultMaxRows = 200_000
	purgeEvery     = time.Hour
	storeTimeout   = 30 * time.Second // for one batch, or one part of a purge
	maxPurges      = 10_000           // parts of one purge
)

// Config is what a Recorder needs.
type Config struct {
	Store   nodegate.UsageWriter
	Every   time.Duration // between flushes; 0 is 5 seconds
	Log     *slog.Logger  // nil is slog's default
	MaxRows int           // that wait in memory; 0 is 200,000
}

// Event is one request, or several things at once that are no requests.
type Event struct {
	Requests                   int64 // that it stands for; 0 is one
	Network, Method, Outcome   string
	Credits, BytesIn, BytesOut int64
	Took                       time.Duration // of one that was executed; 0 counts no time
}

// Recorder counts events and brings them to the store.
type Recorder struct {
	store nodegate.UsageWriter
	log   *slog.Logger
	cells *cells
	rows  *rows

	minute   atomic.Int64 // now, to the second: reading the clock would take a third of Record's time
	server   string
	flushing chan struct{}        // holds one element while nobody flushes
	pending  *nodegate.UsageBatch // offered, and not known to be taken; the flusher's
	number   int64                // of the last batch; the flusher's
	failing  bool                 // the last batch was not taken; the flusher's
	offered  atomic.Int64         // rows of pending
	since    atomic.Int64         // when the store first refused pending, in Unix nanoseconds; 0 if it didn't

	stop    context.CancelFunc
	running sync.WaitGroup
}

// New starts a recorder that flushes and purges in the background. Close ends it.
func New(c Config) *Recorder {
	if c.Every <= 0 {
		c.Every = defaultEvery
	}
	if c.MaxRows <= 0 {
		c.MaxRows = defaultMaxRows
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Recorder{
		store: c.Store, log: c.Log, server: rand.Text(), stop: stop,
		rows: newRows(c.MaxRows, c.Log), flushing: make(chan struct{}, 1),
	}
	r.cells = newCells(r.rows, c.MaxRows)
	r.flushing <- struct{}{}
	r.readClock()
	r.running.Go(func() { every(ctx, time.Second, nil, r.readClock) })
	r.running.Go(func() { every(ctx, c.Every, r.cells.full, func() { _ = r.Flush(ctx) }) }) // a failure is logged there
	r.running.Go(func() { every(ctx, purgeEvery, nil, func() { r.purge(ctx) }) })
	return r
}

// Record counts an event of a grant.
func (r *Recorder) Record(g *nodegate.Grant, e Event) {
	r.cells.add(&nodegate.UsageKey{
		AccountID: g.AccountID, KeyID: g.KeyID, Network: e.Network, Method: e.Method, Outcome: e.Outcome,
	}, &e, r.minute.Load())
}

// Moved counts bytes that went through the storage gateway.
func (r *Recorder) Moved(accountID string, bytes int64) {
	r.rows.addFigures(nodegate.Figures{AccountID: accountID, Month: monthOf(time.Now()), Moved: bytes})
}

// Stored counts bytes that are kept for an account from now on, or, when negative,
// no longer.
func (r *Recorder) Stored(accountID string, delta int64) {
	r.rows.addFigures(nodegate.Figures{AccountID: accountID, Month: monthOf(time.Now()), Stored: delta})
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 }

func monthOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// every calls do at an interval, and whenever it is woken, until ctx ends.
func every(ctx context.Context, interval time.Duration, wake <-chan struct{}, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
		do()
	}
}

func (r *Recorder) readClock() { r.minute.Store(minuteOf(time.Now())) }

// purge deletes what is kept no longer, a part at a time so that nobody waits.
func (r *Recorder) purge(ctx context.Context) {
	for range maxPurges {
		part, cancel := context.WithTimeout(ctx, storeTimeout)
		gone, err := r.store.PurgeUsage(part, time.Now())
		cancel()
		if err != nil && ctx.Err() == nil {
			r.log.Warn("can't delete old usage: retrying in an hour", "err", err)
		}
		if err != nil || gone == 0 {
			return
		}
	}
}

// Close ends the background work and flushes what is left. Nothing may be recorded
// after it. It can be called again when the store did not answer.
func (r *Recorder) Close(ctx context.Context) error {
	r.stop()
	r.running.Wait()
	return r.Flush(ctx)
}
