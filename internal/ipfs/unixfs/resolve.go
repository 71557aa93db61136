package unixfs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gopath "github.com/ipfs/boxo/path"
	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/datamodel"
	cidlink "github.com/ipld/go-ipld-prime/linking/cid"

	"github.com/nodegate/nodegate"
)

// Resolved is where a path leads: a block, and what is left of the path inside it.
type Resolved struct {
	CID  cid.Cid
	Rest []string
}

// RestPath is the rest as Kubo writes it: /a/b, or nothing.
func (r Resolved) RestPath() string { return gopath.SegmentsToString(r.Rest...) }

// parsePath reads a CID, /ipfs/CID/path, CID/path or ipfs://CID/path.
func parsePath(text string) (gopath.ImmutablePath, error) {
	p, err := gopath.NewPathFromURI(text)
	if err != nil {
		var second error
		if p, second = gopath.NewPath("/ipfs/" + text); second != nil {
			return gopath.ImmutablePath{}, failedBy(err)
		}
	}
	if p.Mutable() {
		return gopath.ImmutablePath{}, failed("unsupported path namespace: %s: names are not resolved here, use a CID", p.Namespace())
	}
	if strings.Count(text, "/") > maxSegments {
		return gopath.ImmutablePath{}, failed("invalid path: more than %d names", maxSegments)
	}
	immutable, err := gopath.NewImmutablePath(p)
	return immutable, failedBy(err)
}

// bareCID reads a path that is a CID and nothing else, as most are: the general way
// reads it twice, and makes a fifth of what a small download allocates.
func bareCID(text string) (cid.Cid, bool) {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return cid.Undef, false
		}
	}
	c, err := cid.Decode(text)
	return c, err == nil
}

// Resolve follows a path to a block. The last block is not read.
func (o *Objects) Resolve(ctx context.Context, text string) (Resolved, error) {
	if c, ok := bareCID(text); ok {
		return Resolved{CID: c}, nil
	}
	p, err := parsePath(text)
	if err != nil {
		return Resolved{}, err
	}
	return getter(o.get).resolve(ctx, p, func(cid.Cid) {})
}

// resolve follows a path and tells each block that a name of it leads to.
func (g getter) resolve(ctx context.Context, p gopath.ImmutablePath, at func(cid.Cid)) (Resolved, error) {
	r := Resolved{CID: p.RootCid(), Rest: p.Segments()[2:]}
	for len(r.Rest) > 0 {
		at(r.CID)
		raw, err := g.inTurn(ctx, r.CID)
		if err != nil {
			return Resolved{}, err
		}
		var inside bool
		if r.CID.Type() == cid.DagProtobuf && p.Namespace() == gopath.IPFSNamespace {
			r, err = g.stepUnixFS(ctx, r, raw)
		} else {
			r, inside, err = stepValue(ctx, r, raw)
		}
		if err != nil || inside {
			return r, err
		}
	}
	at(r.CID)
	return r, nil
}

// noLink is the error of a name that is not in a directory.
func noLink(name string, under cid.Cid) error {
	return &nodegate.Error{Op: opResolve, Code: nodegate.NotFound, Msg: fmt.Sprintf("no link named %q under %s", name, under)}
}

const opResolve = "unixfs.resolve"

// IsNoEntry tells whether a path leads nowhere. A block of it that is not here is another
// error: it may come.
func IsNoEntry(err error) bool {
	return errors.Is(err, nodegate.NotFound) && nodegate.AsError(err).Op == opResolve
}

// stepUnixFS follows one name out of a directory's block.
func (g getter) stepUnixFS(ctx context.Context, r Resolved, raw []byte) (Resolved, error) {
	n, err := decodeInTurn(ctx, r.CID, raw)
	if err != nil {
		return r, err
	}
	name := r.Rest[0]
	if u, err := n.fs(); err == nil && u.kind == kindShard {
		l, ok, err := g.findInShard(ctx, n, u, name)
		if err != nil {
			return r, err
		}
		if !ok {
			return r, noLink(name, r.CID)
		}
		return Resolved{l.cid, r.Rest[1:]}, nil
	}
	for _, l := range n.links {
		if l.name == name {
			return Resolved{l.cid, r.Rest[1:]}, nil
		}
	}
	return r, noLink(name, r.CID)
}

// stepValue follows names through the value in a block until one is a link to
// another block, or the path ends inside.
func stepValue(ctx context.Context, r Resolved, raw []byte) (next Resolved, inside bool, err error) {
	next = r
	err = withBlock(ctx, r.CID, raw, func(v datamodel.Node) error {
		next, inside, err = r.inValue(v)
		return err
	})
	return next, inside, err
}

func (r Resolved) inValue(v datamodel.Node) (next Resolved, inside bool, err error) {
	for i, name := range r.Rest {
		if v, err = v.LookupBySegment(datamodel.ParsePathSegment(name)); err != nil {
			if i < len(r.Rest)-1 {
				return r, false, noLink(name, r.CID)
			}
			return r, false, lookupError(err, name, r.CID)
		}
		if v.Kind() != datamodel.Kind_Link {
			continue
		}
		l, err := v.AsLink()
		if err != nil {
			return r, false, failedBy(err)
		}
		to, ok := l.(cidlink.Link)
		if !ok {
			return r, false, failed("the link %q is not a CID", name)
		}
		return Resolved{to.Cid, r.Rest[i+1:]}, false, nil
	}
	return r, true, nil
}

func lookupError(err error, name string, under cid.Cid) error {
	var missing datamodel.ErrNotExists
	if errors.As(err, &missing) {
		return &nodegate.Error{Op: opResolve, Code: nodegate.NotFound, Msg: err.Error()}
	}
	return noLink(name, under)
}

// value hands what a path leads to, inside a block too, to use.
func (o *Objects) value(ctx context.Context, text string, use func(datamodel.Node) error) error {
	r, err := o.Resolve(ctx, text)
	if err != nil {
		return err
	}
	raw, err := getter(o.get).inTurn(ctx, r.CID)
	if err != nil {
		return err
	}
	return withBlock(ctx, r.CID, raw, func(v datamodel.Node) (err error) {
		for _, name := range r.Rest {
			if v, err = v.LookupBySegment(datamodel.ParsePathSegment(name)); err != nil {
				return failedBy(err)
			}
		}
		return use(v)
	})
}

// withBlock decodes a block by its codec and hands its value to use.
func withBlock(ctx context.Context, id cid.Cid, raw []byte, use func(datamodel.Node) error) error {
	c, ok := codecs(id.Type())
	if !ok {
		return failed("no decoder registered for multicodec code %d (%#x)", id.Type(), id.Type())
	}
	return c.withValue(ctx, c.builder(), raw, use)
}
