package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// link is a node's WebSocket: opened again whenever it ends.
type link struct {
	mu    sync.Mutex
	sock  socket // nil while there is none
	heard atomic.Int64
	whole atomic.Bool // heads that came over it could be hashed
}

// fresh tells whether a head came over the link a short while ago.
func (l *link) fresh(within time.Duration) bool {
	return l != nil && time.Since(time.Unix(0, l.heard.Load())) < within
}

// current is the open socket, or nil.
func (l *link) current() socket {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sock
}

func (l *link) set(s socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sock = s
}

// linkPause is the longest pause before a socket is opened again.
const linkPause = 30 * time.Second

// tend keeps a node's socket open.
func (h *health) tend(ctx context.Context, n *node) {
	pause := usualPoll
	for ctx.Err() == nil {
		began := time.Now()
		err := h.hold(ctx, n)
		if time.Since(began) > linkPause {
			pause = usualPoll
		}
		if ctx.Err() == nil {
			h.log.Warn("node WebSocket closed", "node", n.cfg.Name, "retry_in", pause, "err", n.clean(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(client.Jitter(pause)):
		}
		pause = min(2*pause, linkPause)
	}
}

// hold opens the socket and takes heads from it until it ends.
func (h *health) hold(ctx context.Context, n *node) error {
	opening, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s, err := h.dial.socket(opening, n.cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	if n.cfg.URL == "" {
		n.link.set(s) // the only way to the node, so its check goes this way too
		defer n.link.set(nil)
	}
	raw, err := s.Call(opening, method.EthChainID, nil)
	if err != nil {
		return err
	}
	if chain, ok := hexjson.Quantity(raw); !ok || !h.sameChain(ctx, n, chain) {
		return errors.New("its WebSocket serves another chain than its HTTP URL")
	}
	sub, err := s.Subscribe(ctx, []byte(`["newHeads"]`))
	if err != nil {
		return err
	}
	n.link.set(s)
	defer n.link.set(nil)
	for raw := range sub.C {
		head, ok := heads.Read(raw)
		if !ok {
			return errNoBlock
		}
		if head, err = h.ask.vouchEvent(ctx, n, head); err != nil {
			n.noteFailure(err)
			continue
		}
		n.link.heard.Store(time.Now().UnixNano())
		if n.Checked.Load() {
			h.heads.Report(&n.Node, head)
		}
	}
	return sub.Err()
}

// sameChain waits until the node was checked, and compares.
func (h *health) sameChain(ctx context.Context, n *node, chain uint64) bool {
	for ctx.Err() == nil {
		changed := h.heads.Changes()
		if n.Checked.Load() {
			return h.identity.is(chain)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(usualPoll):
		}
	}
	return false
}

// overLink is the way to a node that has only a WebSocket address.
type overLink struct{ link *link }

var errNoSocket = errors.New("the node's WebSocket is not open")

// Call goes over the socket that is open now.
func (o overLink) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	s := o.link.current()
	if s == nil {
		return nil, &client.Fault{Err: errNoSocket}
	}
	return s.Call(ctx, method, params)
}

// CallSafe is Call: a socket that ended is not opened again within a call.
func (o overLink) CallSafe(ctx context.Context, method string, params []byte) ([]byte, error) {
	return o.Call(ctx, method, params)
}

// Close leaves the socket to who opened it.
func (overLink) Close() {}
