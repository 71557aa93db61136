package unixfs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// Event is one line of add's answer.
type Event struct {
	Name       string
	Hash       string `json:",omitempty"`
	Bytes      int64  `json:",omitempty"`
	Size       string `json:",omitempty"`
	Mode       string `json:",omitempty"`
	Mtime      int64  `json:",omitempty"`
	MtimeNsecs int    `json:",omitempty"`
}

// Root is one thing that was added: a file, or a directory with all in it.
type Root struct {
	CID    cid.Cid
	Name   string // in the upload
	Size   uint64 // of all blocks, each time it occurs
	Stored int64  // of all blocks, once each: what a pin of it costs
}

// Added is what an upload became. Its events name CIDs, so they may be shown only
// after the batch is committed.
type Added struct {
	Events []Event
	Roots  []Root
	Bytes  int64 // of content
}

// adder is one upload.
type adder struct {
	objects  *Objects
	batch    Batch
	opts     *Options
	progress func(Event)
	out      *Added

	top    listing // the entry of the upload that is being added
	prefix string  // what its events' names start with
	leaves leafPool
	hold   *budget.Hold // memory of the request

	blocks  int // of the whole upload
	entries int // files and directories, implied ones too
	seen    map[blockKey]struct{}
	stored  int64
	root    *folder // of the top entry, when it is a directory
}

// Add reads a multipart body to its closing boundary and puts its files and
// directories into the batch, with their pins. Nothing is kept before the caller
// commits. Events about bytes read go to progress at once; the others are returned.
//
// Returns InvalidInput for a body that is no multipart or ends early, TooLarge
// beyond the limits, Conflict when it is not what the client expected.
func (o *Objects) Add(ctx context.Context, batch Batch, body io.Reader, boundary string, opts *Options, progress func(Event)) (*Added, error) {
	a := &adder{objects: o, batch: batch, opts: opts, progress: progress, out: &Added{}, seen: map[blockKey]struct{}{}, hold: budget.From(ctx)}
	a.leaves = leafPool{size: max(opts.chunkSize, DefaultChunk), buffers: &o.buffers, hold: a.hold}
	defer a.leaves.release()
	all, done := o.parts(ctx, body, boundary, opts.Limits)
	defer done()
	if err := a.addAll(ctx, all); err != nil {
		return nil, failedBy(err)
	}
	return a.out, a.checkExpected()
}

// addAll adds each top entry for itself, or all of them inside one directory.
func (a *adder) addAll(ctx context.Context, all *listing) error {
	if a.opts.Wrap {
		return a.addTop(ctx, listing{walker: all.walker, path: "/"})
	}
	for all.next() {
		if err := a.addTop(ctx, *all); err != nil {
			return err
		}
	}
	if all.err == nil && len(a.out.Roots) == 0 {
		return failed("expected a file argument")
	}
	return all.err
}

// addTop adds one entry of the upload with all in it, and its pin.
func (a *adder) addTop(ctx context.Context, top listing) error {
	a.top, a.stored, a.root = top, 0, nil
	if len(a.seen) > 1024 { // emptying a large map takes long
		a.seen = map[blockKey]struct{}{}
	}
	clear(a.seen)
	var c child
	var err error
	if top.isDir() {
		a.prefix = top.name
		c, err = a.addTopDir(ctx, top.dir())
	} else {
		a.prefix = ""
		c, err = a.addFile(ctx, nil, &top, "")
	}
	if err != nil {
		return err
	}
	a.out.Roots = append(a.out.Roots, Root{CID: c.cid, Name: top.name, Size: c.below, Stored: a.stored})
	if a.opts.Pin {
		a.batch.Pin(nodegate.Pin{CID: textOf(c.cid), Name: a.pinName(top.name), Recursive: true, Size: a.stored, Created: time.Now().UTC()})
	}
	return nil
}

// pinName is what a root's pin is called.
func (a *adder) pinName(file string) string {
	if !a.opts.NamePins || a.opts.PinName != "" {
		return a.opts.PinName
	}
	return strings.ToValidUTF8(file[:min(len(file), maxPinName)], "")
}

func (a *adder) addTopDir(ctx context.Context, entries *listing) (child, error) {
	a.root = newFolder(a.keep(&a.top))
	if _, err := a.addEntries(ctx, a.root, entries, ""); err != nil {
		return child{}, err
	}
	return a.finishFolder(ctx, a.root, "")
}

// keep is what is stored of an entry's attributes.
func (a *adder) keep(l *listing) stat {
	s := a.opts.stat
	if a.opts.preserveMode {
		s.mode = l.stat().mode
	}
	if a.opts.preserveMtime {
		s.mtime = l.stat().mtime
	}
	return s
}

// addEntries adds what is in a directory, and returns how many entries there were.
func (a *adder) addEntries(ctx context.Context, dir *folder, entries *listing, at string) (int, error) {
	n := 0
	for ; entries.next(); n++ {
		name := path.Join(at, entries.name)
		if entries.isDir() {
			if err := a.addDir(ctx, dir, entries, name); err != nil {
				return n, err
			}
			continue
		}
		if _, err := a.addFile(ctx, dir, entries, name); err != nil {
			return n, err
		}
	}
	return n, entries.err
}

// addDir adds a directory inside another one. One that is there already is added to.
func (a *adder) addDir(ctx context.Context, parent *folder, l *listing, at string) error {
	if at == "" {
		return failed("no path given to Mkdir")
	}
	fairshare.Count(ctx, entryWork)
	if err := a.countEntry(); err != nil {
		return err
	}
	old := parent.entries[l.name]
	if old != nil && old.dir == nil {
		return failed("%s", os.ErrExist.Error())
	}
	dir := newFolder(a.keep(l))
	if old != nil {
		dir = old.dir
	}
	n, err := a.addEntries(ctx, dir, l.dir(), at)
	if err != nil || n == 0 && !a.opts.emptyDirs {
		return err
	}
	parent.entries[l.name] = &entry{dir: dir}
	return nil
}

// entryWork is about what a file costs besides its blocks: to read its headers, and to name
// it in the answer. Where the blocks are known or empty, that is most of the work.
const entryWork = 10 * time.Microsecond

// partsOfTurn is how many parts of an upload come before a turn. A turn for each part would take
// a tenth of the time of small files.
const partsOfTurn = 5

// entryTurn counts the parts of an upload and takes a turn for every few of them. Their headers
// may still have to come, so they are not read in the turn; but who takes the next turn at once
// keeps the place of the last one, and many small parts are read in it.
func entryTurn(ctx context.Context) func() error {
	n := 0
	return func() error {
		if n++; n%partsOfTurn != 0 {
			return nil
		}
		return countCut(ctx, partsOfTurn*entryWork)
	}
}

// countEntry bounds how many files and directories an upload makes: a deep name
// implies many.
func (a *adder) countEntry() error {
	if a.entries++; a.entries > 2*a.opts.Limits.parts() {
		return tooLarge("too many files and directories in one request: at most %d", 2*a.opts.Limits.parts())
	}
	return nil
}

// addFile adds a file or a symlink to a directory, or for itself when dir is nil.
func (a *adder) addFile(ctx context.Context, dir *folder, l *listing, at string) (child, error) {
	if err := a.countEntry(); err != nil {
		return child{}, err
	}
	var c child
	var err error
	if l.part.kind == kindSymlink {
		c, err = a.symlink(ctx, l.part, a.keep(l))
	} else {
		c, err = a.content(ctx, &counted{adder: a, name: at, r: l.part.body}, a.keep(l))
	}
	if err != nil {
		return child{}, err
	}
	if at == "" && (dir != nil || a.top.isDir() || a.top.name == "") { // it is called after its CID
		at = textOf(c.cid)
	}
	if dir != nil {
		if err := dir.put(path.Base(at), c); err != nil {
			return child{}, err
		}
	}
	if !a.opts.Silent {
		a.emit(at, c)
	}
	return c, nil
}

func (a *adder) symlink(ctx context.Context, p *part, s stat) (child, error) {
	target, err := p.target()
	if err != nil {
		return child{}, err
	}
	return a.putNode(ctx, simpleNode(kindSymlink, []byte(target), stat{mtime: s.mtime}))
}

// putNode names and stores a dag-pb block without links.
func (a *adder) putNode(ctx context.Context, block []byte) (child, error) {
	c, err := a.opts.scheme.sum(cid.DagProtobuf, block)
	if err != nil {
		return child{}, err
	}
	return child{cid: c, below: uint64(len(block))}, a.put(ctx, c, block)
}

// content adds a file's bytes. A file of one chunk, which is most of them, is done
// right here; a longer one gets the belt.
func (a *adder) content(ctx context.Context, r io.Reader, s stat) (child, error) {
	next, err := a.opts.cutter(ctx, r)
	if err != nil {
		return child{}, err
	}
	first, err := a.leaves.get(0)
	if err != nil {
		return child{}, err
	}
	buf, err := next(first.buf)
	if err == io.EOF {
		return a.empty(ctx, s)
	}
	if err != nil {
		return child{}, err
	}
	first.buf = buf
	if short := len(buf)-leafRoom < a.opts.chunkSize; !short {
		second, err := a.leaves.get(1)
		if err != nil {
			return child{}, err
		}
		switch buf, err := next(second.buf); err {
		case nil:
			second.buf = buf
			return a.long(ctx, next, s)
		case io.EOF:
		default:
			return child{}, err
		}
	}
	return a.short(ctx, first, s)
}

// smallFile is how many bytes are hashed in some microseconds: a turn costs a tenth of that.
const smallFile = 16 << 10

// short adds a file of one chunk.
func (a *adder) short(ctx context.Context, l *leaf, s stat) (child, error) {
	of := s
	if a.opts.Trickle {
		of = stat{} // they go into the node above it
	}
	if err := l.keep(ctx, a, of); err != nil || !a.opts.Trickle {
		return l.child(), err
	}
	b := &branch{}
	b.add(l.child())
	return b.finish(ctx, a, s)
}

// keep names and stores the only leaf of a file: a small one in one turn.
func (l *leaf) keep(ctx context.Context, a *adder, of stat) error {
	keep := func(ctx context.Context) {
		if a.seal(ctx, l, of); l.err == nil {
			l.err = a.put(ctx, l.cid, l.block)
		}
	}
	if len(l.buf) > smallFile {
		keep(ctx)
	} else if err := fairshare.Turn(ctx, keep); err != nil {
		return cancelled(err)
	}
	return l.err
}

func (a *adder) empty(ctx context.Context, s stat) (child, error) {
	if a.opts.rawLeaves && !a.opts.Trickle {
		c, err := a.opts.scheme.sum(cid.Raw, nil)
		if err != nil {
			return child{}, err
		}
		return child{cid: c}, a.put(ctx, c, nil)
	}
	return (&branch{}).finish(ctx, a, s)
}

// blockKey tells blocks of one upload or walk apart: half of a digest is plenty. What
// looks like a block that was seen is skipped and not counted, so a client must not be
// able to choose two CIDs with one key.
type blockKey struct {
	digest [16]byte
	codec  uint64
}

func keyOf(c cid.Cid) blockKey {
	p := c.Prefix()
	k := blockKey{codec: p.Codec}
	if p.MhType != multihash.IDENTITY && p.MhLength >= len(k.digest) { // most: without a copy of the hash
		text := c.KeyString()
		copy(k.digest[:], text[len(text)-len(k.digest):])
		return k
	}
	hash := c.Hash()
	if p.MhType == multihash.IDENTITY { // its end is the client's choice
		sum := sha256.Sum256(hash)
		hash = sum[:len(k.digest)] // the other half than of stored blocks
	}
	copy(k.digest[:], hash[max(len(hash)-len(k.digest), 0):])
	return k
}

// stored is the key of the bytes, whatever codec they are read with.
func (k blockKey) stored() blockKey {
	k.codec = cid.Raw
	return k
}

// put stores a block, unless this root has it already.
func (a *adder) put(ctx context.Context, c cid.Cid, block []byte) error {
	if a.blocks++; a.blocks > a.opts.Limits.blocks() {
		return tooLarge("too many blocks in one request: at most %d: use a chunker with larger chunks", a.opts.Limits.blocks())
	}
	if err := holdBlocks(a.hold, a.blocks); err != nil {
		return err
	}
	if c.Prefix().MhType == multihash.IDENTITY {
		return checkCID(c)
	}
	k := keyOf(c)
	if _, known := a.seen[k]; known {
		return nil
	}
	a.seen[k] = struct{}{}
	a.stored += nodegate.BlockCharge(len(block))
	if a.opts.OnlyHash {
		return nil
	}
	return a.batch.Put(ctx, c, block)
}

// emit notes what a file or directory became.
func (a *adder) emit(name string, c child) {
	e := a.event(name)
	e.Hash = a.opts.encoder.Encode(c.cid)
	e.Size = strconv.FormatUint(c.below, 10)
	a.out.Events = append(a.out.Events, e)
}

// event is a line about something in the top entry. Kubo shows the attributes of the
// top entry in all of them.
func (a *adder) event(name string) Event {
	if !a.top.isDir() && a.top.name != "" {
		name = a.top.name
	} else {
		name = path.Join(a.prefix, name)
	}
	e := Event{Name: name}
	s := a.top.stat()
	if s.mode != 0 {
		e.Mode = "0" + strconv.FormatUint(uint64(s.mode), 8)
	}
	if !s.mtime.IsZero() {
		e.Mtime = s.mtime.Unix()
		e.MtimeNsecs = s.mtime.Nanosecond()
	}
	return e
}

func (a *adder) checkExpected() error {
	want := a.opts.Expect
	if !want.Defined() {
		return nil
	}
	got := a.out.Roots[len(a.out.Roots)-1].CID
	if got.Type() == want.Type() && string(got.Hash()) == string(want.Hash()) {
		return nil
	}
	return &nodegate.Error{
		Op: "unixfs.add", Code: nodegate.Mismatch,
		Msg: fmt.Sprintf("expected CID %s, but with these options the content is %s: nothing was stored", want, got),
	}
}

// progressStep is how many bytes are read between two lines about it.
const progressStep = 256 << 10

// counted reads a file's content: it bounds it, tells the client how far it got, and
// turns what ends early into an error.
type counted struct {
	adder *adder
	name  string
	r     io.Reader
	bytes int64
	told  int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.bytes += int64(n)
	c.adder.out.Bytes += int64(n)
	if limit := c.adder.opts.Limits.FileBytes; limit > 0 && c.bytes > limit {
		return n, tooLarge("a file is too large: at most %d bytes", limit)
	}
	if err != nil && err != io.EOF {
		return n, badBody(err)
	}
	if c.adder.opts.Progress && (c.bytes-c.told >= progressStep || err == io.EOF) {
		c.told = c.bytes
		e := c.adder.event(c.name)
		e.Bytes = c.bytes
		c.adder.progress(e)
	}
	return n, err
}
