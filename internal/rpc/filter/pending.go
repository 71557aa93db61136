package filter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// The times and bounds of following a network's pool.
const (
	storeAfter   = 100 * time.Millisecond // what was seen is stored together
	storeTimeout = 2 * time.Second
	askEvery     = time.Second // where the node can't push
	maxUnstored  = MaxPending
	mostAtOnce   = 5000 // hashes in one answer
	mostWhole    = 500  // whole transactions in one answer
)

// pendings follows the transactions that enter a network's pool, while somebody has a
// filter of them. A pool has no history, so they are stored as they come.
type pendings struct {
	next    nodegate.Node
	network string
	store   Store

	mu      sync.Mutex
	wanted  time.Time // when a filter was created or polled last
	now     *watch    // nil while nothing is followed
	unseen  []string  // not stored yet
	storing bool      // a timer is set
}

// watch is one time of following the pool.
type watch struct {
	ctx  context.Context
	stop context.CancelFunc
}

// begin follows the pool and returns the position from which on it is new.
func (p *pendings) begin(ctx context.Context) (uint64, error) {
	if err := p.want(); err != nil {
		return 0, err
	}
	p.flush()
	_, last, err := p.store.Pending(ctx, p.network, 0, 0)
	return last, err
}

// pendingSince returns what entered the pool since the last poll.
func (n *Node) pendingSince(ctx context.Context, r *record) (events [][]byte, err error) {
	if err := n.pending.want(); err != nil {
		return nil, err
	}
	n.pending.flush()
	most := mostAtOnce
	if r.Kind == transactions {
		most = mostWhole
	}
	hashes, last, err := n.cfg.Store.Pending(ctx, n.cfg.Network, r.Pending, most)
	if err != nil {
		return nil, err
	}
	for _, hash := range hashes {
		event := []byte(hash)
		if r.Kind == transactions {
			if event, err = n.next.Call(ctx, method.EthGetTransactionByHash, []byte("["+hash+"]")); err != nil {
				return nil, err
			}
		}
		if string(event) != "null" { // it left the pool without a block
			events = append(events, event)
		}
	}
	r.Pending = last
	return events, nil
}

// want keeps the pool followed for the life of a filter.
func (p *pendings) want() error {
	p.mu.Lock()
	p.wanted = time.Now()
	if p.now != nil {
		p.mu.Unlock()
		return nil
	}
	w := &watch{}
	w.ctx, w.stop = context.WithCancel(context.Background())
	p.now = w
	p.mu.Unlock()
	if err := p.follow(w); err != nil {
		p.end(w)
		return err
	}
	time.AfterFunc(Life, func() { p.rest(w) })
	return nil
}

// follow subscribes to the pool, or asks a node's own filter where none can push.
func (p *pendings) follow(w *watch) error {
	err := rpc.Subscribe(w.ctx, p.next, []byte(`["newPendingTransactions"]`), func(event []byte, end nodegate.End) {
		if end != nodegate.NotEnded {
			go p.end(w)
			return
		}
		p.take(event)
	})
	if !errors.Is(err, nodegate.MethodNotFound) {
		return err
	}
	id, err := p.next.Call(w.ctx, method.EthNewPendingTransactionFilter, []byte("[]"))
	if err != nil {
		return err
	}
	params := slices.Concat([]byte{'['}, id, []byte{']'})
	go p.ask(w, params)
	return nil
}

// ask polls a node's filter. It ends with the filter, and the next poll of ours creates
// another.
func (p *pendings) ask(w *watch, params []byte) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
		raw, err := p.next.Call(w.ctx, method.EthGetFilterChanges, params)
		if err != nil {
			p.end(w)
			return
		}
		list, _ := jsonrpc.Elements(nil, raw)
		for _, hash := range list {
			p.take(hash)
		}
	}
}

// take gets the hash of a transaction.
func (p *pendings) take(event []byte) {
	if !hexjson.IsHash(event) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unseen) < maxUnstored {
		p.unseen = append(p.unseen, string(event))
	}
	if !p.storing {
		p.storing = true
		time.AfterFunc(storeAfter, p.flush)
	}
}

// flush stores what was seen. What can't be stored is tried again with the next.
func (p *pendings) flush() {
	p.mu.Lock()
	list := p.unseen
	p.unseen, p.storing = nil, false
	p.mu.Unlock()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if p.store.AddPending(ctx, p.network, list) == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unseen = append(list, p.unseen...)
	p.unseen = p.unseen[:min(len(p.unseen), maxUnstored)]
}

// rest stops following a pool that nobody has a filter of any more.
func (p *pendings) rest(w *watch) {
	p.mu.Lock()
	left := Life - time.Since(p.wanted)
	p.mu.Unlock()
	switch {
	case w.ctx.Err() != nil:
	case left > 0:
		time.AfterFunc(left, func() { p.rest(w) })
	default:
		p.end(w)
	}
}

// end stops following; the next poll begins again.
func (p *pendings) end(w *watch) {
	p.mu.Lock()
	if p.now == w {
		p.now = nil
	}
	p.mu.Unlock()
	w.stop()
}
