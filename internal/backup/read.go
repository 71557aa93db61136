package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nodegate/nodegate"
)

// Reader reads a backup.
type Reader struct {
	path   string
	from   reading
	sealer sealer
}

// Open opens a backup for reading.
//
// Returns NotFound where there is none, BadConfig for a newer format, and InvalidInput for
// a passphrase that doesn't fit.
func Open(path, passphrase string) (r *Reader, err error) {
	r = &Reader{path: path}
	if info, err := os.Stat(path); err != nil {
		return nil, fault(nodegate.NotFound, "there is no backup "+path, err)
	} else if info.IsDir() {
		r.from = &folder{dir: path}
	} else if r.from, err = openTar(path); err != nil {
		return nil, err
	}
	text, err := r.from.read(headerName)
	if errors.Is(err, os.ErrNotExist) {
		err = fault(nodegate.NotFound, path+" is not a backup: it has no "+headerName, nil)
	} else if err == nil {
		r.sealer, err = readHeader(text, passphrase)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Snapshots lists the names of those that are whole, oldest first.
//
// Returns NotFound where there is none: the first backup was interrupted.
func (r *Reader) Snapshots() ([]string, error) {
	names, err := r.from.list(snapshotDir)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fault(nodegate.NotFound, "there is no complete backup in "+r.path+": it was interrupted. Run it again", nil)
	}
	for i, name := range names {
		names[i] = name[len(snapshotDir)+1:]
	}
	return names, nil
}

// Snapshot reads one; "" is the newest.
//
// Returns NotFound for one that is not there, and Damaged.
func (r *Reader) Snapshot(name string) (*Snapshot, error) {
	names, err := r.Snapshots()
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = names[len(names)-1]
	}
	if !r.from.has(snapshotPath(name)) {
		return nil, fault(nodegate.NotFound, fmt.Sprintf("there is no snapshot %q in the backup; there are %q", name, names), nil)
	}
	s, err := readSnapshot(r.from, r.sealer, snapshotPath(name))
	if err == nil && s.Format > Format {
		err = fault(nodegate.BadConfig, "the snapshot "+name+" was made by a newer nodegate: its format is "+number(s.Format)+" and this one knows "+number(Format)+". Use the newer nodegate", nil)
	}
	return s, err
}

// chunk reads and checks one.
func (r *Reader) chunk(name string) ([]byte, error) {
	path := chunkPath(name)
	stored, err := r.from.read(path)
	if err != nil {
		return nil, damaged(path, err)
	}
	data, err := r.sealer.open(path, stored)
	if err == nil && r.sealer.chunkName(data) != name {
		err = damaged(path, nil)
	}
	return data, err
}

// File reads a file chunk by chunk. Each is checked before it is returned.
func (r *Reader) File(ctx context.Context, f *File) io.Reader {
	return &fileReader{ctx: ctx, r: r, chunks: f.Chunks, left: f.Size}
}

type fileReader struct {
	ctx    context.Context
	r      *Reader
	chunks []string
	data   []byte
	left   int64
}

func (f *fileReader) Read(b []byte) (int, error) {
	for len(f.data) == 0 {
		if len(f.chunks) == 0 {
			if f.left != 0 {
				return 0, damaged("a snapshot", errors.New("the chunks of a file have another size"))
			}
			return 0, io.EOF
		}
		if err := f.ctx.Err(); err != nil {
			return 0, err
		}
		var err error
		if f.data, err = f.r.chunk(f.chunks[0]); err != nil {
			return 0, err
		}
		f.chunks = f.chunks[1:]
		f.left -= int64(len(f.data))
	}
	n := copy(b, f.data)
	f.data = f.data[n:]
	return n, nil
}

// Verified is what came of reading a whole backup.
type Verified struct {
	Snapshots int
	Files     int
	Chunks    int
	Bytes     int64 // of the chunks
	Damaged   []string
}

// maxDamaged bounds the list of what is damaged.
const maxDamaged = 100

func (v *Verified) note(err error) {
	if len(v.Damaged) < maxDamaged {
		v.Damaged = append(v.Damaged, err.Error())
	}
}

// Verify reads everything and compares it with its checksums. Damage is in the report.
func (r *Reader) Verify(ctx context.Context) (v Verified, err error) {
	names, err := r.Snapshots()
	if err != nil {
		return v, err
	}
	seen := map[string]bool{}
	for _, name := range names {
		s, err := r.Snapshot(name)
		if errors.Is(err, nodegate.Damaged) {
			v.note(err)
			continue
		}
		if err != nil {
			return v, err
		}
		v.Snapshots++
		for i := range s.Files {
			v.Files++
			if err := r.verifyFile(ctx, &s.Files[i], seen, &v); err != nil {
				return v, err
			}
		}
	}
	return v, nil
}

func (r *Reader) verifyFile(ctx context.Context, f *File, seen map[string]bool, v *Verified) error {
	for _, name := range f.Chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		data, err := r.chunk(name)
		if err != nil {
			v.note(fmt.Errorf("%s: %w", f.Name, err))
			continue
		}
		v.Chunks++
		v.Bytes += int64(len(data))
	}
	return nil
}

// Close closes the backup.
func (r *Reader) Close() error { return r.from.close() }
