package auth

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// lookUps are the questions to the store that are in progress. Whoever brings the
// same key meanwhile waits for the same answer: the first burst of requests with a
// new key is one question, not a guess for each.
type lookUps struct {
	mu       sync.Mutex
	underWay map[nodegate.Digest]*question
	refusal  *question // the answer to every guess too many
}

func newLookUps() lookUps {
	return lookUps{underWay: map[nodegate.Digest]*question{}, refusal: answer(nil, errKeyInvalid)}
}

type question struct {
	done chan struct{} // closed when the rest is there
	v    *version
	err  error
}

// answer is a question that needs no asking.
func answer(v *version, err error) *question {
	q := &question{done: make(chan struct{}), v: v, err: err}
	close(q.done)
	return q
}

// lookUp asks the store for a key that is not in memory, at most once for each
// key, and only within the address's allowance: guessing costs the guesser.
func (d *Authenticator) lookUp(ctx context.Context, key string, digest nodegate.Digest, from netip.Addr) (*version, error) {
	if !credential.WellFormed(key) || d.unknown.has(&digest) {
		return nil, errKeyInvalid
	}
	q, first := d.question(digest, from)
	if first {
		// Others wait for it too, so it goes on when this client leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		q.v, q.err = d.ask(ctx, digest)
		d.lookUps.answered(digest, q)
	}
	select {
	case <-q.done:
		return q.v, q.err
	case <-ctx.Done():
		return nil, cantSay(ctx.Err())
	}
}

// question returns the one in progress for a digest, or a new one that the caller is
// the first to ask. What came while the caller waited for the lock is known already.
func (d *Authenticator) question(digest nodegate.Digest, from netip.Addr) (q *question, first bool) {
	l := &d.lookUps
	l.mu.Lock()
	defer l.mu.Unlock()
	if q = l.underWay[digest]; q != nil {
		return q, false
	}
	if v := d.find(digest); v != nil {
		return answer(v, nil), false
	}
	if d.unknown.has(&digest) || !d.guesses.allow(from) {
		return l.refusal, false
	}
	q = &question{done: make(chan struct{})}
	l.underWay[digest] = q
	return q, true
}

func (l *lookUps) answered(digest nodegate.Digest, q *question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.underWay, digest)
	close(q.done)
}

// ask reads a key from the store and takes it over.
func (d *Authenticator) ask(ctx context.Context, digest nodegate.Digest) (*version, error) {
	d.asked.Add(1)
	k, err := d.cfg.Store.KeyByDigest(ctx, digest)
	switch {
	case errors.Is(err, nodegate.NotFound), err == nil && !k.Live():
		d.unknown.add(&digest)
		return nil, errKeyInvalid
	case err != nil:
		return nil, cantSay(err)
	}
	if err := d.reload(ctx, k.AccountID, k.ID); err != nil {
		return nil, cantSay(err)
	}
	if v := d.find(digest); v != nil {
		return v, nil
	}
	// Its overlap has run out, and a value never comes back.
	d.unknown.add(&digest)
	return nil, errKeyInvalid
}

func cantSay(cause error) error {
	return &nodegate.Error{Op: "auth", Code: nodegate.Busy, Msg: errStale.Msg, RetryAfter: time.Second, Err: cause}
}
