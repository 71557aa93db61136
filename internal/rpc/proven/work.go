package proven

import (
	"context"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// work is what was done for one call.
type work struct {
	mu     sync.Mutex
	node   string
	waited time.Duration
	asked  bool // a node
	shared bool // a call of somebody else
	proofs int  // that it took so far; of the goroutine that makes the call
}

// join notes that a call of somebody else was waited for.
func (w *work) join() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shared = true
}

// add notes a call to the nodes.
func (w *work) add(t *nodegate.Trace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited += t.Waited
	if t.Node != "" {
		w.node, w.asked = t.Node, true
	}
}

// includedProofs is how many proofs the price of a call includes: those of a plain read of a
// contract, its caller and the contracts behind it.
const includedProofs = 8

// pay pays for more proofs. Those beyond what the price of the call includes cost its account
// as much as if it asked for them itself, since the nodes do the same work.
func (w *work) pay(ctx context.Context, proofs int) error {
	paid := max(w.proofs, includedProofs)
	w.proofs += proofs
	if pay := nodegate.TraceFrom(ctx).Pay; pay != nil && w.proofs > paid {
		return pay(method.EthGetProof, w.proofs-paid)
	}
	return nil
}

// tell writes to the trace of a call that was proven. More nodes may vouch for its block than
// when its header was read.
func (n *Node) tell(ctx context.Context, w *work, h *header) {
	t := nodegate.TraceFrom(ctx)
	t.Node, t.Waited = w.node, t.Waited+w.waited
	t.Verified, t.Agreed = nodegate.LevelRoots, 1
	if n.cfg.Vouched != nil {
		t.Agreed, t.Checkpoint = n.cfg.Vouched(h.Number, h.Hash)
	}
	t.Cache, t.Reason = nodegate.CacheHit, ""
	switch {
	case w.asked:
		t.Cache, t.Reason = nodegate.CacheMiss, "not there"
	case w.shared:
		t.Cache = nodegate.CacheShared
	}
}
