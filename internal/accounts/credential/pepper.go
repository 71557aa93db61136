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

// Pepper returns the text of the configured pepper, or of the one in the data folder,
// which is made at the first start. Both have the same form, 64 hex digits; Unlock knows
// the older ones too. Without the pepper every key in the database is useless, so it is on
// disk before anything is made with it.
//
// Returns BadConfig for a file that can't be read or trusted.
func Pepper(dir, configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	path := filepath.Join(dir, pepperFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makePepper(dir, path)
	}
	if err != nil {
		return "", bad("can't read the pepper in "+path, err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", bad("other users can read the pepper in "+path+": run chmod 600 on it, and rotate all keys if somebody read it", nil)
	}
	text := strings.TrimSpace(string(data))
	if !isHex(text) {
		return "", bad("the pepper in "+path+" is not 64 hex digits: restore it from a backup; without it no API key works", nil)
	}
	return text, nil
}

// isHex tells whether a text has the form of a pepper.
func isHex(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == pepperBytes
}

// Unlock derives everything from the text of a pepper. known is what Check was for the
// account store, or "" for a new one.
//
// The text is 64 hex digits, and stands for 32 bytes. Before there was one form, the bytes
// of the variable's text were the pepper whatever they were. Stores that were made so stay
// so: known tells which reading is theirs. Where it fits none, the result is of the first.
func Unlock(text, known string) (*Vault, error) {
	var first *Vault
	for _, pepper := range readings(text) {
		v, err := New(pepper)
		if err != nil || v.Check() == known {
			return v, err
		}
		if first == nil {
			first = v
		}
	}
	return first, nil
}

// readings are what a text may stand for, the usual first.
func readings(text string) [][]byte {
	if b, err := hex.DecodeString(strings.TrimSpace(text)); err == nil && len(b) == pepperBytes {
		return [][]byte{b, []byte(text)}
	}
	return [][]byte{[]byte(text)}
}

// HasPepper tells whether a data folder has its pepper. One that can't be looked at
// counts: Pepper says what is wrong with it.
func HasPepper(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, pepperFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// makePepper writes a new one. Of two processes that start at once one wins, and
// the other reads what it wrote.
func makePepper(dir, path string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", bad("can't create the data folder "+dir, err)
	}
	temp, err := os.CreateTemp(dir, pepperFile+"-*")
	if err != nil {
		return "", bad("can't write to the data folder "+dir, err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(randomHex(pepperBytes) + "\n")
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return "", bad("can't write the pepper to "+dir, err)
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", bad("can't write the pepper to "+dir, err)
	}
	if err := disk.SyncDir(dir); err != nil {
		return "", bad("can't write the pepper to "+dir, err)
	}
	return Pepper(dir, "")
}

func bad(msg string, err error) error {
	return &nodegate.Error{Op: "credential.pepper", Code: nodegate.BadConfig, Msg: msg, Err: err}
}
