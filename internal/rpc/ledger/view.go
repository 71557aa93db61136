package ledger

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// view says which stored blocks are on the chain: those up to last, as of a head. It is
// swapped whole and never changed. The store may be ahead of it, and of another branch, for
// the moment that the follower takes to show what it stored.
//
// It holds for every later head of the same fork, because a head that contradicts an
// earlier one comes with a new fork. What was final holds for later forks too, until
// final blocks are lost.
type view struct {
	last  uint64
	hash  [32]byte      // of the last
	final uint64        // at most last
	head  nodegate.Head // as of when it was true

	vouched []uint64 // the newest block of it that each node gave, the highest first
	linked  bool     // the copy has the checkpoint, so all of it is linked to that
	epoch   uint64   // later views with the same one have all of its blocks

	// resumed is a view from before the start, as of when it was noted. It holds until a node
	// reports a block.
	resumed bool
	seen    time.Time
}

// at is a view whose newest block is on the chain of a head.
func at(last uint64, hash [32]byte, head nodegate.Head) *view {
	return &view{last: last, hash: hash, final: min(last, head.Finalized), head: head}
}

// holds tells whether the stored block of a height is on the chain of a head that clients
// may know of. The head is of now, or if it is not known the view's.
func (v *view) holds(number uint64, head nodegate.Head, known bool) bool {
	if number > v.last || number > head.Number {
		return false
	}
	return number <= min(v.final, head.Finalized) || known && head.Fork == v.head.Fork
}

// behind tells whether the head has blocks that the view doesn't have.
func (v *view) behind(head nodegate.Head) bool {
	return v.last < head.Number || v.head.Fork != head.Fork
}

// maxWait is how long a lookup waits for a block that is being fetched. Asking a node takes
// as long, and costs a call.
const maxWait = 250 * time.Millisecond

// await waits until the view is not behind a head. It returns nil if that takes too long.
func (n *Node) await(ctx context.Context, head nodegate.Head) *view {
	if !n.near.Load() {
		return nil
	}
	select {
	case n.poke <- struct{}{}:
	default: // somebody else did
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	for {
		changed := n.changes()
		if v := n.view.Load(); v != nil && !v.behind(head) {
			return v
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-n.stopped:
			return nil
		}
		if !n.near.Load() {
			return nil
		}
	}
}

// changes is closed at the next change of the view, or when there is nothing to wait for.
func (n *Node) changes() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.change
}

// show makes a view the one that lookups go by. None, nil, ends an epoch.
func (n *Node) show(v *view) {
	if v == nil {
		n.epoch.Add(1)
	} else {
		v.epoch = n.epoch.Load()
	}
	n.view.Store(v)
	n.wake()
}

// setNear says whether waiting for the follower makes sense.
func (n *Node) setNear(near bool) {
	if n.near.Swap(near) != near {
		n.wake()
	}
}

func (n *Node) wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.change)
	n.change = make(chan struct{})
}
