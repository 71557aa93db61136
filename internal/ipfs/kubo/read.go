package kubo

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// block asks a node for a block, for what it has itself or from the network too.
func (n *node) block(ctx context.Context, c cid.Cid, fetch bool) ([]byte, error) {
	r := &request{command: "block/get", query: url.Values{"arg": {c.String()}}}
	if fetch {
		if end, ok := ctx.Deadline(); ok {
			left := time.Until(end)
			r.query.Set("timeout", left.String())
			r.wait = left + n.limits.answer // the node ends it first
		}
	} else {
		r.query.Set("offline", "true")
	}
	data, err := n.whole(ctx, r, blockstore.MaxBlock)
	if err != nil {
		return nil, err
	}
	if blockstore.Check(c, data) != nil {
		return nil, n.lied(c.String())
	}
	return data, nil
}

// Get returns a block whose bytes were checked. All nodes are asked for what they
// have before one of them looks in the network.
//
// Returns NotFound, Busy when the block may be on a node that does not answer, and
// Timeout when the network did not bring it in time.
func (e *Engine) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	data, _, err := e.find(ctx, c, nil, e.cfg.Fetch)
	return data, err
}

// Has tells whether a node has a block, and the right one.
func (e *Engine) Has(ctx context.Context, c cid.Cid) (bool, error) {
	_, _, err := e.find(ctx, c, nil, false)
	if errors.Is(err, nodegate.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// find looks for a block on some nodes first, then on all. It also returns who had it.
func (e *Engine) find(ctx context.Context, c cid.Cid, first []*node, fetch bool) ([]byte, *node, error) {
	if data, ok := identity.Data(c); ok {
		return bytes.Clone(data), nil, nil
	}
	if err := blockstore.Allowed(c); err != nil { // it could not be checked
		return nil, nil, err
	}
	var well []*node
	wrong := false
	for _, n := range ordered(first, e.usable()) {
		data, err := n.block(ctx, c, false)
		if err == nil {
			e.last.Store(int32(n.number - 1))
			return data, n, nil
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		switch kindOf(err) {
		case faultMissing:
			well = append(well, n)
		case faultWrong:
			wrong = true
		}
	}
	if len(well) == 0 && !wrong {
		return nil, nil, errAway(nil)
	}
	if fetch {
		data, n, err := e.fetch(ctx, c, well)
		if err == nil || !errors.Is(err, nodegate.NotFound) {
			return data, n, err
		}
	}
	if wrong {
		return nil, nil, errWrong(c)
	}
	if away := len(e.nodes) - len(well); away > 0 {
		return nil, nil, errPartly(c, away, len(e.nodes))
	}
	return nil, nil, errNoBlock(c)
}

// fetch has the nodes look in the network, one after the other within one time.
func (e *Engine) fetch(ctx context.Context, c cid.Cid, nodes []*node) ([]byte, *node, error) {
	limited, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	for _, n := range nodes {
		data, err := n.block(limited, c, true)
		if err == nil {
			return data, n, nil
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if limited.Err() != nil || kindOf(err) == faultSlow {
			return nil, nil, errSlow(err)
		}
	}
	return nil, nil, errNoBlock(c)
}

// ordered puts some nodes before the others, each once. Of the first only those that
// may be asked count.
func ordered(first, usable []*node) []*node {
	var list []*node
	in := func(all []*node, n *node) bool {
		for _, m := range all {
			if m == n {
				return true
			}
		}
		return false
	}
	for _, n := range first {
		if in(usable, n) && !in(list, n) {
			list = append(list, n)
		}
	}
	for _, n := range usable {
		if !in(list, n) {
			list = append(list, n)
		}
	}
	return list
}
