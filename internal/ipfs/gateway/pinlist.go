package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// listing is what a client asked pin/ls for.
type listing struct {
	kind    string // all, recursive, direct or indirect
	name    string // a part of the pin's name
	names   bool
	encoder unixfs.Encoder
}

// pinKey is a pin in the answer of pin/ls.
type pinKey struct{ Type, Name string }

// pinLine is a pin in the stream of pin/ls.
type pinLine struct {
	Cid  string
	Name string `json:",omitempty"`
	Type string
}

// pinList shows an account its own pins.
func pinList(ctx context.Context, c *call) error {
	l := listing{}
	l.kind, _ = c.query.String("all", "type", "t")
	l.name, _ = c.query.String("", "name", "n")
	l.names = c.query.Flag("names") || l.name != ""
	stream := c.query.Flag("stream", "s")
	l.encoder = unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	switch l.kind {
	case "all", "recursive", "direct", "indirect":
	default:
		return failed(fmt.Sprintf("invalid type '%s', must be one of {direct, indirect, recursive, all}", l.kind))
	}
	keys := map[string]pinKey{}
	var out *lines
	if stream {
		out = c.answer.stream()
	}
	send := func(id cid.Cid, kind, name string) error {
		if !l.names {
			name = ""
		}
		if out != nil {
			return out.send(pinLine{Cid: l.encoder.Encode(id), Name: name, Type: kind})
		}
		keys[l.encoder.Encode(id)] = pinKey{Type: kind, Name: name}
		return nil
	}
	if err := c.eachPin(ctx, l, send); err != nil {
		return err
	}
	if out != nil {
		return nil
	}
	return c.answer.object(struct {
		Keys map[string]pinKey `json:",omitempty"`
	}{keys})
}

// eachPin finds the pins of the arguments, or all of the account's.
func (c *call) eachPin(ctx context.Context, l listing, send func(id cid.Cid, kind, name string) error) error {
	if len(c.args) > 0 {
		for _, arg := range c.args {
			if err := c.pinOf(ctx, l, arg, send); err != nil {
				return err
			}
		}
		return nil
	}
	return c.eachOwn(ctx, l, send)
}

// eachOwn finds all pins of the account, and the blocks below them where they are
// wanted too. They are sent as they are found.
func (c *call) eachOwn(ctx context.Context, l listing, send func(id cid.Cid, kind, name string) error) error {
	below := l.name == "" && (l.kind == "all" || l.kind == "indirect")
	roots, deep := map[cid.Cid]bool{}, []cid.Cid(nil)
	var failure error
	err := c.gateway.cfg.Engine.Pins(ctx, c.account(), func(p nodegate.Pin) bool {
		var id cid.Cid
		if id, failure = cid.Decode(p.CID); failure != nil {
			return false
		}
		if below {
			if roots[id] = true; p.Recursive {
				deep = append(deep, id)
			}
		}
		if kind := kindOf(p); (l.kind == "all" || l.kind == kind) && strings.Contains(p.Name, l.name) {
			failure = send(id, kind, p.Name)
		}
		return failure == nil
	})
	if err = errors.Join(failure, err); err != nil || !below {
		return err
	}
	walk := c.below(func(id cid.Cid) error {
		if roots[id] {
			return nil
		}
		roots[id] = true
		return send(id, "indirect", "")
	})
	for _, root := range deep {
		if err := walk.Root(ctx, root); err != nil {
			return err
		}
	}
	return nil
}

// below visits the blocks below roots. One that can't be read must not hide all
// others: it is logged, and what is below it is not listed.
func (c *call) below(visit func(cid.Cid) error) *unixfs.Below {
	return c.gateway.objects.Below(c.gateway.cfg.Limits, visit, func(id cid.Cid, err error) {
		c.gateway.cfg.Log.Warn("a block of a pin can't be read: add its content again to repair it", "account", c.account(), "block", id, "err", err)
	})
}

func kindOf(p nodegate.Pin) string {
	if p.Recursive {
		return "recursive"
	}
	return "direct"
}

// pins reads the account's pins whole, so that nothing is held while they are sent.
func (c *call) pins(ctx context.Context) (list []nodegate.Pin, err error) {
	err = c.gateway.cfg.Engine.Pins(ctx, c.account(), func(p nodegate.Pin) bool {
		list = append(list, p)
		return true
	})
	return list, err
}

// pinOf answers how one argument is pinned.
func (c *call) pinOf(ctx context.Context, l listing, arg string, send func(cid.Cid, string, string) error) error {
	id, err := c.resolve(ctx, arg)
	if err != nil {
		return err
	}
	p, err := c.gateway.cfg.Engine.PinOf(ctx, c.account(), id.String())
	if err == nil && (l.kind == "all" || l.kind == kindOf(p)) {
		return send(id, kindOf(p), p.Name)
	}
	if err != nil && !errors.Is(err, nodegate.NotFound) {
		return err
	}
	if l.kind == "all" || l.kind == "indirect" {
		through, err := c.through(ctx, id)
		if err != nil {
			return err
		}
		if through != "" {
			return send(id, "indirect through "+through, "")
		}
	}
	return failed(fmt.Sprintf("path '%s' is not pinned", arg))
}

// errFound ends a walk that has what it looked for.
var errFound = errors.New("storage: found")

// through is the recursive pin that keeps a block, or "".
func (c *call) through(ctx context.Context, id cid.Cid) (string, error) {
	pins, err := c.pins(ctx)
	if err != nil {
		return "", err
	}
	walk := c.below(func(below cid.Cid) error {
		if below.Equals(id) {
			return errFound
		}
		return nil
	})
	for _, p := range pins {
		root, err := cid.Decode(p.CID)
		if err != nil || !p.Recursive {
			continue
		}
		err = walk.Root(ctx, root)
		if errors.Is(err, errFound) {
			return p.CID, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}
