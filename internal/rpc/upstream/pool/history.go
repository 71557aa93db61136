package pool

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// history is what a node has shown not to keep, learned from its answers. State is
// dropped behind a moving window, so it is remembered as a depth below the head;
// blocks and transactions are cut off at some block, so that is remembered.
type history struct {
	depth  atomic.Uint64 // the smallest depth whose state it did not have; 0: none yet
	proofs atomic.Uint64 // the same of proofs, which many nodes give of fewer blocks
	blocks atomic.Uint64 // one more than the newest block it did not have; 0: none yet

	mu    sync.Mutex
	lacks map[string]bool   // methods it doesn't offer
	fails map[string]*fault // methods that fail on it and not on another node
	any   atomic.Bool       // one of these has something
}

// maxLacking bounds the methods that are remembered: their names come from clients. Those of the
// table always are, so that no client can use up the room for them.
const maxLacking = 256

// window is the depth that goes for a method.
func (h *history) window(info *method.Row) *atomic.Uint64 {
	if info.Answer == method.ProofAnswer {
		return &h.proofs
	}
	return &h.depth
}

// cut tells whether the node is known not to have what a method needs of a block.
func (h *history) cut(info *method.Row, block, head uint64) bool {
	switch info.Needs {
	case method.State:
		d := h.window(info).Load()
		return d != 0 && head > block && head-block >= d
	case method.History:
		return block < h.blocks.Load()
	}
	return false
}

// gone remembers that the node did not have it.
func (h *history) gone(info *method.Row, block, head uint64) {
	switch info.Needs {
	case method.State:
		if head <= block {
			return
		}
		if w := h.window(info); w.Load() == 0 || head-block < w.Load() {
			w.Store(head - block)
		}
	case method.History:
		h.goneBlock(block)
	}
}

// goneBlock remembers that the node did not have a block, or what is in it.
func (h *history) goneBlock(block uint64) {
	if block+1 > h.blocks.Load() {
		h.blocks.Store(block + 1)
	}
}

// there remembers that the node did have it, against what was learned before.
func (h *history) there(info *method.Row, block, head uint64) {
	switch info.Needs {
	case method.State:
		if w := h.window(info); w.Load() != 0 && head > block && head-block >= w.Load() {
			w.Store(head - block + 1)
		}
	case method.History:
		if block < h.blocks.Load() {
			h.blocks.Store(block)
		}
	}
}

// without remembers a method that the node doesn't offer.
func (h *history) without(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lacks == nil {
		h.lacks = map[string]bool{}
	}
	if len(h.lacks) < maxLacking || method.Of(name).Name != "" {
		h.lacks[name] = true
		h.any.Store(true)
	}
}

// fault is how often in a row a method failed, and until when it isn't tried.
type fault struct {
	count int
	until time.Time
}

// A method that fails on one node alone is left to the others for a while: the node may
// be well otherwise, and then isn't ejected.
const (
	faultsInARow = 2
	faultPause   = 30 * time.Second
)

// faulted counts a failure of a method that another node answered.
func (h *history) faulted(name string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fails == nil {
		h.fails = map[string]*fault{}
	}
	f := h.fails[name]
	if f == nil {
		if len(h.fails) >= maxLacking {
			return
		}
		f = &fault{}
		h.fails[name] = f
	}
	if f.count++; f.count >= faultsInARow {
		f.until = now.Add(faultPause)
	}
	h.any.Store(true)
}

// works forgets the failures of a method that was answered.
func (h *history) works(name string) {
	if !h.any.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.fails, name)
}

// offers tells whether nothing is known against the method.
func (h *history) offers(name string) bool {
	if !h.any.Load() {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.fails[name]
	return !h.lacks[name] && (f == nil || !time.Now().Before(f.until))
}

// forget starts over, after the node was away: it may have been changed.
func (h *history) forget() {
	h.depth.Store(0)
	h.proofs.Store(0)
	h.blocks.Store(0)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lacks, h.fails = nil, nil
	h.any.Store(false)
}
