package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// TestShares: an account has so many requests at once, whichever keys they come with,
// and so many heavy ones; others are not touched by that.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShares(Config{Requests: 3, Heavy: 1})
		var ends []func()
		enter := func(owner string, heavy bool) error {
			_, p, err := s.enter(t.Context(), owner, heavy)
			if err == nil {
				ends = append(ends, p.leave)
			}
			return err
		}
		for i, heavy := range []bool{true, false} {
			if err := enter("a", heavy); err != nil {
				t.Fatal(i, err)
			}
		}
		err := enter("a", true)
		if e := nodegate.AsError(err); e.Code != nodegate.AccountBusy || e.RetryAfter == 0 || !strings.Contains(e.Msg, "storage.max_heavy") {
			t.Errorf("a second heavy request: %v", err)
		}
		if err := enter("a", false); err != nil {
			t.Errorf("the refused one has kept its place: %v", err)
		}
		err = enter("a", false)
		if e := nodegate.AsError(err); e.Code != nodegate.AccountBusy || !strings.Contains(e.Msg, "storage.max_requests") {
			t.Errorf("a fourth request: %v", err)
		}
		if err := enter("b", true); err != nil {
			t.Errorf("another account: %v", err)
		}
		for _, done := range ends {
			done()
		}
		if s.requests.Used() != 0 || s.heavy.Used() != 0 {
			t.Errorf("%d and %d places are taken", s.requests.Used(), s.heavy.Used())
		}
	})
}

// TestHeavyWaits: a short burst is served one after the other.
func TestHeavyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShares(Config{Heavy: 1})
		_, first, err := s.enter(t.Context(), "a", true)
		if err != nil {
			t.Fatal(err)
		}
		served := false
		go func() {
			_, p, err := s.enter(t.Context(), "a", true)
			if err != nil {
				t.Error(err)
				return
			}
			served = true
			p.leave()
		}()
		synctest.Wait()
		first.worked() // what is left of it waits for the disk
		synctest.Wait()
		if !served {
			t.Error("the second one was not served")
		}
		first.leave()
		if !s.heavy.Idle() || !s.requests.Idle() {
			t.Error("a place is given back twice, or not at all")
		}
	})
}

func TestAddressOwner(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "address 192.0.2.1", "::ffff:192.0.2.1": "address 192.0.2.1",
		"2001:db8::1": "address 2001:db8::", "2001:db8::ffff:1": "address 2001:db8::", "2001:db8:0:1::1": "address 2001:db8:0:1::",
	} {
		if got := addressOwner(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// blockedWriter stands for a client that does not read.
type blockedWriter struct{ during func() }

func (w blockedWriter) Write(b []byte) (int, error) { w.during(); return len(b), nil }

// TestCompressor: what it sends is a gzip of what it got, and nobody's turn is held
// while a client reads.
func TestCompressor(t *testing.T) {
	pool := fairshare.New(1, 1)
	var out bytes.Buffer
	z := &compressor{ctx: fairshare.With(t.Context(), pool, "a"), most: 10 << 20, left: 10 << 20}
	z.out = io.MultiWriter(&out, blockedWriter{func() {
		if pool.Used() != 0 {
			t.Error("a turn is held while the client reads")
		}
	}})
	z.gzip = gzip.NewWriter(&z.buffer)
	data := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.close(); err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
	z.left = 5
	if _, err := z.Write(data); nodegate.AsError(err).Code != nodegate.TooLarge {
		t.Errorf("beyond the bound: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pool.Try("b")
	z.left, z.ctx = 1<<20, fairshare.With(ctx, pool, "a")
	if _, err := z.Write(data); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has gone: %v", err)
	}
}

// TestListApart: such work waits for lists in progress, and counts for the account.
func TestListApart(t *testing.T) {
	s := newShares(Config{})
	ctx := fairshare.With(t.Context(), s.work, "a")
	_ = s.lists.Try("b")
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := s.listApart(short, "a", func(context.Context) error { t.Error("it ran beside a list"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside a list: %v", err)
	}
	s.lists.Release("b")
	failure := errors.New("failed")
	err := s.listApart(ctx, "a", func(ctx context.Context) error {
		if s.lists.Used() != 1 {
			t.Error("other lists run beside it")
		}
		return errors.Join(failure, fairshare.Do(ctx, func() { time.Sleep(100 * time.Millisecond) }))
	})
	if !errors.Is(err, failure) || s.lists.Used() != 0 || fairshare.Spent(ctx) < 100*time.Millisecond || s.spent.Spend("a", 0, allowance) == 0 {
		t.Errorf("%v, spent %v", err, fairshare.Spent(ctx))
	}
}
