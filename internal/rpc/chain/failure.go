package chain

import (
	"errors"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// lock is a mutex whose waiters can be sent away. A disk that fails may never let go of
// whoever writes to it; those who wait behind must not wait with it.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

var errEnded = errors.New("the network has stopped")

// acquire takes the lock, or returns an error once ended is closed.
func (l lock) acquire(ended <-chan struct{}) error {
	select {
	case l <- struct{}{}:
		return nil
	default:
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ended:
		return errEnded
	}
}

func (l lock) release() { <-l }

// fail stops the network for good: the disk took something no more, and nobody knows
// what it holds. The first reason stays.
func (p *producer) fail(err error) {
	if p.broken.CompareAndSwap(nil, &err) {
		p.log.Error("the chain's disk failed: this network has stopped, the others continue; check the disk, then restart", "err", err)
		p.end()
	}
}

// failure is what the disk has failed with, or nil.
func (p *producer) failure() error {
	if err := p.broken.Load(); err != nil {
		return &nodegate.Error{Op: "chain.flush", Code: nodegate.NoNode,
			Msg: "this network has stopped because its disk failed: the operator must check the disk and restart the server", Err: *err}
	}
	return nil
}

// contain turns Pebble's panic about damage that a read came upon into a stopped network.
func (n *Node) contain(err *error) {
	p := recover()
	if p == nil {
		return
	}
	damage, ok := p.(error)
	if !ok || !strings.HasPrefix(damage.Error(), "fatal: ") {
		panic(p)
	}
	n.engine.producer.fail(damage)
	*err = n.engine.producer.failure()
}

// hasEnded tells whether fail was called.
func (p *producer) hasEnded() bool {
	return p.life.Err() != nil
}

// closeTime is how long the end of a network whose disk failed is waited for. What it
// waits for itself may never come.
const closeTime = 2 * time.Second

// close ends the production of blocks.
func (p *producer) close() {
	p.cancel()
	p.bounded(p.done.Wait)
}

// bounded runs something to its end, or for a moment where the disk has failed.
func (p *producer) bounded(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
		return
	case <-p.ended:
	}
	select {
	case <-done:
	case <-time.After(closeTime):
	}
}
