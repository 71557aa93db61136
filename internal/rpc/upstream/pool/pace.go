package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// How often nodes are looked at by itself: twice in the time of a block, within bounds.
const (
	usualPoll    = time.Second // while the chain's pace is not known
	shortestPoll = 200 * time.Millisecond
	longestPoll  = 2 * time.Second
)

// How the time of a block is measured: over so many blocks and so long at least, and
// not over a time in which the chain stood still.
const (
	paceBlocks = 4
	paceShort  = 5 * time.Second
	paceLong   = 2 * time.Minute
)

// pace is how often the nodes of a network are looked at: as set, or as the blocks come. The
// time of a block is taken from our clock, because timestamps are in whole seconds.
type pace struct {
	set   time.Duration // 0: as the blocks come
	block atomic.Int64  // the time of one, in nanoseconds; 0: not known

	from uint64 // the block at which the measurement began
	at   time.Time
}

// saw takes the chain's head at a time. One goroutine calls it.
func (p *pace) saw(head uint64, now time.Time) {
	passed := now.Sub(p.at)
	switch {
	case p.from == 0 || head < p.from:
	case head-p.from >= paceBlocks && passed >= paceShort:
		p.block.Store(int64(passed) / int64(head-p.from))
	case passed > paceLong:
		p.block.Store(0)
	default:
		return
	}
	p.from, p.at = head, now
}

// poll is the pause between two looks at a node that is well.
func (p *pace) poll() time.Duration {
	if p.set > 0 {
		return p.set
	}
	block := time.Duration(p.block.Load())
	if block == 0 {
		return usualPoll
	}
	return min(max(block/2, shortestPoll), longestPoll)
}

// again is the pause after a look that failed. It doesn't get shorter with the chain's
// blocks: a moment's outage would be five failures in a row.
func (p *pace) again() time.Duration {
	if p.set > 0 {
		return p.set
	}
	return max(p.poll(), usualPoll)
}

// trust is how long a head over the WebSocket saves asking for it: until two more were due.
func (p *pace) trust() time.Duration {
	return max(linkTrust, min(2*time.Duration(p.block.Load()), silentLink))
}

// sendPause is the shortest time between two looks at a node because of transactions.
const sendPause = 25 * time.Millisecond

// afterSending makes one look at a node of many that are wanted at once.
type afterSending struct {
	mu     sync.Mutex
	looked time.Time
}

// lookAfterSending looks at the head of a node that took a transaction: it may be in a
// block already. Transactions that come while one waits for its look share it.
func (a *asker) lookAfterSending(ctx context.Context, n *node) {
	if !n.sending.mu.TryLock() {
		return
	}
	wait := sendPause - time.Since(n.sending.looked)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	n.sending.looked = time.Now()
	n.sending.mu.Unlock() // who sends from here on gets another look
	if ctx.Err() == nil {
		a.lookHead(ctx, n)
	}
}
