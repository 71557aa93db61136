package backup

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// The names of the parts.
const (
	headerName  = "nodegate-backup.json"
	chunksDir   = "chunks"
	snapshotDir = "snapshots"
)

func number(n int) string { return strconv.Itoa(n) }

func chunkPath(name string) string { return chunksDir + "/" + name[:2] + "/" + name }

// reading is a backup that is there, in a folder or one file.
type reading interface {
	has(name string) bool
	read(name string) ([]byte, error)
	// list is the names that begin with a folder, in order.
	list(folder string) ([]string, error)
	close() error
}

// writing is a backup that is being made, in a folder or one file.
type writing interface {
	has(name string) bool
	// write keeps a part. It may be lost in a power cut until settle returns.
	write(name string, data []byte) error
	// settle returns when everything that was written is on disk.
	settle() error
	// publish keeps the last part, on disk. Only then is the backup one.
	publish(name string, data []byte) error
	// close gives up what is not published.
	close() error
}

// IsFile tells whether a name is that of a backup in one file: an existing file, or a
// name that ends in .tar.
func IsFile(path string) bool {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().IsRegular()
	}
	return strings.HasSuffix(path, ".tar")
}

// exists tells whether something is there.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}
