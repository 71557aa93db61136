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

// Ls lists a directory in the order of names, or the blocks of a file. Looking
// into each entry tells its type and its size.
func (o *Objects) Ls(ctx context.Context, text string, look bool, enc Encoder) ([]Entry, error) {
	r, err := o.Resolve(ctx, text)
	if err != nil {
		return nil, err
	}
	get := o.listing()
	raw, err := get(ctx, r.CID)
	if err != nil {
		return nil, err
	}
	links, err := get.lsLinks(ctx, r.CID, raw)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, 0, len(links))
	for _, l := range links {
		e := Entry{Name: l.name, Hash: enc.Encode(l.cid)}
		if err := get.look(ctx, &e, l, look); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
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

// look fills in what an entry's own block says.
func (g getter) look(ctx context.Context, e *Entry, l link, deep bool) error {
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
