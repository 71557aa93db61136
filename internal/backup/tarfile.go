package backup

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// newTar writes a backup into one file, which has another name until it is complete.
type newTar struct {
	path string
	file *os.File
	tar  *tar.Writer
	have map[string]struct{}
}

// partSuffix ends the name of a file that is being written.
const partSuffix = ".part"

// createTar begins a file. One that is there stays: it may be the only backup.
func createTar(path string) (*newTar, error) {
	if exists(path) {
		return nil, fault(nodegate.InvalidInput, "the file "+path+" exists: choose another name, or remove it first", nil)
	}
	file, err := os.OpenFile(path+partSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fault(nodegate.BadConfig, "can't write the file "+path, err)
	}
	return &newTar{path: path, file: file, tar: tar.NewWriter(file), have: map[string]struct{}{}}, nil
}

func (t *newTar) has(name string) bool { _, ok := t.have[name]; return ok }

func (t *newTar) write(name string, data []byte) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600, ModTime: time.Now(), Format: tar.FormatPAX}
	if err := t.tar.WriteHeader(h); err != nil {
		return err
	}
	t.have[name] = struct{}{}
	_, err := t.tar.Write(data)
	return err
}

func (t *newTar) settle() error { return nil }

// publish ends the file and gives it its name.
func (t *newTar) publish(name string, data []byte) error {
	if err := t.write(name, data); err != nil {
		return err
	}
	err := errors.Join(t.tar.Close(), t.file.Sync(), t.file.Close())
	t.file = nil
	if err != nil {
		return err
	}
	if err := os.Rename(t.path+partSuffix, t.path); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(t.path))
}

func (t *newTar) close() error {
	if t.file == nil {
		return nil
	}
	_ = t.file.Close() // it is thrown away
	return os.Remove(t.path + partSuffix)
}

// oldTar reads a backup from one file.
type oldTar struct {
	file  *os.File
	parts map[string]*io.SectionReader
}

// openTar finds the parts of a file. One that ends too early has no snapshot.
func openTar(path string) (*oldTar, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fault(nodegate.NotFound, "can't read the backup "+path, err)
	}
	t := &oldTar{file: file, parts: map[string]*io.SectionReader{}}
	for r := tar.NewReader(file); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, errors.Join(damaged(path, err), file.Close())
		}
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		t.parts[h.Name] = io.NewSectionReader(file, at, h.Size)
	}
}

func (t *oldTar) has(name string) bool { return t.parts[name] != nil }

func (t *oldTar) read(name string) ([]byte, error) {
	part := t.parts[name]
	if part == nil {
		return nil, fs.ErrNotExist
	}
	if part.Size() > maxPart {
		return nil, damaged(name, nil)
	}
	data := make([]byte, part.Size())
	_, err := part.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data, err
}

func (t *oldTar) list(folder string) (names []string, err error) {
	for name := range t.parts {
		if strings.HasPrefix(name, folder+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (t *oldTar) close() error { return t.file.Close() }
