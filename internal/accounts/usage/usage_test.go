package usage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// memory is a UsageWriter that keeps batches as they come, each number once. It can
// be down, or take a batch and lose the answer.
type memory struct {
	mu      sync.Mutex
	down    bool
	deaf    bool
	taken   map[string]nodegate.UsageBatch
	offered map[string]nodegate.UsageBatch
	purged  int
	t       *testing.T
}

func newMemory(t *testing.T) *memory {
	return &memory{t: t, taken: map[string]nodegate.UsageBatch{}, offered: map[string]nodegate.UsageBatch{}}
}

func (s *memory) set(down, deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.deaf = down, deaf
}

func (s *memory) AddUsage(_ context.Context, b *nodegate.UsageBatch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprint(b.Server, b.Number)
	if before, again := s.offered[id]; again && !reflect.DeepEqual(before, *b) {
		s.t.Errorf("batch %d is offered again with other rows", b.Number)
	}
	s.offered[id] = nodegate.UsageBatch{Server: b.Server, Number: b.Number, Rows: slices.Clone(b.Rows), Figures: slices.Clone(b.Figures)}
	if s.down {
		return &nodegate.Error{Op: "test", Code: nodegate.Busy}
	}
	if _, known := s.taken[id]; !known {
		s.taken[id] = *b
	}
	if s.deaf {
		return &nodegate.Error{Op: "test", Code: nodegate.Busy}
	}
	return nil
}

func (s *memory) Usage(context.Context, nodegate.UsageQuery) ([]nodegate.Usage, error) {
	return nil, nil
}
func (s *memory) SumUsage(context.Context, nodegate.UsageSums) ([]nodegate.UsageSum, error) {
	return nil, nil
}
func (s *memory) Spent(context.Context, time.Time) (*nodegate.Spent, error) { return nil, nil }
func (s *memory) Figures(context.Context, string, time.Time) (nodegate.Figures, error) {
	return nodegate.Figures{}, nil
}

func (s *memory) PurgeUsage(context.Context, time.Time) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purged++
	return int64(s.purged % 3), nil
}

// rows lists all rows that were taken.
func (s *memory) rows() []nodegate.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []nodegate.Usage
	for _, b := range s.taken {
		list = append(list, b.Rows...)
	}
	return list
}

func (s *memory) total() (sum nodegate.Usage) {
	for _, u := range s.rows() {
		sum.Requests += u.Requests
		sum.Credits += u.Credits
		sum.BytesIn += u.BytesIn
		sum.BytesOut += u.BytesOut
		for i, n := range u.Latency {
			sum.Latency[i] += n
		}
	}
	return sum
}

func grant(account, key string) *nodegate.Grant {
	g, _ := nodegate.NewGrant(account, key, new(atomic.Pointer[nodegate.Policy]))
	return g
}

func event(method string) Event {
	return Event{Network: "mainnet", Method: method, Outcome: "ok", Credits: 80, BytesIn: 100, BytesOut: 1000, Took: time.Millisecond}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRows: events of one key and minute are one row, and the next minute begins another.
func TestRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		r := New(Config{Store: store})
		begin := time.Now()
		for range 3 {
			r.Record(grant("a", "k"), event("eth_call"))
		}
		r.Record(grant("a", "k"), event("eth_getLogs"))
		time.Sleep(59*time.Second + 500*time.Millisecond)
		r.Record(grant("a", "k"), event("eth_call"))
		time.Sleep(time.Second)
		r.Record(grant("a", "k"), event("eth_call"))
		must(t, r.Close(t.Context()))

		got := map[string]nodegate.Usage{}
		for _, u := range store.rows() {
			id := fmt.Sprint(u.Method, " ", u.At.Sub(begin))
			sum := got[id]
			sum.Requests += u.Requests
			sum.Credits += u.Credits
			sum.Latency[nodegate.Bucket(time.Millisecond)] += u.Latency[nodegate.Bucket(time.Millisecond)]
			got[id] = sum
		}
		for id, n := range map[string]int64{"eth_call 0s": 4, "eth_getLogs 0s": 1, "eth_call 1m0s": 1} {
			if u := got[id]; u.Requests != n || u.Credits != 80*n || u.Latency[nodegate.Bucket(time.Millisecond)] != n {
				t.Errorf("%s: %+v, want %d requests", id, u, n)
			}
		}
		if len(got) != 3 {
			t.Errorf("%d rows, want 3: %v", len(got), got)
		}
	})
}

// TestStoreAway: nothing is lost or doubled while the store is down, or takes
// batches whose answers are lost.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		var log bytes.Buffer
		r := New(Config{Store: store, Log: slog.New(slog.NewTextHandler(&log, nil))})
		keys := []*nodegate.Grant{grant("a", "1"), grant("a", "2"), grant("b", "3")}
		for i := range 600 {
			store.set(i/100 == 1, i/100 == 3)
			r.Record(keys[i%3], event("eth_call"))
			r.Moved("a", 10)
			r.Stored("b", int64(i%3)-1)
			time.Sleep(time.Second)
		}
		store.set(false, false)
		must(t, r.Close(t.Context()))
		if sum := store.total(); sum.Requests != 600 || sum.Credits != 48_000 || sum.BytesIn != 60_000 || sum.BytesOut != 600_000 {
			t.Errorf("got %+v", sum)
		}
		var moved, stored int64
		for _, b := range store.taken {
			for _, f := range b.Figures {
				moved, stored = moved+f.Moved, stored+f.Stored
				if f.Month.Day() != 1 {
					t.Errorf("month %v", f.Month)
				}
			}
		}
		if moved != 6000 || stored != 0 {
			t.Errorf("%d moved and %d stored, want 6000 and 0", moved, stored)
		}
		if n := strings.Count(log.String(), "can't save usage"); n != 2 {
			t.Errorf("%d warnings, want one for each time:\n%s", n, log.String())
		}
	})
}

// TestBounded: beyond MaxRows detail goes, totals stay.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		store.set(true, false)
		var log bytes.Buffer
		r := New(Config{Store: store, MaxRows: 100, Every: 7 * time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))})
		const keys, minutes = 20, 3 * 24 * 60
		time.Sleep(30 * time.Second) // the recorder knows the minute to the second
		for range minutes {
			for k := range keys {
				r.Record(grant("a", fmt.Sprint(k)), event("eth_call"))
			}
			time.Sleep(time.Minute)
			r.rows.mu.Lock()
			if r.rows.count > 100+keys {
				t.Errorf("%d rows wait", r.rows.count)
			}
			r.rows.mu.Unlock()
		}
		store.set(false, false)
		must(t, r.Close(t.Context()))
		days := map[time.Time]int64{}
		for _, u := range store.rows() {
			days[nodegate.ByDay.Start(u.At)] += u.Requests
		}
		for day, n := range days {
			if n != keys*24*60 {
				t.Errorf("%v: %d requests, want %d", day, n, keys*24*60)
			}
		}
		if len(days) != 3 || strings.Count(log.String(), "merging") != 1 {
			t.Errorf("%d days, and the log is %s", len(days), log.String())
		}
	})
}

// TestMergeOldest: the newest minutes keep their detail, the oldest are at their hour.
func TestMergeOldest(t *testing.T) {
	r := newRows(100, slog.New(slog.DiscardHandler))
	begin := time.Date(2026, 11, 15, 8, 0, 0, 0, time.UTC)
	for i := range 101 {
		r.add(&nodegate.Usage{UsageKey: nodegate.UsageKey{KeyID: "k"}, At: begin.Add(time.Duration(i) * time.Minute), Requests: 1})
	}
	first, last := minuteOf(begin), minuteOf(begin.Add(100*time.Minute))
	if r.count != 75 || r.minutes[first][nodegate.UsageKey{KeyID: "k"}].Requests != 27 || len(r.minutes[last]) != 1 {
		t.Errorf("%d rows, first %+v", r.count, r.minutes[first])
	}
}

// TestManyWriters: all events of many goroutines arrive, in bounded batches.
func TestManyWriters(t *testing.T) {
	store := newMemory(t)
	r := New(Config{Store: store, Every: time.Millisecond})
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 5000 {
				r.Record(grant(fmt.Sprint(i%100), fmt.Sprint(i%2000)), event(fmt.Sprint("m", w)))
			}
		})
	}
	writers.Wait()
	must(t, r.Flush(t.Context()))
	if n := store.total().Requests; n != 40_000 {
		t.Errorf("%d requests after a flush, want 40000", n)
	}
	must(t, r.Close(t.Context()))
	for id, b := range store.taken {
		if len(b.Rows) > maxBatch {
			t.Errorf("batch %s has %d rows", id, len(b.Rows))
		}
	}
}

// TestIdleCells: what is not used any more does not stay in memory.
func TestIdleCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Store: newMemory(t), MaxRows: 1000})
		for i := range 900 {
			r.Record(grant("a", fmt.Sprint(i)), event("eth_call"))
		}
		time.Sleep(time.Minute)
		if n := r.cells.count.Load(); n != 900 {
			t.Errorf("%d cells after a minute, want 900", n)
		}
		time.Sleep(3 * time.Minute)
		if n := r.cells.count.Load(); n != 0 {
			t.Errorf("%d cells, want 0", n)
		}
		must(t, r.Close(t.Context()))
	})
}

// TestTooManyCells: they are flushed and dropped early.
func TestTooManyCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		r := New(Config{Store: store, MaxRows: 100, Every: time.Hour, Log: slog.New(slog.DiscardHandler)})
		for i := range 1000 {
			r.Record(grant("a", fmt.Sprint(i)), event("eth_call"))
		}
		synctest.Wait()
		if n := store.total().Requests; n == 0 {
			t.Error("no early flush")
		}
		must(t, r.Flush(t.Context()))
		must(t, r.Flush(t.Context()))
		if n := r.cells.count.Load(); n > 100 {
			t.Errorf("%d cells stay", n)
		}
		must(t, r.Close(t.Context()))
		if n := store.total().Requests; n != 1000 {
			t.Errorf("%d requests, want 1000", n)
		}
	})
}

func TestCloseAgain(t *testing.T) {
	store := newMemory(t)
	r := New(Config{Store: store, Log: slog.New(slog.DiscardHandler)})
	r.Record(grant("a", "k"), event("eth_call"))
	store.set(true, false)
	if err := r.Close(t.Context()); !errors.Is(err, nodegate.Busy) {
		t.Errorf("got %v, want the store's Busy", err)
	}
	store.set(false, false)
	must(t, r.Close(t.Context()))
	if n := store.total().Requests; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		r := New(Config{Store: store})
		time.Sleep(2*time.Hour + time.Second)
		store.mu.Lock()
		if store.purged != 6 { // three parts an hour, the last of which finds nothing
			t.Errorf("%d parts purged, want 6", store.purged)
		}
		store.mu.Unlock()
		must(t, r.Close(t.Context()))
	})
}

func TestRecordAllocatesNothing(t *testing.T) {
	r := New(Config{Store: newMemory(t), Every: time.Hour})
	g, e := grant("a", "k"), event("eth_call")
	if n := testing.AllocsPerRun(1000, func() { r.Record(g, e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	must(t, r.Close(t.Context()))
}

// discard takes everything and keeps nothing.
type discard struct{ nodegate.UsageWriter }

func (discard) AddUsage(context.Context, *nodegate.UsageBatch) error { return nil }

func BenchmarkRecord(b *testing.B) {
	r := New(Config{Store: discard{}})
	grants := make([]*nodegate.Grant, 10_000)
	for i := range grants {
		grants[i] = grant(fmt.Sprintf("account-%020d", i), fmt.Sprintf("key-%020d", i))
	}
	e := event("eth_getBlockByNumber")
	for _, g := range grants {
		r.Record(g, e)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r.Record(grants[i*7919%len(grants)], e)
		i++
	}
	b.StopTimer()
	if err := r.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
