package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodegate/nodegate/internal/disk"
)

// folder checks the data folder as a start would find it.
func (e *exam) folder(context.Context) {
	const name = "data folder"
	info, err := os.Stat(e.cfg.Data)
	path, _ := filepath.Abs(e.cfg.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ok(name, "%s doesn't exist yet: the first start creates it", path)
		return
	case err != nil:
		e.problem(name, "%s can't be used: %v", path, err)
		return
	case !info.IsDir():
		e.problem(name, "%s is not a folder", path)
		return
	}
	if err := checkFolder(e.cfg); err != nil {
		e.failed(name, err)
		return
	}
	if err := writable(e.cfg.Data); err != nil {
		e.problem(name, "%s can't be written by this user: %v", path, err)
		return
	}
	if info.Mode().Perm()&0o077 != 0 {
		e.note(name, "%s may be read by others (mode %04o): run chmod 700 on it", path, info.Mode().Perm())
		return
	}
	e.ok(name, "%s", path)
}

// writable makes a file and removes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// disk compares the free space with what is kept free.
func (e *exam) disk(context.Context) {
	const name = "disk"
	dir := e.cfg.Data
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := disk.Free(dir)
	reserve := reserveOf(e.cfg)
	switch {
	case err != nil:
		e.problem(name, "can't be asked for its free space: %v", err)
	case free < reserve:
		e.problem(name, "%d MiB free, and %d MiB are reserved (storage.reserve): nothing can be written", free>>20, reserve>>20)
	case free < 2*reserve:
		e.note(name, "%d MiB free, of which %d MiB are reserved (storage.reserve)", free>>20, reserve>>20)
	default:
		e.ok(name, "%d MiB free, of which %d MiB are reserved", free>>20, reserve>>20)
	}
}

// readExisting is the name in a file, which it doesn't make.
func readExisting(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}
