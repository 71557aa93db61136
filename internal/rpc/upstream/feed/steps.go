package feed

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// step is a block that was added to the chain or taken off it.
type step struct {
	heads.Header
	at      uint64 // counts the steps of the feed
	removed bool
	lead    *heads.Node // that reported the block
}

// The bounds of asking nodes about each new block.
const (
	maxSteps   = 2048            // that wait
	stepTries  = 20              // to get what belongs to a block
	longestTry = 5 * time.Second // for one of them
)

// steps are those that wait until nodes were asked about them, for one kind of subscription.
type steps struct {
	feed  *Feed
	kind  string
	queue chan step
}

func newSteps(f *Feed, kind string) steps {
	return steps{feed: f, kind: kind, queue: make(chan step, maxSteps)}
}

// put queues a step, if anybody reads the kind. The feed is locked.
func (w steps) put(s step) {
	if !w.feed.wants(w.kind) {
		return
	}
	select {
	case w.queue <- s:
	default:
		w.feed.dropKinds(w.kind) // the nodes are too slow: this step is lost, so no later one may follow
	}
}

// each does the steps one after the other.
func (w steps) each(ctx context.Context, do func(context.Context, step)) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-w.queue:
			do(ctx, s)
		}
	}
}

// errDropped is returned for a block that the chain has dropped before anything of it was told.
var errDropped = errors.New("the block is not on the chain any more")

// persist asks the node that reported a block, and then any that has it, until one gives an
// answer that can be used.
func (w steps) persist(ctx context.Context, s step, ask func(ctx context.Context, from *heads.Node) error) (err error) {
	from := s.lead
	for range stepTries {
		if err = once(ctx, from, ask); err == nil {
			return nil
		}
		if w.feed.hasDropped(s.Hash) {
			return errDropped
		}
		from = nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followPause):
		}
	}
	return err
}

func once(ctx context.Context, from *heads.Node, ask func(ctx context.Context, from *heads.Node) error) error {
	ctx, cancel := context.WithTimeout(ctx, longestTry)
	defer cancel()
	return ask(ctx, from)
}
