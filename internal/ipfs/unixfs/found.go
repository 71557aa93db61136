package unixfs

import (
	"context"
	"slices"
	"strings"
	"time"

	gopath "github.com/ipfs/boxo/path"
	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

// Found is where a path leads, as the read gateway needs it.
type Found struct {
	CID   cid.Cid
	Roots []cid.Cid // what each name of the path stands for, the root first
	Rest  []string  // of the path, inside the block

	objects *Objects
	path    gopath.ImmutablePath
}

// Find follows a path to a block. The last block is not read.
//
// Returns InvalidInput for what is no path, NotFound for a path that leads nowhere.
func (o *Objects) Find(ctx context.Context, text string) (*Found, error) {
	p, err := parsePath(text)
	if err != nil {
		return nil, usage("%s", nodegate.AsError(err).Msg)
	}
	f := &Found{objects: o, path: p}
	r, err := getter(o.get).resolve(ctx, p, func(c cid.Cid) { f.Roots = append(f.Roots, c) })
	f.CID, f.Rest = r.CID, r.Rest
	return f, err
}

// Block reads the block itself. Returns NotFound.
func (f *Found) Block(ctx context.Context) ([]byte, error) { return f.objects.get(ctx, f.CID) }

// Kind is what some content is.
type Kind uint8

// The kinds.
const (
	File Kind = iota
	Directory
	Symlink // Content is where it points
	Value   // of another codec than UnixFS; Content is its block
)

// Entity is what a path leads to, with its first block read.
type Entity struct {
	Kind    Kind
	Size    int64 // of the content; of a directory, about what all below it takes
	ModTime time.Time

	objects *Objects
	file    *opened // nil for a directory
	node    *node
	fs      *unixfs
}

// Open reads the first block. Returns NotFound, or ExecutionFailed for a block that
// can't be understood.
func (f *Found) Open(ctx context.Context) (*Entity, error) {
	raw, err := f.Block(ctx)
	if err != nil {
		return nil, err
	}
	e := &Entity{objects: f.objects}
	if kind := f.CID.Type(); kind != cid.DagProtobuf {
		n := &node{cid: f.CID, raw: raw, data: raw}
		if e.file, e.Size = (&opened{root: n, data: raw, size: int64(len(raw))}), int64(len(raw)); kind != cid.Raw {
			e.Kind = Value
		}
		return e, nil
	}
	if e.node, err = decodeNode(f.CID, raw); err != nil {
		return nil, err
	}
	if e.fs, err = e.node.fs(); err != nil {
		return nil, err
	}
	e.ModTime = e.fs.stat.mtime
	if e.fs.isDir() {
		e.Kind, e.Size = Directory, int64(e.node.size())
		return e, nil
	}
	if e.fs.kind == kindSymlink {
		e.Kind = Symlink
	}
	if e.file, err = fileOf(e.node); err == nil {
		e.Size = e.file.size
	}
	return e, err
}

// Content is a part of a file. The part must lie in it.
func (e *Entity) Content(ctx context.Context, from, length int64) *Content {
	return &Content{size: length, cids: []cid.Cid{e.file.root.cid}, pieces: []*reader{e.objects.reader(ctx, e.file, from, length)}}
}

// Item is one entry of a directory, as its block names it. The size is not checked.
type Item struct {
	Name string
	CID  cid.Cid
	Size uint64
}

// Has tells whether a directory has an entry.
func (e *Entity) Has(ctx context.Context, name string) (bool, error) {
	if e.fs.kind == kindShard {
		_, ok, err := getter(e.objects.get).findInShard(ctx, e.node, e.fs, name)
		return ok, err
	}
	return slices.ContainsFunc(e.node.links, func(l link) bool { return l.name == name }), nil
}

// Items lists a directory in the order of names, up to a number of entries, and
// tells whether there are more.
func (e *Entity) Items(ctx context.Context, most int) (items []Item, more bool, err error) {
	links, more, err := e.objects.listing().someEntries(ctx, e.node, e.fs, most)
	if err != nil {
		return nil, false, err
	}
	for _, l := range links {
		items = append(items, Item{l.name, l.cid, l.size})
	}
	slices.SortStableFunc(items, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	return items, more, nil
}
