package unixfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	gopath "path"
	"strconv"
	"testing"

	chunk "github.com/ipfs/boxo/chunker"
	"github.com/ipfs/boxo/files"
	dag "github.com/ipfs/boxo/ipld/merkledag"
	dagtest "github.com/ipfs/boxo/ipld/merkledag/test"
	ft "github.com/ipfs/boxo/ipld/unixfs"
	"github.com/ipfs/boxo/ipld/unixfs/importer/balanced"
	"github.com/ipfs/boxo/ipld/unixfs/importer/helpers"
	"github.com/ipfs/boxo/ipld/unixfs/importer/trickle"
	"github.com/ipfs/boxo/mfs"
	"github.com/ipfs/go-cid"
	"github.com/ipfs/go-cidutil"
	ipld "github.com/ipfs/go-ipld-format"
)

// oracle adds with boxo in the way that Kubo's adder does: the same calls in the same
// order, slow and simple. What it says is right.
type oracle struct {
	ctx    context.Context
	opts   *Options
	dag    ipld.DAGService
	root   *mfs.Root
	stat   stat
	top    files.DirIterator
	isDir  bool
	events []Event
	roots  []cid.Cid
}

// oracleAdd returns the lines and roots that Kubo would give.
func oracleAdd(t testing.TB, body []byte, boundary string, opts *Options) ([]Event, []cid.Cid, error) {
	all, err := files.NewFileFromPartReader(multipart.NewReader(bytes.NewReader(body), boundary), "multipart/form-data")
	if err != nil {
		t.Fatal(err)
	}
	if opts.Wrap {
		all = files.NewSliceDirectory([]files.DirEntry{files.FileEntry("", all)})
	}
	o := &oracle{ctx: t.Context(), opts: opts, dag: dagtest.Mock()}
	it := all.Entries()
	for it.Next() {
		o.top, o.root, o.stat = it, nil, opts.stat
		_, o.isDir = it.Node().(files.Directory)
		if err := o.addTop(it.Node()); err != nil {
			return nil, nil, err
		}
	}
	if it.Err() == nil && len(o.roots) == 0 {
		return nil, nil, errors.New("expected a file argument")
	}
	return o.events, o.roots, it.Err()
}

func (o *oracle) builder() cid.Builder {
	b := cid.Builder(cid.Prefix{Version: o.opts.scheme.version, Codec: cid.DagProtobuf, MhType: o.opts.scheme.hash, MhLength: -1})
	if o.opts.scheme.inline >= 0 {
		b = cidutil.InlineBuilder{Builder: b, Limit: o.opts.scheme.inline}
	}
	return b
}

func (o *oracle) mkdirOpts(extra ...mfs.Option) []mfs.Option {
	return append([]mfs.Option{mfs.WithCidBuilder(o.builder()), mfs.WithMaxLinks(o.opts.dirLinks), mfs.WithMaxHAMTFanout(o.opts.fanout)}, extra...)
}

func (o *oracle) mfsRoot() (*mfs.Root, error) {
	var err error
	if o.root == nil {
		o.root, err = mfs.NewEmptyRoot(o.ctx, o.dag, nil, nil, o.mkdirOpts()...)
	}
	return o.root, err
}

func (o *oracle) addTop(n files.Node) error {
	if err := o.addNode("", n, true); err != nil {
		return err
	}
	mr, err := o.mfsRoot()
	if err != nil {
		return err
	}
	var root mfs.FSNode = mr.GetDirectory()
	if err := root.Flush(); err != nil {
		return err
	}
	name := ""
	if !o.isDir {
		names, err := mr.GetDirectory().ListNames(o.ctx)
		if err != nil {
			return err
		}
		name = names[0]
		if root, err = mr.GetDirectory().Child(name); err != nil {
			return err
		}
	}
	if err := mr.Close(); err != nil {
		return err
	}
	nd, err := root.GetNode()
	if err != nil {
		return err
	}
	o.roots = append(o.roots, nd.Cid())
	return o.outputDirs(name, root)
}

func (o *oracle) outputDirs(path string, fsn mfs.FSNode) error {
	dir, ok := fsn.(*mfs.Directory)
	if !ok {
		return nil
	}
	names, err := dir.ListNames(o.ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		child, err := dir.Child(name)
		if err != nil {
			return err
		}
		if err := o.outputDirs(gopath.Join(path, name), child); err != nil {
			return err
		}
		dir.Uncache(name)
	}
	nd, err := dir.GetNode()
	if err != nil {
		return err
	}
	return o.output(path, nd)
}

func (o *oracle) output(name string, nd ipld.Node) error {
	size, err := nd.Size()
	if err != nil {
		return err
	}
	e := o.event(name)
	e.Hash, e.Size = nd.Cid().String(), strconv.FormatUint(size, 10)
	o.events = append(o.events, e)
	return nil
}

func (o *oracle) event(name string) Event {
	e := Event{Name: gopath.Join(o.top.Name(), name)}
	if !o.isDir && o.top.Name() != "" {
		e.Name = o.top.Name()
	}
	if m := o.top.Node().Mode(); m != 0 {
		e.Mode = "0" + strconv.FormatUint(uint64(m), 8)
	}
	if ts := o.top.Node().ModTime(); !ts.IsZero() {
		e.Mtime, e.MtimeNsecs = ts.Unix(), ts.Nanosecond()
	}
	return e
}

func (o *oracle) addNode(path string, n files.Node, top bool) error {
	defer n.Close()
	if o.opts.preserveMtime {
		o.stat.mtime = n.ModTime()
	}
	if o.opts.preserveMode {
		o.stat.mode = n.Mode()
	}
	switch f := n.(type) {
	case files.Directory:
		return o.addDir(path, f, top)
	case *files.Symlink:
		return o.addSymlink(path, f)
	case files.File:
		nd, err := o.addFile(f)
		if err != nil {
			return err
		}
		return o.patch(nd, path)
	}
	return errors.New("unknown file type")
}

func (o *oracle) addFile(r io.Reader) (ipld.Node, error) {
	spl, err := chunk.FromString(r, o.opts.Chunker)
	if err != nil {
		return nil, err
	}
	params := helpers.DagBuilderParams{
		Dagserv: o.dag, RawLeaves: o.opts.rawLeaves, Maxlinks: o.opts.fileLinks, CidBuilder: o.builder(),
		FileMode: o.stat.mode, FileModTime: o.stat.mtime,
	}
	db, err := params.New(spl)
	if err != nil {
		return nil, err
	}
	if o.opts.Trickle {
		return trickle.Layout(db)
	}
	return balanced.Layout(db)
}

func (o *oracle) addSymlink(path string, l *files.Symlink) error {
	data, err := ft.SymlinkData(l.Target)
	if err != nil {
		return err
	}
	if !o.stat.mtime.IsZero() {
		fsn, err := ft.FSNodeFromBytes(data)
		if err != nil {
			return err
		}
		fsn.SetModTime(o.stat.mtime)
		if data, err = fsn.GetBytes(); err != nil {
			return err
		}
	}
	nd := dag.NodeWithData(data)
	if err := nd.SetCidBuilder(o.builder()); err != nil {
		return err
	}
	if err := o.dag.Add(o.ctx, nd); err != nil {
		return err
	}
	return o.patch(nd, path)
}

func (o *oracle) patch(nd ipld.Node, path string) error {
	if path == "" {
		path = nd.Cid().String()
	}
	mr, err := o.mfsRoot()
	if err != nil {
		return err
	}
	if dir := gopath.Dir(path); dir != "." {
		if err := mfs.Mkdir(mr, dir, mfs.MkdirOpts{Mkparents: true}, o.mkdirOpts()...); err != nil {
			return err
		}
	}
	if err := mfs.PutNode(mr, path, nd); err != nil {
		return err
	}
	if o.opts.Silent {
		return nil
	}
	return o.output(path, nd)
}

func (o *oracle) addDir(path string, dir files.Directory, top bool) error {
	it := dir.Entries()
	has := it.Next()
	if !has {
		if err := it.Err(); err != nil {
			return err
		}
		if !o.opts.emptyDirs && !top {
			return nil
		}
	}
	withStat := o.mkdirOpts(mfs.WithMode(o.stat.mode), mfs.WithModTime(o.stat.mtime))
	if top && !o.stat.empty() {
		mr, err := mfs.NewEmptyRoot(o.ctx, o.dag, nil, nil, withStat...)
		if err != nil {
			return err
		}
		o.root = mr
	}
	if !top || path != "" {
		mr, err := o.mfsRoot()
		if err != nil {
			return err
		}
		if err := mfs.Mkdir(mr, path, mfs.MkdirOpts{Mkparents: true}, withStat...); err != nil {
			return err
		}
	}
	for ; has; has = it.Next() {
		if err := o.addNode(gopath.Join(path, it.Name()), it.Node(), false); err != nil {
			return err
		}
	}
	return it.Err()
}
