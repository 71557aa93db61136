package unixfs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

// TestWalksOfBombs: what looks at each block once is done with a bomb at once.
func TestWalksOfBombs(t *testing.T) {
	m := newMemory(nil)
	o, file := New(m), virtualFile(m, 1<<10, 8)
	s, err := o.FileStat(t.Context(), file.String())
	if err != nil || s.Children != 16 {
		t.Fatalf("%+v, %v", s, err)
	}
	before := m.gets
	whole, size, err := s.Local(t.Context(), Limits{})
	if err != nil || !whole || size < 1<<42 {
		t.Errorf("local: %v, %d, %v", whole, size, err)
	}
	sum, err := o.DagStat(t.Context(), []cid.Cid{file, file}, Limits{}, func(*DagStat) error { return nil })
	if err != nil || sum.Unique.Blocks != 9 || sum.All.Blocks != 18 {
		t.Errorf("stat: %+v, %v", sum, err)
	}
	var names []string
	err = NewRefs(o, RefOptions{MaxDepth: -1, Unique: true}, func(r Ref) error { names = append(names, r.To.String()); return nil }).Root(t.Context(), file)
	if err != nil || len(names) != 8 {
		t.Errorf("refs: %d, %v", len(names), err)
	}
	if bad, err := NewVerifier(o, Limits{}).Check(t.Context(), file); err != nil || len(bad) != 0 {
		t.Errorf("verify: %v, %v", bad, err)
	}
	if n := m.gets - before; n > 100 {
		t.Errorf("%d blocks were read", n)
	}
}

// TestWalkBudgets: a walk ends at the bound of blocks, and at that of bytes.
func TestWalkBudgets(t *testing.T) {
	m := newMemory(nil)
	var b []byte
	for i := range 50 {
		b = appendLink(b, fmt.Sprint(i), m.keep(cid.Raw, []byte(strings.Repeat(fmt.Sprint(i%10), 1000+i))), 0)
	}
	dir := m.keep(cid.DagProtobuf, append(b, simpleNode(kindDirectory, nil, stat{})...))
	for name, c := range map[string]struct {
		reads  ReadLimits
		limits Limits
		want   string
	}{
		"blocks": {ReadLimits{Nodes: 20}, Limits{Blocks: 20}, "20"},
		"bytes":  {ReadLimits{Bytes: 20_000}, Limits{}, "storage.max_read"},
	} {
		o := NewLimited(m, c.reads)
		stat, err := o.FileStat(t.Context(), dir.String())
		if err != nil {
			t.Fatal(err)
		}
		_, _, localErr := stat.Local(t.Context(), c.limits)
		_, statErr := o.DagStat(t.Context(), []cid.Cid{dir}, c.limits, func(*DagStat) error { return nil })
		_, verifyErr := NewVerifier(o, c.limits).Check(t.Context(), dir)
		refsErr := NewRefs(o, RefOptions{MaxDepth: -1}, func(Ref) error { return nil }).Root(t.Context(), dir)
		for walk, err := range map[string]error{"local": localErr, "stat": statErr, "verify": verifyErr, "refs": refsErr} {
			if e := nodegate.AsError(err); err == nil || e.Code != nodegate.TooLarge || !strings.Contains(e.Msg, c.want) {
				t.Errorf("%s, %s: %v", name, walk, err)
			}
		}
	}
}

// TestVerifyFindsMissing: each missing block is told once, in every pin that needs it.
func TestVerifyFindsMissing(t *testing.T) {
	m := newMemory(nil)
	lost, err := scheme{version: 1, hash: 0x12, inline: -1}.sum(cid.Raw, []byte("lost"))
	if err != nil {
		t.Fatal(err)
	}
	broken := m.keep(cid.DagProtobuf, append(appendLink(appendLink(nil, "a", lost, 4), "b", lost, 4), simpleNode(kindDirectory, nil, stat{})...))
	above := m.keep(cid.DagProtobuf, append(appendLink(nil, "in", broken, 4), simpleNode(kindDirectory, nil, stat{})...))
	o := New(m)
	v := NewVerifier(o, Limits{})
	for _, root := range []cid.Cid{broken, above} {
		bad, err := v.Check(t.Context(), root)
		if err != nil || len(bad) != 1 || !bad[0].CID.Equals(lost) || !strings.Contains(bad[0].Err, "could not find") {
			t.Errorf("%s: %v, %v", root, bad, err)
		}
	}
	s, err := o.FileStat(t.Context(), broken.String())
	if err != nil {
		t.Fatal(err)
	}
	if whole, size, err := s.Local(t.Context(), Limits{}); err != nil || whole || size == 0 {
		t.Errorf("local: %v, %d, %v", whole, size, err)
	}
	if err := NewRefs(o, RefOptions{MaxDepth: 1}, func(Ref) error { return nil }).Root(t.Context(), broken); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("refs: %v", err)
	}
}

// lsOf lists a directory whole.
func lsOf(ctx context.Context, o *Objects, text string, look bool, enc Encoder) (list []Entry, err error) {
	err = o.Lister(look, enc).Ls(ctx, text, func(e Entry) error {
		list = append(list, e)
		return nil
	})
	return list, err
}
