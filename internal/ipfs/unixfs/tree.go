package unixfs

import (
	"archive/tar"
	"cmp"
	"context"
	"io"
	"path"
	"strings"
	"time"

	"github.com/ipfs/boxo/files"
	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/fairshare"
)

// Tree is a file, a symlink or a directory with all in it, to be written as a tar.
type Tree struct {
	objects *Objects
	node    *node
	fs      *unixfs // nil for a raw block
	name    string
	size    int64
}

// Get opens what is at a path. Its root is read before it returns.
func (o *Objects) Get(ctx context.Context, text string) (*Tree, error) {
	p, err := parsePath(text)
	if err != nil {
		return nil, err
	}
	r, err := o.Resolve(ctx, text)
	if err != nil {
		return nil, err
	}
	t, err := getter(o.get).tree(ctx, o, link{name: path.Base(path.Clean(p.String())), cid: r.CID})
	if err != nil {
		return nil, err
	}
	t.size = int64(t.node.size())
	if t.IsDir() {
		return t, nil
	}
	f, err := fileOf(t.node)
	if err != nil {
		return nil, err
	}
	t.size = f.size
	return t, o.limits.Check(f.size)
}

// tree opens one entry.
func (g getter) tree(ctx context.Context, o *Objects, l link) (*Tree, error) {
	raw, err := g(ctx, l.cid)
	if err != nil {
		return nil, err
	}
	return parsedTree(ctx, o, l, raw)
}

func parsedTree(ctx context.Context, o *Objects, l link, raw []byte) (*Tree, error) {
	n, err := decodeInTurn(ctx, l.cid, raw)
	if err != nil {
		return nil, err
	}
	t := &Tree{objects: o, node: n, name: l.name}
	if n.cid.Type() == cid.DagProtobuf {
		t.fs, err = n.fs()
	}
	return t, err
}

// IsDir tells whether it is a directory.
func (t *Tree) IsDir() bool { return t.fs != nil && t.fs.isDir() }

// IsFile tells whether it is a file.
func (t *Tree) IsFile() bool { return t.fs == nil || t.fs.kind == kindFile || t.fs.kind == kindRaw }

// WriteContent writes a file's content.
func (t *Tree) WriteContent(ctx context.Context, w io.Writer) error {
	f, err := fileOf(t.node)
	if err != nil {
		return err
	}
	c := &Content{size: f.size, pieces: []*reader{t.objects.reader(ctx, f, 0, f.size)}}
	defer c.Close()
	_, err = c.WriteTo(w)
	return failedBy(err)
}

// Size is a file's size, or the size of a directory's blocks together: how much
// there will be, about, for a progress bar.
func (t *Tree) Size() int64 { return t.size }

// WriteTar writes it as a tar archive. Kubo's clients get times to the nanosecond
// in the PAX format when the archive is only the transport, and the plain format
// when it is what the user asked for.
func (t *Tree) WriteTar(ctx context.Context, w io.Writer, plain bool) error {
	out := &heldWriter{w: w}
	a := &archive{tar: tar.NewWriter(out), out: out, format: tar.FormatPAX, now: time.Now().Truncate(time.Second), get: t.objects.listing(), root: t.name}
	if plain {
		a.format = tar.FormatUnknown
	}
	if err := a.write(ctx, t, t.name, 0); err != nil {
		return err
	}
	return failedBy(a.tar.Close())
}

// archive is a tar while it is written.
type archive struct {
	tar    *tar.Writer
	out    *heldWriter // that tar writes to
	format tar.Format
	now    time.Time // of entries without a time, in whole seconds: a fraction doubles each header
	get    getter    // for directories and the first blocks of files
	opened remembered[*Tree]
	bytes  int64  // of files
	root   string // that all names are below

	relative, symlinks bool // whether it has names that lead elsewhere, and symlinks
}

func (a *archive) write(ctx context.Context, t *Tree, at string, depth int) error {
	if depth > maxDepth {
		return failed("directories are nested too deeply: at most %d", maxDepth)
	}
	switch {
	case t.IsDir():
		return a.directory(ctx, t, at, depth)
	case t.fs != nil && t.fs.kind == kindSymlink:
		if a.symlinks = true; a.relative {
			return errOutside()
		}
		h := &tar.Header{Name: at, Typeflag: tar.TypeSymlink, Linkname: string(t.fs.data)}
		return a.header(ctx, h, stat{mtime: t.fs.stat.mtime}, 0o777)
	}
	return a.file(ctx, t, at)
}

// header writes an entry's header. It is made in turn, and written out of turn: that may wait
// for the client.
func (a *archive) header(ctx context.Context, h *tar.Header, s stat, perms uint32) error {
	if p := files.ModePermsToUnixPerms(s.mode); p != 0 {
		perms = p
	}
	h.Format, h.Mode, h.ModTime = a.format, int64(perms), s.mtime
	if s.mtime.IsZero() {
		h.ModTime = a.now
	}
	var failure error
	if err := fairshare.Do(ctx, func() { failure = a.out.hold(func() error { return a.tar.WriteHeader(h) }) }); err != nil {
		return err
	}
	return failedBy(cmp.Or(failure, a.out.release()))
}

// heldWriter keeps what is written while it holds.
type heldWriter struct {
	w     io.Writer
	holds bool
	kept  []byte
}

func (h *heldWriter) Write(data []byte) (int, error) {
	if !h.holds {
		return h.w.Write(data)
	}
	h.kept = append(h.kept, data...)
	return len(data), nil
}

func (h *heldWriter) hold(write func() error) error {
	h.holds = true
	defer func() { h.holds = false }()
	return write()
}

// release writes what was kept.
func (h *heldWriter) release() error {
	_, err := h.w.Write(h.kept)
	h.kept = h.kept[:0]
	return err
}

func (t *Tree) stat() stat {
	if t.fs == nil {
		return stat{}
	}
	return t.fs.stat
}

func (a *archive) directory(ctx context.Context, t *Tree, at string, depth int) error {
	if err := a.header(ctx, &tar.Header{Name: at, Typeflag: tar.TypeDir}, t.stat(), 0o755); err != nil {
		return err
	}
	links, err := a.get.entries(ctx, t.node, t.fs)
	if err != nil {
		return err
	}
	release, err := holdLinks(ctx, links)
	if err != nil {
		return err
	}
	defer release()
	for _, l := range links {
		if strings.ContainsRune(l.name, 0) {
			return failed("the entry %q can't be in a tar archive: use dag/export, which keeps every name", l.name)
		}
		to, err := a.place(at, l.name)
		if err != nil {
			return err
		}
		inner, err := a.open(ctx, t.objects, l)
		if err != nil {
			return err
		}
		if err := a.write(ctx, inner, to, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// open is tree for an entry. The same one again is not parsed again: an archive that stands for
// very much has few blocks, and what parsing leaves behind is work for the collector, which
// all accounts feel.
func (a *archive) open(ctx context.Context, o *Objects, l link) (*Tree, error) {
	raw, err := a.get(ctx, l.cid) // counts it, again or not
	if err != nil {
		return nil, err
	}
	if t, ok := a.opened.find(l.cid); ok {
		return t, nil
	}
	t, err := parsedTree(ctx, o, l, raw)
	if err == nil && len(raw) <= rememberedBytes {
		a.opened.keep(l.cid, t)
	}
	return t, err
}

// place is where an entry of a directory goes. Its name may lead elsewhere in the archive,
// as in Kubo's, but not out of it, nor where a symlink in the archive could lead out of it.
func (a *archive) place(dir, name string) (string, error) {
	if isName(name) {
		return dir + "/" + name, nil
	}
	at := path.Join(dir, name)
	a.relative = true
	if a.symlinks || !strings.HasPrefix(at, a.root+"/") || strings.HasPrefix(dir+"/", at+"/") {
		return "", errOutside()
	}
	return at, nil
}

func errOutside() error {
	return failed("relative UnixFS paths outside the root are not allowed, use CAR instead")
}

// isName tells whether a directory's entry has a name that stays in the directory.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && path.Base(name) == name
}

func (a *archive) file(ctx context.Context, t *Tree, at string) error {
	f, err := fileOf(t.node)
	if err != nil {
		return err
	}
	if err := t.objects.limits.Check(a.bytes + f.size); err != nil {
		return err
	}
	a.bytes += f.size
	if err := a.header(ctx, &tar.Header{Name: at, Typeflag: tar.TypeReg, Size: f.size}, t.stat(), 0o644); err != nil {
		return err
	}
	c := &Content{size: f.size, pieces: []*reader{t.objects.reader(ctx, f, 0, f.size)}}
	defer c.Close()
	if _, err := c.WriteTo(a.tar); err != nil {
		return failedBy(err)
	}
	return failedBy(a.tar.Flush())
}
