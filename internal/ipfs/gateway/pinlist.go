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
	*call
	kind    string // all, recursive, direct or indirect
	part    string // a part of the pin's name
	names   bool
	encoder unixfs.Encoder
}

// pinLine is a pin in the stream of pin/ls.
type pinLine struct {
	Cid  string
	Name string `json:",omitempty"`
	Type string
}

// pinList shows an account its own pins.
func pinList(ctx context.Context, c *call) error {
	l := &listing{call: c}
	l.kind, _ = c.query.String("all", "type", "t")
	l.part, _ = c.query.String("", "name", "n")
	l.names = c.query.Flag("names") || l.part != ""
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
	if stream {
		return l.stream(ctx)
	}
	keys := newPinKeys(c)
	err := l.eachPin(ctx, func(id cid.Cid, kind, name string) error {
		return keys.add(l.encoder.Encode(id), pinKey{Type: kind, Name: l.shown(name)})
	})
	if err != nil {
		return err
	}
	return keys.end()
}

// stream sends a line for each pin.
func (l *listing) stream(ctx context.Context) error {
	out := l.answer.stream()
	return l.eachPin(ctx, func(id cid.Cid, kind, name string) error {
		return out.send(pinLine{Cid: l.encoder.Encode(id), Name: l.shown(name), Type: kind})
	})
}

// shown is a name, where names are asked for.
func (l *listing) shown(name string) string {
	if !l.names {
		return ""
	}
	return name
}

// eachPin finds the pins of the arguments, or all of the account's.
func (l *listing) eachPin(ctx context.Context, send func(id cid.Cid, kind, name string) error) error {
	if len(l.args) > 0 {
		for _, arg := range l.args {
			if err := argTurn(ctx); err != nil {
				return err
			}
			if err := l.pinOf(ctx, arg, send); err != nil {
				return err
			}
		}
		return nil
	}
	return l.eachOwn(ctx, send)
}

// eachOwn finds all pins of the account, and the blocks below them where they are
// wanted too. They are sent as they are found.
func (l *listing) eachOwn(ctx context.Context, send func(id cid.Cid, kind, name string) error) error {
	below := l.part == "" && (l.kind == "all" || l.kind == "indirect")
	roots, deep := map[cid.Cid]bool{}, []cid.Cid(nil)
	var failure error
	err := l.gateway.cfg.Engine.Pins(ctx, l.account(), func(p nodegate.Pin) bool {
		var id cid.Cid
		if id, failure = cid.Decode(p.CID); failure != nil {
			return false
		}
		if below {
			if failure = holdRoot(l.call); failure != nil {
				return false
			}
			if roots[id] = true; p.Recursive {
				deep = append(deep, id)
			}
		}
		if kind := kindOf(p); (l.kind == "all" || l.kind == kind) && strings.Contains(p.Name, l.part) {
			failure = send(id, kind, p.Name)
		}
		return failure == nil
	})
	if err = errors.Join(failure, err); err != nil || !below {
		return err
	}
	walk := l.below(func(id cid.Cid) error {
		if roots[id] {
			return nil
		}
		return send(id, "indirect", "") // once: so is the visit
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
func (l *listing) below(visit func(cid.Cid) error) *unixfs.Below {
	return l.gateway.objects.Below(l.gateway.cfg.Limits, visit, func(id cid.Cid, err error) {
		l.gateway.cfg.Log.Warn("a block of a pin can't be read: add its content again to repair it", "account", l.account(), "block", id, "err", err)
	})
}

func kindOf(p nodegate.Pin) string {
	if p.Recursive {
		return "recursive"
	}
	return "direct"
}

// pinOf answers how one argument is pinned.
func (l *listing) pinOf(ctx context.Context, arg string, send func(cid.Cid, string, string) error) error {
	id, err := l.resolve(ctx, arg)
	if err != nil {
		return err
	}
	p, err := l.gateway.cfg.Engine.PinOf(ctx, l.account(), id.String())
	if err == nil && (l.kind == "all" || l.kind == kindOf(p)) {
		return send(id, kindOf(p), p.Name)
	}
	if err != nil && !errors.Is(err, nodegate.NotFound) {
		return err
	}
	if l.kind == "all" || l.kind == "indirect" {
		through, err := l.through(ctx, id)
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
func (l *listing) through(ctx context.Context, id cid.Cid) (string, error) {
	roots, err := recursivePins(ctx, l.call)
	if err != nil {
		return "", err
	}
	walk := l.below(func(below cid.Cid) error {
		if below.Equals(id) {
			return errFound
		}
		return nil
	})
	for _, root := range roots {
		err := walk.Root(ctx, root)
		if errors.Is(err, errFound) {
			return root.String(), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}
