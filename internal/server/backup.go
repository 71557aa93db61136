package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/backup"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// RunningServer is the server that uses a data folder, as the command line reaches it.
type RunningServer struct {
	Held HeldData
	// Network fetches a copy of an embedded network.
	Network func(ctx context.Context, name string) (io.ReadCloser, error)
}

// BackupOptions say where a backup goes.
type BackupOptions struct {
	Path, Passphrase, Version string
	Keep                      int
}

// BackupReport says what was backed up.
type BackupReport struct {
	Path     string `json:"path"`
	Snapshot string `json:"snapshot"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	New      int64  `json:"new_bytes"`
	Removed  int    `json:"removed_snapshots"`
	Running  bool   `json:"beside_running_server"`
	// Elsewhere is what is not in the data folder and has to be kept as well.
	Elsewhere []string `json:"elsewhere"`
}

// The notes of a snapshot.
const (
	notePostgres = "accounts"
	notePepper   = "pepper"
)

// storedFiles are the files of a data folder that a backup copies as they are. Each is
// replaced whole when it changes.
func storedFiles() []string {
	return []string{"pepper", "ca.pem", "ca-key.pem", "networks.id", "storage/id", usedFile, formatFile}
}

// Backup copies the data folder of a configuration. A server that runs on it takes part:
// connect reaches it. Where none runs, the folder is locked, so that none starts
// meanwhile, and its files are copied as they are.
//
// What is acknowledged before the backup begins is in it. The parts are captured one after
// the other within a moment, the pins first: an account of which the store knows may have
// later pins that are missing, but no pin is of an account that came later.
func Backup(ctx context.Context, cfg *config.Config, connect func(context.Context) (*RunningServer, error), o BackupOptions) (r *BackupReport, err error) {
	lock, err := lockFolder(cfg.Data)
	var running *RunningServer
	if err == nil {
		defer func() { err = errors.Join(err, lock.release()) }()
	} else if running, err = connect(ctx); err != nil {
		return nil, err
	}
	w, err := backup.Create(backup.Options{Path: o.Path, Passphrase: o.Passphrase, Program: o.Version, Keep: o.Keep, Reserve: reserveOf(cfg)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	m := &backupMaker{cfg: cfg, w: w, running: running}
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	done, err := w.Finish()
	return &BackupReport{
		Path: o.Path, Snapshot: done.Snapshot, Files: done.Files, Bytes: done.Bytes, New: done.New, Removed: done.Removed,
		Running: running != nil, Elsewhere: m.elsewhere(),
	}, err
}

// backupMaker copies one data folder.
type backupMaker struct {
	cfg     *config.Config
	w       *backup.Writer
	running *RunningServer // nil where no server runs
}

func (m *backupMaker) path(name string) string {
	return filepath.Join(m.cfg.Data, filepath.FromSlash(name))
}

// run copies all parts. What grows with the stored content comes last, so that the others
// are of about the same time.
func (m *backupMaker) run(ctx context.Context) error {
	segments, err := m.segments()
	if err != nil {
		return err
	}
	if err := m.w.Expect(m.size(segments)); err != nil {
		return err
	}
	if err := m.database(ctx); err != nil {
		return err
	}
	for _, name := range storedFiles() {
		if err := m.file(ctx, name, -1); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := m.networks(ctx); err != nil {
		return err
	}
	for _, s := range segments {
		if err := m.file(ctx, segmentsDir+s.Name, s.Size); err != nil {
			return err
		}
	}
	return nil
}

// segmentsDir is where the block store has its log. Its index is not copied: the next
// start makes it from the log.
const segmentsDir = "storage/segments/"

// segments are those that the running server holds, or all that are there.
func (m *backupMaker) segments() (list []blockstore.Segment, err error) {
	if m.running != nil && m.running.Held.Frozen {
		return m.running.Held.Segments, nil
	}
	err = m.walk(strings.TrimSuffix(segmentsDir, "/"), func(name string, size int64) error {
		list = append(list, blockstore.Segment{Name: strings.TrimPrefix(name, segmentsDir), Size: size})
		return nil
	})
	return list, err
}

// walk visits the files below a folder, which may not be there.
func (m *backupMaker) walk(under string, visit func(name string, size int64) error) error {
	return filepath.WalkDir(m.path(under), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // never there, or gone meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.cfg.Data, path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(name), info.Size())
	})
}

// size is about what there is to copy.
func (m *backupMaker) size(segments []blockstore.Segment) (bytes int64) {
	for _, s := range segments {
		bytes += s.Size
	}
	add := func(_ string, size int64) error { bytes += size; return nil }
	_ = m.walk(storeFile, add)
	_ = m.walk("networks", add) // what can't be read fails when it is copied
	return bytes
}

// file copies one file, or its first size bytes.
func (m *backupMaker) file(ctx context.Context, name string, size int64) error {
	f, err := os.Open(m.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size < 0 {
		size = info.Size()
	}
	if m.w.Known(name, size, info.ModTime()) {
		return nil
	}
	return m.w.Copy(ctx, backup.File{Name: name, Size: size, Modified: info.ModTime().UTC()}, f, backup.LargeChunk)
}

// database copies the account store, where it is in the data folder.
func (m *backupMaker) database(ctx context.Context) error {
	if m.cfg.Pepper != "" {
		m.w.Note(notePepper, "configured")
	}
	if m.cfg.Store.Postgres != "" {
		m.w.Note(notePostgres, "postgres")
		return nil
	}
	reader, writer := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		writer.CloseWithError(sqlstore.CopySQLite(ctx, m.path(storeFile), writer))
	}()
	err := m.w.Add(ctx, backup.File{Name: storeFile}, pieces(reader, backup.SmallChunk))
	_ = reader.Close()
	<-ended
	return err
}

// pieces cuts a stream.
func pieces(r io.Reader, size int) func() ([]byte, error) {
	buf := make([]byte, size)
	return func() ([]byte, error) {
		n, err := io.ReadFull(r, buf)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return buf[:n], err
	}
}

// networks copies the embedded networks: those that run by what the server sends, the
// others as files.
func (m *backupMaker) networks(ctx context.Context) error {
	var live []string
	if m.running != nil {
		live = m.running.Held.Networks
	}
	for _, name := range live {
		if err := m.network(ctx, name); err != nil {
			return err
		}
	}
	return m.walk("networks", func(name string, size int64) error {
		if parts := strings.Split(name, "/"); len(parts) > 1 && slices.Contains(live, parts[1]) {
			return nil
		}
		return m.file(ctx, name, size)
	})
}

// elsewhere names what else has to be kept.
func (m *backupMaker) elsewhere() []string {
	list := []string{}
	if m.cfg.Store.Postgres != "" {
		list = append(list, "accounts, keys, usage, the audit log and pins of Kubo are in Postgres: back them up with pg_dump --format=custom --file=nodegate.dump "+sqlstore.PostgresTarget(string(m.cfg.Store.Postgres))+" right after this backup")
	}
	if m.cfg.Pepper != "" {
		list = append(list, "the pepper is in the configuration (NODEGATE_PEPPER): keep it in a safe place; without it no API key works")
	}
	if m.cfg.Storage.Engine == "kubo" {
		list = append(list, "stored content is on Kubo nodes: back up their repositories")
	}
	return list
}
