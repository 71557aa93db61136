package server

import (
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/nodegate/nodegate"
)

// lockFile is held by the server that uses the data folder.
const lockFile = "lock"

// folderLock keeps two servers from one data folder.
type folderLock struct{ file *flock.Flock }

func lockFolder(dir string) (*folderLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &nodegate.Error{Op: "server.lock", Code: nodegate.BadConfig, Msg: "can't create the data folder " + dir, Err: err}
	}
	file := flock.New(filepath.Join(dir, lockFile))
	ok, err := file.TryLock()
	if err != nil || !ok {
		return nil, &nodegate.Error{Op: "server.lock", Code: nodegate.BadConfig, Msg: "the data folder " + dir + " is in use by another nodegate: stop it or choose another folder with --data", Err: err}
	}
	return &folderLock{file: file}, nil
}

func (l *folderLock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Unlock()
}
