package unixfs

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ipfs/boxo/ipld/unixfs/hamt"
	"github.com/ipfs/go-cid"
	ipld "github.com/ipfs/go-ipld-format"
)

// folder is a directory of an upload while it is filled. It becomes blocks once,
// at the end.
type folder struct {
	stat    stat
	entries map[string]*entry
}

// entry is a file that is stored, or a directory that is not yet.
type entry struct {
	child child
	dir   *folder
}

func newFolder(s stat) *folder { return &folder{stat: s, entries: map[string]*entry{}} }

func (f *folder) put(name string, c child) error {
	if f.entries[name] != nil {
		return failed("directory already has entry by that name")
	}
	f.entries[name] = &entry{child: c}
	return nil
}

// finishFolder stores a directory after the directories in it, and notes them in
// Kubo's order. Only then is it known whether it is small enough for one block.
func (a *adder) finishFolder(ctx context.Context, f *folder, at string) (child, error) {
	names := make([]string, 0, len(f.entries))
	for name := range f.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	noted := len(a.out.Events)
	order := map[string][]Event{} // the lines of each directory in this one
	size := 0
	for _, name := range names {
		e := f.entries[name]
		if e.dir != nil {
			start := len(a.out.Events)
			c, err := a.finishFolder(ctx, e.dir, path.Join(at, name))
			if err != nil {
				return child{}, err
			}
			e.child = c
			order[name] = a.out.Events[start:]
		}
		size += len(name) + e.child.cid.ByteLen()
	}
	var c child
	var err error
	if size > shardSize || a.opts.dirLinks > 0 && len(names) > a.opts.dirLinks {
		c, names, err = a.shard(ctx, f, names)
		a.out.Events = reorder(a.out.Events, noted, names, order)
	} else {
		c, err = a.flat(ctx, f, names)
	}
	if err != nil {
		return child{}, err
	}
	a.emit(at, c)
	return c, nil
}

// reorder puts the lines after the first n into the order of a sharded directory.
func reorder(events []Event, n int, names []string, of map[string][]Event) []Event {
	sorted := make([]Event, 0, len(events)-n)
	for _, name := range names {
		sorted = append(sorted, of[name]...)
	}
	return append(events[:n], sorted...)
}

// flat stores a directory in one block.
func (a *adder) flat(ctx context.Context, f *folder, names []string) (child, error) {
	var block []byte
	below := uint64(0)
	for _, name := range names {
		c := f.entries[name].child
		block = appendLink(block, name, c.cid, c.below)
		below += c.below
	}
	block = append(block, simpleNode(kindDirectory, nil, f.stat)...)
	c, err := a.putNode(ctx, block)
	c.below += below
	return c, err
}

// shard stores a large directory as a HAMT, and returns its names in that order.
func (a *adder) shard(ctx context.Context, f *folder, names []string) (child, []string, error) {
	sink := &nodeSink{ctx: ctx, adder: a}
	root, err := hamt.NewShard(sink, a.opts.fanout)
	if err != nil {
		return child{}, nil, failedBy(err)
	}
	root.SetCidBuilder(builder{a.opts.scheme, cid.DagProtobuf})
	root.SetStat(f.stat.mode, f.stat.mtime)
	for _, name := range names {
		c := f.entries[name].child
		if err := root.SetLink(ctx, name, &ipld.Link{Name: name, Size: c.below, Cid: c.cid}); err != nil {
			return child{}, nil, failedBy(err)
		}
	}
	nd, err := root.Node()
	if err != nil {
		return child{}, nil, failedBy(err)
	}
	size, err := nd.Size()
	if err != nil {
		return child{}, nil, failedBy(err)
	}
	order := names[:0]
	err = root.ForEachLink(ctx, func(l *ipld.Link) error {
		order = append(order, strings.Clone(l.Name))
		return nil
	})
	return child{cid: nd.Cid(), below: size}, order, failedBy(err)
}

// nodeSink takes the blocks that boxo makes of a sharded directory. It never reads:
// the whole directory is in memory.
type nodeSink struct {
	ipld.DAGService // nil: only Add is called
	ctx             context.Context
	adder           *adder
}

// Add stores one node.
func (s *nodeSink) Add(_ context.Context, n ipld.Node) error {
	return s.adder.put(s.ctx, n.Cid(), n.RawData())
}
