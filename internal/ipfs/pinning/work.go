package pinning

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nodegate/nodegate"
)

// lookEvery is how often the store is asked for requests that nobody works on: those of
// servers that were killed, and those that rest.
const lookEvery = 5 * time.Second

// Run works on requests until the context ends, and then waits for those in progress,
// which go on at the next start.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		s.assign(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-s.wake:
		}
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.ended.Wait()
}

// look has the store asked soon.
func (s *Service) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// page is how many accounts are looked at in one query.
const page = 64

// assign gives a slot to each account in turn that has requests waiting, until there are
// no slots or no requests.
func (s *Service) assign(ctx context.Context) {
	for after := ""; s.slots.Used() < workers; {
		accounts, err := s.cfg.Store.WaitingPinAccounts(ctx, after, time.Now(), page)
		if err != nil {
			s.complain(ctx, "can't look for pin requests", err)
			return
		}
		for _, account := range accounts {
			after = account
			s.assignTo(ctx, account)
		}
		if len(accounts) < page {
			return
		}
	}
}

func (s *Service) assignTo(ctx context.Context, account string) {
	if !s.slots.Try(account) {
		return
	}
	r, err := s.cfg.Store.ClaimPinRequest(ctx, account, time.Now(), time.Now().Add(s.cfg.Lease))
	if err != nil {
		s.slots.Release(account)
		if !errors.Is(err, nodegate.NotFound) {
			s.complain(ctx, "can't claim a pin request", err)
		}
		return
	}
	s.begin(r)
}

// begin works on a request that is claimed, in a slot of its account. What it returns is
// closed at the end.
func (s *Service) begin(r *nodegate.PinRequest) <-chan struct{} {
	done := make(chan struct{})
	ctx, cancel := context.WithTimeoutCause(s.life, maxTime, errTooLong)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		cancel()
		s.slots.Release(r.AccountID)
		close(done)
		return done
	}
	s.running[request{r.AccountID, r.ID}] = cancel
	s.ended.Go(func() {
		s.work(ctx, r)
		s.cancel(request{r.AccountID, r.ID})
		close(done)
		s.slots.Release(r.AccountID)
		s.look()
	})
	return done
}

var errTooLong = &nodegate.Error{Op: "pinning", Code: nodegate.ExecutionFailed, Msg: "the content could not be fetched within an hour: request the pin again to continue"}

// cancel stops the work on a request, if there is any here.
func (s *Service) cancel(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[r]; cancel != nil {
		cancel()
		delete(s.running, r)
	}
}

// work pins what a request asks for and writes down what came of it.
func (s *Service) work(ctx context.Context, r *nodegate.PinRequest) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s.ended.Go(func() { s.renew(ctx, end, r) })
	err := s.pin(ctx, r)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errTooLong) {
		err = errTooLong
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if err == nil && r.Replaces != "" {
		err = s.replaced(ending, r)
	}
	s.finish(ending, r, err)
}

// endTime bounds the writing of a result.
const endTime = 20 * time.Second

// pin is the pinning itself. A panic below it fails this request only.
func (s *Service) pin(ctx context.Context, r *nodegate.PinRequest) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while pinning: %v\n%s", p, debug.Stack())
		}
	}()
	return s.cfg.Pin(ctx, r.AccountID, r.CID, r.Name)
}

// renew keeps a claim for as long as the work takes. When the request is gone, so is the
// reason for the work.
func (s *Service) renew(ctx context.Context, end context.CancelFunc, r *nodegate.PinRequest) {
	tick := time.NewTicker(s.cfg.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		there, err := s.cfg.Store.RenewPinRequest(ctx, r.AccountID, r.ID, time.Now().Add(s.cfg.Lease))
		if err == nil && !there {
			end()
		}
	}
}

// replaced ends the request whose place a new one takes, unless the new one was
// deleted meanwhile.
func (s *Service) replaced(ctx context.Context, r *nodegate.PinRequest) error {
	there, err := s.cfg.Store.RenewPinRequest(ctx, r.AccountID, r.ID, time.Now().Add(s.cfg.Lease))
	if err != nil || !there {
		return err
	}
	if err := s.Remove(ctx, r.AccountID, r.Replaces); err != nil && !errors.Is(err, nodegate.NotFound) {
		return err
	}
	return nil
}

// finish writes the result of a request.
func (s *Service) finish(ctx context.Context, r *nodegate.PinRequest, err error) {
	r.Details, r.Leased = "", time.Time{}
	switch e := nodegate.AsError(err); {
	case err == nil:
		r.Status = nodegate.PinPinned
	case s.life.Err() != nil: // the server stops
		r.Status = nodegate.PinQueued
	case later(e.Code):
		r.Status, r.Details, r.Leased = nodegate.PinQueued, e.Msg, time.Now().Add(s.cfg.Retry)
	default:
		r.Status, r.Details = nodegate.PinFailed, s.reason(e, err)
	}
	pinned := r.Status == nodegate.PinPinned
	switch ended := s.cfg.Store.EndPinRequest(ctx, r); {
	case ended == nil:
	case !errors.Is(ended, nodegate.NotFound):
		s.complain(ctx, "can't write the status of a pin request, which is tried again", ended)
	case pinned: // it was deleted while its content was being pinned
		if err := s.release(ctx, r.AccountID, r.CID); err != nil {
			s.complain(ctx, "can't take back a pin whose request was deleted", err)
		}
	}
}

// later tells whether a failure says nothing about the request itself.
func later(c nodegate.Code) bool {
	switch c {
	case nodegate.Busy, nodegate.AccountBusy, nodegate.NoNode, nodegate.RateLimited:
		return true
	}
	return false
}

// reason is what the client gets to know of a failure.
func (s *Service) reason(e *nodegate.Error, err error) string {
	if e.Code != nodegate.Internal {
		return e.Msg
	}
	s.cfg.Log.Error("a pin request failed", "err", err)
	return "internal error: try again, and tell the operator if it happens again"
}

func (s *Service) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.cfg.Log.Warn(what, "err", err)
	}
}
