package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// Options say how a backup is made.
type Options struct {
	Path       string // a folder, or a file that ends in .tar
	Passphrase string // encrypts; "" doesn't
	Program    string // the version that makes it
	Keep       int    // how many snapshots stay in a folder; 0 keeps all
	Reserve    int64  // bytes that stay free on its disk
}

// Sizes of chunks. Small ones find more that is not new, and are more files.
const (
	LargeChunk = 4 << 20
	SmallChunk = 256 << 10

	// maxPart bounds what is read at once of a backup.
	maxPart = 1 << 30
)

// Writer makes one backup.
type Writer struct {
	opts   Options
	to     writing
	folder *folder // the same one, or nil for a file
	sealer sealer
	guard  *disk.Guard
	before *Snapshot        // the newest one that was there, or nil
	known  map[string]*File // of before
	snap   Snapshot
	report Report
}

// Report says what a backup has written.
type Report struct {
	Snapshot string // its name
	Files    int
	Bytes    int64 // of all files
	New      int64 // of the chunks that were not there
	Removed  int   // older snapshots
}

// Create begins a backup.
//
// Returns InvalidInput where the name or the passphrase can't be used, and Conflict while
// another backup is written there.
func Create(o Options) (w *Writer, err error) {
	w = &Writer{opts: o, snap: Snapshot{Format: Format, Created: time.Now().UTC(), Program: o.Program, Notes: map[string]string{}}}
	w.snap.Name = w.snap.Created.Format(stamp)
	if IsFile(o.Path) {
		t, err := createTar(o.Path)
		if err != nil {
			return nil, err
		}
		w.to = t
	} else {
		if w.folder, err = createFolder(o.Path); err != nil {
			return nil, err
		}
		w.to = w.folder
	}
	w.guard = disk.NewGuard(w.dir(), o.Reserve)
	if err := w.begin(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// dir is a folder on the disk of the backup.
func (w *Writer) dir() string {
	if w.folder == nil {
		return filepath.Dir(w.opts.Path)
	}
	return w.opts.Path
}

// begin writes the header, or takes the one that is there.
func (w *Writer) begin() error {
	if w.folder == nil || !w.folder.has(headerName) {
		h, s := newHeader(w.opts.Passphrase)
		w.sealer = s
		text, err := json.MarshalIndent(h, "", "  ")
		if err != nil {
			return err
		}
		return w.wrap(w.to.write(headerName, append(text, '\n')))
	}
	text, err := w.folder.read(headerName)
	if err != nil {
		return damaged(headerName, err)
	}
	if w.sealer, err = readHeader(text, w.opts.Passphrase); err != nil {
		return err
	}
	names, err := w.folder.list(snapshotDir)
	if err != nil || len(names) == 0 {
		return err
	}
	before, err := readSnapshot(w.folder, w.sealer, names[len(names)-1])
	if errors.Is(err, nodegate.Damaged) {
		return nil // only a whole one saves work
	}
	if err != nil {
		return err
	}
	w.before, w.known = before, map[string]*File{}
	for i := range before.Files {
		w.known[before.Files[i].Name] = &before.Files[i]
	}
	return nil
}

// Note keeps a word for whoever restores.
func (w *Writer) Note(name, value string) { w.snap.Notes[name] = value }

// Expect sees that the disk has space for so many bytes, less what is there already.
//
// Returns InsufficientStorage.
func (w *Writer) Expect(bytes int64) error {
	if w.before != nil {
		bytes -= w.before.Bytes()
	}
	free, err := disk.Free(w.dir())
	if err != nil || max(bytes, 0) <= free-w.opts.Reserve {
		return err
	}
	return fault(nodegate.InsufficientStorage, fmt.Sprintf("there is not enough space for the backup: it may take %d MiB, and %s has %d MiB free, of which %d MiB stay free (storage.reserve)",
		bytes>>20, w.dir(), free>>20, w.opts.Reserve>>20), nil)
}

// settled is how long before a backup a file must have been changed last for its size and
// time to show that it is the same: times of files are coarse.
const settled = 2 * time.Second

// Known takes a file over from the snapshot before, if it has the same size and time and
// its chunks are there.
func (w *Writer) Known(name string, size int64, modified time.Time) bool {
	f := w.known[name]
	if f == nil || f.Size != size || !f.Modified.Equal(modified) || w.before.Created.Sub(modified) < settled || !w.hasAll(f.Chunks) {
		return false
	}
	w.snap.Files = append(w.snap.Files, *f)
	return true
}

func (w *Writer) hasAll(chunks []string) bool {
	for _, name := range chunks {
		if !w.to.has(chunkPath(name)) {
			return false
		}
	}
	return true
}

// Copy adds a file of f.Size bytes, in chunks of one size.
func (w *Writer) Copy(ctx context.Context, f File, r io.Reader, chunk int) error {
	buf := make([]byte, min(int64(chunk), max(f.Size, 1)))
	left := f.Size
	next := func() ([]byte, error) {
		if left == 0 {
			return nil, io.EOF
		}
		n, err := io.ReadFull(r, buf[:min(left, int64(len(buf)))])
		if left -= int64(n); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fault(nodegate.Damaged, fmt.Sprintf("%s is %d bytes shorter than it was", f.Name, left), nil)
		}
		return buf[:n], err
	}
	return w.Add(ctx, f, next)
}

// Add adds a file in the pieces that next returns, until io.EOF. Its size is theirs.
func (w *Writer) Add(ctx context.Context, f File, next func() ([]byte, error)) error {
	f.Size, f.Chunks = 0, []string{}
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		data, err := next()
		if errors.Is(err, io.EOF) {
			w.snap.Files = append(w.snap.Files, f)
			return nil
		}
		if err != nil {
			return err
		}
		if len(data) == 0 {
			continue
		}
		name, err := w.chunk(data)
		if err != nil {
			return err
		}
		f.Size += int64(len(data))
		f.Chunks = append(f.Chunks, name)
	}
}

// Drop takes back the files that were added below a folder, to add them again.
func (w *Writer) Drop(folder string) {
	w.snap.Files = slices.DeleteFunc(w.snap.Files, func(f File) bool { return strings.HasPrefix(f.Name, folder) })
}

// chunk keeps a piece, if it is new.
func (w *Writer) chunk(data []byte) (string, error) {
	name := w.sealer.chunkName(data)
	if w.to.has(chunkPath(name)) {
		return name, nil
	}
	if err := w.guard.Check(); err != nil {
		return "", err
	}
	w.report.New += int64(len(data))
	return name, w.wrap(w.to.write(chunkPath(name), w.sealer.seal(chunkPath(name), data)))
}

// wrap says what a failed write means.
func (w *Writer) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case disk.IsFull(err):
		return disk.Full("backup.write", err)
	}
	return fault(nodegate.Internal, "can't write the backup "+w.opts.Path, err)
}

// Finish makes the backup a whole one, and removes snapshots that are not kept any more.
func (w *Writer) Finish() (Report, error) {
	text, err := json.Marshal(&w.snap)
	if err != nil {
		return w.report, err
	}
	if err := w.wrap(w.to.settle()); err != nil {
		return w.report, err
	}
	path := snapshotPath(w.snap.Name)
	if err := w.wrap(w.to.publish(path, w.sealer.seal(path, text))); err != nil {
		return w.report, err
	}
	w.report.Snapshot, w.report.Files, w.report.Bytes = w.snap.Name, len(w.snap.Files), w.snap.Bytes()
	return w.report, w.prune()
}

// prune removes old snapshots, and then the chunks that none needs. While one of those that
// stay can't be read, nobody knows what it needs.
func (w *Writer) prune() error {
	if w.folder == nil {
		return nil
	}
	names, err := w.folder.list(snapshotDir)
	if err != nil {
		return err
	}
	for w.opts.Keep > 0 && len(names) > w.opts.Keep {
		if err := w.folder.remove(names[0]); err != nil {
			return w.wrap(err)
		}
		names = names[1:]
		w.report.Removed++
	}
	needed := map[string]bool{}
	for _, name := range names {
		snap, err := readSnapshot(w.folder, w.sealer, name)
		if err != nil {
			return nil // --verify reports it; nothing is removed
		}
		for i := range snap.Files {
			for _, chunk := range snap.Files[i].Chunks {
				needed[chunkPath(chunk)] = true
			}
		}
	}
	return w.removeOthers(needed)
}

func (w *Writer) removeOthers(needed map[string]bool) error {
	names, err := w.folder.list(chunksDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !needed[name] {
			if err := w.folder.remove(name); err != nil {
				return w.wrap(err)
			}
		}
	}
	return nil
}

// Close gives up a backup that is not finished, and lets others write.
func (w *Writer) Close() error { return w.to.close() }
