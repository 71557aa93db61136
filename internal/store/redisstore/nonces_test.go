package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

var nonceBounds = NonceBounds{Life: 15, Most: 256}

// within is how long a caller waits for a nonce.
const within = 100 * time.Millisecond

// tryNonces sends and reads many times, and must be refused each time.
func tryNonces(t *testing.T, n *Nonces, times int) (took time.Duration) {
	t.Helper()
	begin := time.Now()
	for i := range times {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		sent := n.Sent(ctx, "net", "0xa", uint64(i))
		_, read := n.Nonces(ctx, "net", "0xa")
		cancel()
		if !errors.Is(sent, nodegate.Busy) || !errors.Is(read, nodegate.Busy) {
			t.Fatalf("a Redis that stands still answered: %v, %v", sent, read)
		}
	}
	return time.Since(begin)
}

// TestHungNonces: the first call loses a moment, the next ones nothing, and when Redis goes
// on it is used again.
func TestHungNonces(t *testing.T) {
	full.Slow(t)
	r := startRedis(t)
	n := r.open().Nonces(nonceBounds)
	if err := n.Sent(t.Context(), "net", "0xa", 7); err != nil {
		t.Fatal(err)
	}
	r.Pause()
	const times = 100
	if took := tryNonces(t, n, times); took > times*within/2 {
		t.Errorf("%d calls to a Redis that hangs took %v: each has waited for it", times, took)
	}
	r.Resume()
	soon(t, "Redis is used again", func() bool {
		list, err := n.Nonces(t.Context(), "net", "0xa")
		return err == nil && len(list) > 0
	})
}

// TestSilentNonces: a Redis that accepts connections and never says a word holds nobody up.
func TestSilentNonces(t *testing.T) {
	full.Slow(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s, err := Open(t.Context(), "redis://"+silent.Addr().String(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const times = 100
	if took := tryNonces(t, s.Nonces(nonceBounds), times); took > times*within/2 {
		t.Errorf("%d calls took %v", times, took)
	}
}

// TestGoneSender: a caller that goes away says nothing about Redis.
func TestGoneSender(t *testing.T) {
	n := startRedis(t).open().Nonces(nonceBounds)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = n.Sent(ctx, "net", "0xa", 1)
	if n.resting() {
		t.Error("Redis is left alone")
	}
}
