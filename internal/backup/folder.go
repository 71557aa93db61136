package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// folder keeps a backup as files, which only their owner may read.
type folder struct {
	dir   string
	lock  *flock.Flock        // one backup at a time; nil for reading
	dirty map[string]struct{} // folders with new names
}

const (
	lockName   = "lock"
	tempPrefix = ".new-"
)

// createFolder makes the folder, or takes that of an earlier backup.
func createFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault(nodegate.BadConfig, "can't create the folder "+dir, err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, fault(nodegate.BadConfig, "can't read the folder "+dir, err)
	}
	if len(list) > 0 && !exists(filepath.Join(dir, headerName)) && (len(list) > 1 || list[0].Name() != lockName) {
		return nil, fault(nodegate.InvalidInput, "the folder "+dir+" is not empty and holds no backup: choose an empty folder, or one with an earlier backup", nil)
	}
	f := &folder{dir: dir, lock: flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600)), dirty: map[string]struct{}{}}
	if ok, err := f.lock.TryLock(); err != nil || !ok {
		return nil, fault(nodegate.Conflict, "another backup into "+dir+" is running: wait until it ends", err)
	}
	return f, nil
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *folder) has(name string) bool { return exists(f.path(name)) }

func (f *folder) read(name string) ([]byte, error) { return os.ReadFile(f.path(name)) }

// write gives a file its name when its bytes are on disk: a chunk that is there is whole.
func (f *folder) write(name string, data []byte) (err error) {
	path := f.path(name)
	dir := filepath.Dir(path)
	if err := f.makeDir(dir); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails after the rename, as it should
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	f.dirty[dir] = struct{}{}
	return os.Rename(temp.Name(), path)
}

func (f *folder) makeDir(dir string) error {
	if exists(dir) {
		return nil
	}
	f.dirty[filepath.Dir(dir)], f.dirty[f.dir] = struct{}{}, struct{}{}
	return os.MkdirAll(dir, 0o700)
}

func (f *folder) settle() error {
	for dir := range f.dirty {
		if err := disk.SyncDir(dir); err != nil {
			return err
		}
	}
	clear(f.dirty)
	return nil
}

func (f *folder) publish(name string, data []byte) error {
	if err := f.write(name, data); err != nil {
		return err
	}
	return f.settle()
}

func (f *folder) remove(name string) error { return os.Remove(f.path(name)) }

func (f *folder) list(under string) (names []string, err error) {
	err = filepath.WalkDir(f.path(under), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasPrefix(d.Name(), tempPrefix) && f.lock != nil {
			return os.Remove(path) // of a backup that was killed
		}
		rel, err := filepath.Rel(f.dir, path)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	return names, err
}

func (f *folder) close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Unlock()
}
