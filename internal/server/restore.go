package server

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/backup"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/rpc/chain"
)

// restoringFile stands in a data folder while a backup is restored into it. A server
// refuses such a folder: a part of the data would look like all of it.
const restoringFile = "restoring"

// RestoreReport says what was restored.
type RestoreReport struct {
	Snapshot string    `json:"snapshot"`
	Created  time.Time `json:"created"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Data     string    `json:"data"`
	// Elsewhere is what else has to be restored.
	Elsewhere []string `json:"elsewhere"`
}

// VerifyBackup reads a backup and compares all of it with its checksums.
func VerifyBackup(ctx context.Context, path, passphrase string) (v backup.Verified, err error) {
	r, err := backup.Open(path, passphrase)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.Verify(ctx)
}

// Restore puts a snapshot into the data folder of a configuration, which must be empty or
// missing; "" is the newest snapshot.
//
// Returns Conflict for a folder that is not empty, BadConfig for a newer format, and
// Damaged.
func Restore(ctx context.Context, cfg *config.Config, path, passphrase, snapshot string) (rep *RestoreReport, err error) {
	r, err := backup.Open(path, passphrase)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	snap, err := r.Snapshot(snapshot)
	if err != nil {
		return nil, err
	}
	if err := mustBeEmpty(cfg.Data); err != nil {
		return nil, err
	}
	lock, err := lockFolder(cfg.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	if err := restoreAll(ctx, cfg, r, snap); err != nil {
		return nil, err
	}
	return &RestoreReport{
		Snapshot: snap.Name, Created: snap.Created, Files: len(snap.Files), Bytes: snap.Bytes(), Data: cfg.Data, Elsewhere: restoreElsewhere(snap),
	}, nil
}

// mustBeEmpty refuses a folder with anything in it, a lock file aside.
func mustBeEmpty(dir string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &nodegate.Error{Op: "server.restore", Code: nodegate.BadConfig, Msg: "can't read the data folder " + dir, Err: err}
	}
	for _, e := range list {
		if e.Name() != lockFile {
			return &nodegate.Error{Op: "server.restore", Code: nodegate.Conflict, Msg: "the data folder " + dir + " is not empty: name an empty or a new one with --data; nothing was changed"}
		}
	}
	return nil
}

// restoreAll writes the files. The mark that the folder is not complete goes last.
func restoreAll(ctx context.Context, cfg *config.Config, r *backup.Reader, snap *backup.Snapshot) error {
	if free, err := disk.Free(cfg.Data); err == nil && free-reserveOf(cfg) < snap.Bytes() {
		return disk.Full("server.restore", nil)
	}
	mark := filepath.Join(cfg.Data, restoringFile)
	if err := disk.WriteFile(mark, []byte("A backup is being restored into this folder. If that was interrupted, empty the folder and restore again.\n")); err != nil {
		return err
	}
	dirs := map[string]bool{filepath.Clean(cfg.Data): true}
	for i := range snap.Files {
		f := &snap.Files[i]
		path := filepath.Join(cfg.Data, filepath.FromSlash(f.Name))
		for dir := filepath.Dir(path); !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := restoreFile(path, f, r.File(ctx, f)); err != nil {
			return err
		}
	}
	for dir := range dirs {
		if err := disk.SyncDir(dir); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(mark), disk.SyncDir(cfg.Data))
}

// restoreFile writes one file, on disk when it returns.
func restoreFile(path string, f *backup.File, r io.Reader) error {
	switch f.Kind {
	case "":
	case kindPairs:
		return chain.RestoreKeyValues(filepath.Dir(path), r)
	default:
		return &nodegate.Error{Op: "server.restore", Code: nodegate.BadConfig, Msg: "the backup has a file of the unknown kind " + f.Kind + ": was it made by a newer nodegate?"}
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, r)
	return errors.Join(err, to.Sync(), to.Close())
}

// restoreElsewhere names what the backup doesn't have.
func restoreElsewhere(snap *backup.Snapshot) []string {
	list := []string{}
	if snap.Notes[notePostgres] != "" {
		list = append(list, "the accounts were in Postgres: restore its dump with pg_restore before you start the server")
	}
	if snap.Notes[notePepper] != "" {
		list = append(list, "the pepper was in the configuration: set NODEGATE_PEPPER to the same value")
	}
	return list
}

// checkRestored refuses a folder into which a backup was restored in part.
func checkRestored(cfg *config.Config) error {
	if !has(cfg.Data, restoringFile) {
		return nil
	}
	return &nodegate.Error{Op: "server.folder", Code: nodegate.BadConfig,
		Msg: "the restore of a backup into the data folder " + cfg.Data + " did not finish: empty the folder and run nodegate restore again"}
}
