package unixfs

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ipfs/go-cid"
)

// Entry is one entry of a directory, as Kubo's ls shows it.
type Entry struct {
	Name    string
	Hash    string
	Size    uint64
	Type    int32 // 1 a directory, 2 a file, 4 a symlink, 0 not known
	Target  string
	Mode    os.FileMode
	ModTime time.Time
}

// Lister lists the directories that one request names. The limits of the request are for
// all of them together.
type Lister struct {
	objects *Objects
	get     getter
	look    bool
	encoder Encoder
	left    int // entries that may still be listed
}

// Lister returns one. Looking into each entry tells its type and its size.
func (o *Objects) Lister(look bool, enc Encoder) *Lister {
	return &Lister{objects: o, get: o.listing(), look: look, encoder: enc, left: maxEntries}
}

// Ls hands the entries of a directory to each, in the order of names, or the blocks of a
// file.
//
// Returns NotFound, TooLarge beyond the limits, or what each returns.
func (l *Lister) Ls(ctx context.Context, text string, each func(Entry) error) error {
	r, err := l.objects.Resolve(ctx, text)
	if err != nil {
		return err
	}
	raw, err := l.get(ctx, r.CID)
	if err != nil {
		return err
	}
	links, err := l.get.lsLinks(ctx, r.CID, raw)
	if err != nil {
		return err
	}
	if l.left -= len(links); l.left < 0 {
		return tooLarge("too many entries in one listing: at most %d. List fewer directories at once", maxEntries)
	}
	release, err := holdLinks(ctx, links)
	if err != nil {
		return err
	}
	defer release()
	slices.SortStableFunc(links, func(a, b link) int { return strings.Compare(a.name, b.name) })
	return l.each(ctx, links, each)
}

// each looks into the entries, one after the other.
func (l *Lister) each(ctx context.Context, links []link, each func(Entry) error) error {
	for _, to := range links {
		e := Entry{Name: to.name, Hash: l.encoder.Encode(to.cid)}
		if err := l.get.lookInto(ctx, &e, to, l.look); err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

// lsLinks are the entries of a directory; of anything else, its plain links.
func (g getter) lsLinks(ctx context.Context, c cid.Cid, raw []byte) ([]link, error) {
	if c.Type() != cid.DagProtobuf {
		cids, err := linksInTurn(ctx, c, raw)
		links := make([]link, len(cids))
		for i, l := range cids {
			links[i].cid = l
		}
		return links, err
	}
	n, err := decodeInTurn(ctx, c, raw)
	if err != nil {
		return nil, err
	}
	u, err := n.fs()
	if err != nil {
		return nil, err
	}
	return g.entries(ctx, n, u)
}

// lookInto fills in what an entry's own block says.
func (g getter) lookInto(ctx context.Context, e *Entry, l link, deep bool) error {
	if l.cid.Type() == cid.Raw {
		e.Type, e.Size = kindFile, l.size
		return nil
	}
	if l.cid.Type() != cid.DagProtobuf || !deep {
		return nil
	}
	n, err := g.node(ctx, l)
	if err != nil {
		return err
	}
	u, err := n.fs()
	if err != nil {
		return err
	}
	e.Mode, e.ModTime = u.stat.mode, u.stat.mtime
	switch u.kind {
	case kindFile, kindRaw:
		e.Type, e.Size = kindFile, u.fileSize
	case kindDirectory, kindShard, kindMetadata:
		e.Type = kindDirectory
	case kindSymlink:
		e.Type, e.Target, e.Size = kindSymlink, string(u.data), uint64(len(u.data))
	}
	return nil
}
