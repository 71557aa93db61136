package credential

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

const (
	pepperFile  = "pepper"
	pepperBytes = 32
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// Pepper returns the pepper of the configuration, or that of the data folder,
// which is made at the first start. Without it every key in the database is
// useless, so it is on disk before anything is made with it.
//
// Returns BadConfig for a file that can't be read or trusted.
func Pepper(dir, configured string) ([]byte, error) {
	if configured != "" {
		return []byte(configured), nil
	}
	path := filepath.Join(dir, pepperFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makePepper(dir, path)
	}
	if err != nil {
		return nil, bad("can't read the pepper in "+path, err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, bad("others may read the pepper in "+path+": run chmod 600 on it, and rotate all keys if somebody did", nil)
	}
	pepper, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(pepper) != pepperBytes {
		return nil, bad("the pepper in "+path+" is not 64 hex digits: restore it from a backup; without it no API key works", nil)
	}
	return pepper, nil
}

// HasPepper tells whether a data folder has its pepper. One that can't be looked at
// counts: Pepper says what is wrong with it.
func HasPepper(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, pepperFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// makePepper writes a new one. Of two processes that start at once one wins, and
// the other reads what it wrote.
func makePepper(dir, path string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, bad("can't create the data folder "+dir, err)
	}
	temp, err := os.CreateTemp(dir, pepperFile+"-*")
	if err != nil {
		return nil, bad("can't write to the data folder "+dir, err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(randomHex(pepperBytes) + "\n")
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return nil, bad("can't write the pepper to "+dir, err)
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, bad("can't write the pepper to "+dir, err)
	}
	if err := disk.SyncDir(dir); err != nil {
		return nil, bad("can't write the pepper to "+dir, err)
	}
	return Pepper(dir, "")
}

func bad(msg string, err error) error {
	return &nodegate.Error{Op: "credential.pepper", Code: nodegate.BadConfig, Msg: msg, Err: err}
}
