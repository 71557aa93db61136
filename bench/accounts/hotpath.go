package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/auth"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// plan has limits that are looked at and never reached.
var plan = nodegate.Plan{Name: "bench", CreditsPerSecond: 1_000_000_000, Burst: 1_000_000_000, CreditsPerDay: 1 << 50}

// rooms are what a request passes.
type rooms struct {
	auth    *auth.Authenticator
	limiter *ratelimit.Limiter
	usage   *usage.Recorder
	keys    []string
}

// hotPath measures one request's way through the three rooms, and their memory.
func hotPath(ctx context.Context, dir string, o options) error {
	v, err := credential.New([]byte("the pepper of a benchmark"))
	if err != nil {
		return err
	}
	store, err := sqlstore.OpenSQLite(ctx, filepath.Join(dir, "bench.db"), v.AuditKey(), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer store.Close()
	crowd := newCrowd(store, v, o)
	before := heap()
	r, err := open(ctx, crowd, v)
	if err != nil {
		return err
	}
	r.keys = crowd.keys[:o.accounts] // one of each account
	for _, key := range r.keys {
		if err := r.pass(ctx, key); err != nil {
			return err
		}
	}
	after := heap()
	fmt.Printf("%d keys of %d accounts, all active, on one core\n", o.keys, o.accounts)
	ours, allocs := r.measure(ctx, o.measure)
	peer, err := readEach(ctx, crowd, v, o.measure)
	if err != nil {
		return err
	}
	goal("key check + admit + record", ours.String(), "2µs", ours <= 2*time.Microsecond)
	goal("allocations", fmt.Sprintf("%.3f", allocs), "0", allocs < 0.5)
	goal("memory for them", fmt.Sprintf("%d MB", (after-before)>>20), "150 MB", (after-before)>>20 <= 150)
	fmt.Printf("%-52s %14s   %.0fx ours\n", "the peer: the key read from SQLite each time", peer, float64(peer)/float64(ours))
	return r.close(ctx)
}

func open(ctx context.Context, c *crowd, v *credential.Vault) (*rooms, error) {
	log := slog.New(slog.DiscardHandler)
	d, err := auth.Open(ctx, auth.Config{
		Store: c, Vault: v, Plans: map[string]nodegate.Plan{plan.Name: plan}, DefaultPlan: plan.Name,
		Follow: time.Second / 2, Guesses: 100, Log: log,
	})
	if err != nil {
		return nil, err
	}
	return &rooms{auth: d, limiter: ratelimit.New(ratelimit.Config{Log: log}), usage: usage.New(usage.Config{Store: c, Log: log}), keys: c.keys}, nil
}

func (r *rooms) close(ctx context.Context) error {
	r.auth.Close()
	if err := r.usage.Close(ctx); err != nil {
		return err
	}
	return r.limiter.Close(ctx)
}

// pass is what the edge does around a call.
func (r *rooms) pass(ctx context.Context, key string) error {
	g, err := r.auth.Authenticate(ctx, nodegate.Credentials{Key: key})
	if err != nil {
		return err
	}
	if err := r.limiter.Admit(ctx, g, 80); err != nil {
		return err
	}
	r.usage.Record(g, usage.Event{Network: "devnet", Method: "eth_call", Outcome: "ok", Credits: 80, BytesIn: 200, BytesOut: 100, Took: time.Millisecond})
	return nil
}

// measure walks the accounts in an order that no cache likes.
func (r *rooms) measure(ctx context.Context, d time.Duration) (time.Duration, float64) {
	const step = 7919 // prime
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	at, count := 0, 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for time.Since(start) < d {
		for range 1000 {
			at = (at + step) % len(r.keys)
			if r.pass(ctx, r.keys[at]) != nil {
				panic("a known key was refused")
			}
		}
		count += 1000
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return took / time.Duration(count), float64(after.Mallocs-before.Mallocs) / float64(count)
}

// readEach is the peer: a look-up in the database for each request.
func readEach(ctx context.Context, c *crowd, v *credential.Vault, d time.Duration) (time.Duration, error) {
	key, err := c.stored(ctx)
	if err != nil {
		return 0, err
	}
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Store.KeyByDigest(ctx, v.KeyDigest(key)); err != nil {
				b.Fatal(err)
			}
		}
	})
	return time.Duration(result.NsPerOp()), nil
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
