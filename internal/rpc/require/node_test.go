package require

import (
	"context"
	"errors"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc"
)

// leveled is a node whose answers have a level.
type leveled struct {
	level nodegate.Level
	asked int
}

func (l *leveled) Call(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	l.asked++
	nodegate.TraceFrom(ctx).Verified = l.level
	return []byte(`"0x1"`), nil
}

func (l *leveled) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{Number: 7}, nil }

// TestRequired: answers that reach the level are passed on, others are refused, and a node is
// not asked for what it can't give at the level.
func TestRequired(t *testing.T) {
	const block, call, price, unknown = "eth_getBlockByNumber", "eth_call", "eth_gasPrice", "foo_bar"
	none, agreed, header, roots := nodegate.LevelNone, nodegate.LevelAgreed, nodegate.LevelHeader, nodegate.LevelRoots
	for _, c := range []struct {
		required    nodegate.Level
		name        string
		gives       nodegate.Level
		given, asks bool
	}{
		{none, call, none, true, true},
		{agreed, call, agreed, true, true},
		{agreed, call, none, false, true},
		{agreed, block, header, true, true},
		{agreed, price, none, true, true},
		{agreed, unknown, none, false, false},
		{header, block, header, true, true},
		{header, block, none, false, true},
		{header, block, agreed, false, true},
		{header, call, agreed, false, false},
		{header, price, none, true, true},
		{roots, block, header, false, false},
		{roots, call, agreed, false, false},
		{roots, unknown, none, false, false},
		{roots, price, none, true, true},
	} {
		next := &leveled{level: c.gives}
		n := New(next, c.required, false)
		result, err := n.Call(t.Context(), c.name, []byte("[]"))
		if c.given != (err == nil && string(result) == `"0x1"`) || !c.given && (!errors.Is(err, nodegate.Unverified) || result != nil) {
			t.Errorf("%q required, %s at level %q: %s, %v", c.required, c.name, c.gives, result, err)
		}
		if c.asks != (next.asked == 1) {
			t.Errorf("%q required, %s: the nodes were asked %d times", c.required, c.name, next.asked)
		}
		if head, err := n.Head(t.Context()); err != nil || head.Number != 7 {
			t.Errorf("head %v, %v", head, err)
		}
	}
}

// pushing is a node with subscriptions.
type pushing struct {
	leveled
	got []string
}

func (p *pushing) Subscribe(_ context.Context, params []byte, _ nodegate.Take) error {
	p.got = append(p.got, string(params))
	return nil
}

// TestRequiredEvents: subscriptions are passed on where their events are proven.
func TestRequiredEvents(t *testing.T) {
	const heads = `["newHeads"]`
	take := func([]byte, nodegate.End) {}
	for _, level := range []nodegate.Level{nodegate.LevelAgreed, nodegate.LevelHeader, nodegate.LevelRoots} {
		next := &pushing{}
		if err := rpc.Subscribe(t.Context(), New(next, level, false), []byte(heads), take); !errors.Is(err, nodegate.Unverified) || len(next.got) != 0 {
			t.Errorf("%s, without proven events: %v, passed on %v", level, err, next.got)
		}
		if err := rpc.Subscribe(t.Context(), New(next, level, true), []byte(heads), take); err != nil || len(next.got) != 1 || next.got[0] != heads {
			t.Errorf("%s, with proven events: %v, passed on %v", level, err, next.got)
		}
	}
}
