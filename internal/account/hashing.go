package account

import (
	"context"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/vault"
)

// Hashing a password takes 19 MiB and tens of milliseconds on purpose, so few run
// at once, some wait, and the rest is sent away.
const (
	hashesAtOnce = 2
	hashQueue    = 32
)

type hashing struct {
	queue   chan struct{} // those that run or wait
	running chan struct{}
}

func newHashing() hashing {
	return hashing{queue: make(chan struct{}, hashesAtOnce+hashQueue), running: make(chan struct{}, hashesAtOnce)}
}

// do runs work when there is room.
//
// Returns RateLimited when too many wait already, Timeout when the caller can't
// wait any longer.
func (h *hashing) do(ctx context.Context, work func()) error {
	select {
	case h.queue <- struct{}{}:
		defer func() { <-h.queue }()
	default:
		return errQueue
	}
	select {
	case h.running <- struct{}{}:
		defer func() { <-h.running }()
	case <-ctx.Done():
		return nodegate.ErrTimeout("account.hash", ctx.Err())
	}
	work()
	return nil
}

func (s *Service) hash(ctx context.Context, password string) (hash string, err error) {
	if len(password) < minPassword || len(password) > maxPassword {
		return "", invalid("a password has 10 to 1024 characters")
	}
	err = s.hashing.do(ctx, func() { hash = vault.HashPassword(password) })
	return hash, err
}

func (s *Service) check(ctx context.Context, hash, password string) (ok bool, err error) {
	if len(password) > maxPassword {
		return false, nil
	}
	err = s.hashing.do(ctx, func() { ok = vault.CheckPassword(hash, password) })
	return ok, err
}

// attempts counts tries to sign in, by account and place. Nobody is locked out for
// long: that would be a way to lock out others.
type attempts struct {
	mu     sync.Mutex
	begin  time.Time
	counts map[string]int
}

// What one place may try in a minute. Many people may sit behind one address, so it gets
// more than one account; what it gets bounds the hashes that it can have computed.
const (
	triesOfAccount = 5
	triesOfAddress = 50
	signUpsOfPlace = 20
	attemptPlaces  = 10_000 // that are told apart within a minute; more share one count
)

// mayTry counts a try for an account from an address.
func (l *attempts) mayTry(email, from string) bool {
	return l.allow(from, triesOfAddress) && l.allow(email+"\x00"+from, triesOfAccount)
}

// maySignUp counts a new account from an address.
func (l *attempts) maySignUp(from string) bool {
	return l.allow(from, triesOfAddress) && l.allow("sign-up\x00"+from, signUpsOfPlace)
}

func (l *attempts) allow(place string, most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil || time.Since(l.begin) >= time.Minute {
		l.begin, l.counts = time.Now(), map[string]int{}
	}
	if _, known := l.counts[place]; !known && len(l.counts) >= attemptPlaces {
		place = ""
	}
	l.counts[place]++
	return l.counts[place] <= most
}
