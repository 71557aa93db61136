package unixfs

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
)

// FileStat is what the first block of a file or a directory says about it.
type FileStat struct {
	CID        cid.Cid
	Size       uint64 // of a file's content
	Cumulative uint64 // of all blocks, as their links say
	Children   int    // links of the block
	Directory  bool
	Mode       os.FileMode
	ModTime    time.Time

	objects *Objects
	raw     []byte
}

// FileStat reads the block that a path leads to.
//
// Returns NotFound, or ExecutionFailed for what is neither a file nor a directory.
func (o *Objects) FileStat(ctx context.Context, text string) (*FileStat, error) {
	c, raw, err := o.BlockGet(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &FileStat{CID: c, Size: uint64(len(raw)), Cumulative: uint64(len(raw)), objects: o, raw: raw}
	switch c.Type() {
	case cid.Raw:
		return s, nil
	case cid.DagProtobuf:
		return s, s.describe(ctx, raw)
	}
	return nil, failed("not unixfs node (proto or raw)")
}

// describe fills in what a dag-pb block says.
func (s *FileStat) describe(ctx context.Context, raw []byte) error {
	n, err := decodeInTurn(ctx, s.CID, raw)
	if err != nil {
		return err
	}
	u, err := n.fs()
	if err != nil {
		return err
	}
	s.Size, s.Cumulative, s.Children = u.fileSize, n.size(), len(n.links)
	s.Mode, s.ModTime = u.stat.mode, u.stat.mtime
	switch u.kind {
	case kindDirectory, kindShard:
		s.Size, s.Directory = 0, true
	case kindFile, kindRaw, kindMetadata:
	case kindSymlink:
		if s.Size = uint64(len(u.data)); s.Mode == 0 {
			s.Mode = os.ModeSymlink | os.ModePerm
		}
	default:
		return failed("unrecognized node type: %d", u.kind)
	}
	return nil
}

// Local tells whether all blocks are here, and the size of those that are. A block that
// is linked several times counts each time.
//
// Returns TooLarge beyond the limits.
func (s *FileStat) Local(ctx context.Context, limits Limits) (whole bool, size uint64, err error) {
	l := &locality{get: s.objects.bounded(s.objects.get), limit: limits.blocks(), known: map[blockKey]local{}, notes: notes{hold: budget.From(ctx)}}
	defer l.notes.release()
	all, err := l.below(ctx, s.CID, s.raw, 0)
	return all.whole, all.size, err
}

// local is how much of a DAG is here.
type local struct {
	whole bool
	size  uint64
}

// locality looks at each block once, however often it is linked.
type locality struct {
	get     getter
	limit   int
	known   map[blockKey]local
	notes   notes
	waiting int // links above the block that is looked at, and its own
}

func (l *locality) below(ctx context.Context, c cid.Cid, raw []byte, depth int) (local, error) {
	if depth > maxDepth {
		return local{}, failed("blocks are nested too deeply: at most %d", maxDepth)
	}
	links, err := linksInTurn(ctx, c, raw)
	if err != nil {
		return local{}, err
	}
	defer func() { l.waiting -= len(links) }()
	if err := l.wait(len(links)); err != nil {
		return local{}, err
	}
	sum := local{whole: true, size: uint64(len(raw))}
	for _, to := range links {
		inner, err := l.child(ctx, to, depth+1)
		if err != nil {
			return sum, err
		}
		sum.whole, sum.size = sum.whole && inner.whole, sum.size+inner.size
	}
	return sum, nil
}

// wait notes links that are to be looked at.
func (l *locality) wait(n int) error {
	l.waiting += n
	return l.notes.keep(len(l.known), l.waiting)
}

// child looks at a block below another. One that is missing is no error.
func (l *locality) child(ctx context.Context, c cid.Cid, depth int) (local, error) {
	k := keyOf(c)
	if found, ok := l.known[k]; ok {
		return found, nil
	}
	if len(l.known) >= l.limit {
		return local{}, tooLarge("too many blocks: at most %d", l.limit)
	}
	raw, err := l.get(ctx, c)
	if errors.Is(err, nodegate.NotFound) {
		l.known[k] = local{}
		return local{}, nil
	}
	if err != nil {
		return local{}, err
	}
	found, err := l.below(ctx, c, raw, depth)
	l.known[k] = found
	return found, err
}
