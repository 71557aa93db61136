package kubo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

const (
	pinsAtOnce   = 32 // CIDs in one pin/add
	pinsParallel = 4  // pin/adds of one batch to one node
	maxCarried   = 1 << 20
	maxLines     = 64 << 20 // of an answer about progress
)

// pinOn pins content on a node. What others hold is looked up before: see the
// package comment. A node that is no home of the content may have to be brought it.
func (e *Engine) pinOn(ctx context.Context, n *node, contents map[string]bool, home bool) error {
	var missing []string
	for _, c := range slices.Sorted(maps.Keys(contents)) {
		if held := contents[c]; held {
			pinned, err := n.pinned(ctx, c)
			if err != nil {
				return err
			}
			if pinned {
				continue
			}
		}
		missing = append(missing, c)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	turns := make(chan struct{}, pinsParallel)
	for part := range slices.Chunk(missing, pinsAtOnce) {
		turns <- struct{}{}
		wait.Go(func() {
			defer func() { <-turns }()
			if err := e.pinPart(ctx, n, part, home); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// pinPart pins some content, and brings the node what it lacks.
func (e *Engine) pinPart(ctx context.Context, n *node, contents []string, home bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if home {
		err := n.pinAdd(ctx, contents)
		if err == nil || kindOf(err) != faultMissing {
			return err
		}
	}
	for _, text := range contents {
		c, err := cid.Decode(text)
		if err != nil {
			return err
		}
		if _, inlined := identity.Data(c); !inlined {
			if _, err = n.block(ctx, c, false); err != nil && kindOf(err) != faultMissing {
				return err
			}
		}
		if err == nil {
			err = n.pinAdd(ctx, []string{text})
		}
		if err == nil {
			continue
		}
		if err := e.carry(ctx, n, c, source{fetch: e.cfg.Fetch}); err != nil {
			return err
		}
		if err := n.pinAdd(ctx, []string{text}); err != nil {
			return err
		}
	}
	return nil
}

// pinned tells whether a node has content pinned.
func (n *node) pinned(ctx context.Context, content string) (bool, error) {
	body, err := n.whole(ctx, &request{command: "pin/ls", query: url.Values{"arg": {content}, "type": {"recursive"}}}, maxAnswer)
	var f *fault
	if errors.As(err, &f) && f.kind == faultFailed && strings.Contains(f.msg, "is not pinned") {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var list struct {
		Keys map[string]struct{ Type string }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return false, n.failure(&fault{node: n.number, msg: "answers pin/ls with something else", err: err})
	}
	return list.Keys[content].Type == "recursive", nil
}

// pinAdd pins content on a node, for as long as that gets on. The answer must name
// all that was asked for.
func (n *node) pinAdd(ctx context.Context, contents []string) error {
	a, err := n.do(ctx, &request{
		command: "pin/add", query: url.Values{"arg": contents, "recursive": {"true"}, "progress": {"true"}}, wait: n.limits.stall, progress: true,
	})
	if err != nil {
		return err
	}
	defer a.close()
	lines := json.NewDecoder(io.LimitReader(a, maxLines))
	left := map[string]bool{}
	for _, c := range contents {
		left[c] = true
	}
	for seen := int64(0); ; {
		var line struct {
			Progress int64
			Pins     []string
		}
		err := lines.Decode(&line)
		if err == io.EOF && len(left) == 0 {
			n.health.ok()
			return nil
		}
		var f *fault
		if errors.As(err, &f) {
			return f
		}
		if err != nil {
			return n.failure(&fault{node: n.number, msg: "does not name what it pinned", err: err})
		}
		for _, c := range line.Pins {
			delete(left, c)
		}
		if line.Progress > seen || len(line.Pins) > 0 {
			seen = line.Progress
			a.watch.renew()
		}
	}
}

// unpin takes a pin off a node. One that is not there is no error.
func (n *node) unpin(ctx context.Context, content string) error {
	_, err := n.whole(ctx, &request{command: "pin/rm", query: url.Values{"arg": {content}}, wait: n.limits.stall}, maxAnswer)
	var f *fault
	if errors.As(err, &f) && f.kind == faultFailed && strings.Contains(f.msg, "not pinned") {
		return nil
	}
	return err
}

// source says where content is carried from.
type source struct {
	first []*node // asked before the others
	fetch bool    // from the network too
}

// carry brings a node all of some content that other nodes have. Each block is checked,
// and the nodes need no connection to each other.
func (e *Engine) carry(ctx context.Context, to *node, root cid.Cid, from source) error {
	u, err := e.beginUpload(ctx, to)
	if err != nil {
		return err
	}
	todo, seen := []cid.Cid{root}, map[string]struct{}{string(root.Hash()): {}}
	for len(todo) > 0 && err == nil {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var links []cid.Cid
		if links, err = e.carryBlock(ctx, u, c, from); err != nil {
			break
		}
		for _, l := range links {
			if _, known := seen[string(l.Hash())]; !known && len(seen) < maxCarried {
				seen[string(l.Hash())] = struct{}{}
				todo = append(todo, l)
			}
		}
	}
	if err != nil {
		u.abort()
		return err
	}
	return u.finish(ctx)
}

func (e *Engine) carryBlock(ctx context.Context, u *upload, c cid.Cid, from source) ([]cid.Cid, error) {
	data, _, err := e.find(ctx, c, from.first, from.fetch)
	if err != nil {
		return nil, err
	}
	if _, inlined := identity.Data(c); !inlined {
		whole, _ := frame(c, data)
		if err := u.send(ctx, whole); err != nil {
			return nil, err
		}
	}
	return e.cfg.Links(c, data)
}
