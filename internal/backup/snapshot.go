package backup

import (
	"encoding/json"
	"path/filepath"
	"time"
)

// Snapshot lists the files of one backup.
type Snapshot struct {
	Name    string            `json:"-"`
	Format  int               `json:"format"`
	Created time.Time         `json:"created"`         // when the backup began
	Program string            `json:"nodegate"`        // the version that made it
	Notes   map[string]string `json:"notes,omitempty"` // what whoever made it wants to know later
	Files   []File            `json:"files"`
}

// File is one file of a snapshot, or a stream that becomes one.
type File struct {
	Name     string    `json:"name"` // below the data folder, with slashes
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified,omitzero"` // of the original; zero for a stream
	Kind     string    `json:"kind,omitempty"`    // what it is, where a plain copy is not enough
	Chunks   []string  `json:"chunks"`
}

// Bytes is the size of all files.
func (s *Snapshot) Bytes() (n int64) {
	for i := range s.Files {
		n += s.Files[i].Size
	}
	return n
}

// stamp is how snapshots are named: in the order of their time.
const stamp = "20060102T150405.000000000Z"

func snapshotPath(name string) string { return snapshotDir + "/" + name }

// readSnapshot reads and checks one.
func readSnapshot(m reading, s sealer, path string) (*Snapshot, error) {
	stored, err := m.read(path)
	if err != nil {
		return nil, damaged(path, err)
	}
	text, err := s.open(path, stored)
	if err != nil {
		return nil, err
	}
	snap := &Snapshot{Name: filepath.Base(path)}
	if err := json.Unmarshal(text, snap); err != nil {
		return nil, damaged(path, err)
	}
	for i := range snap.Files {
		if f := &snap.Files[i]; !filepath.IsLocal(filepath.FromSlash(f.Name)) || !chunkNames(f.Chunks) {
			return nil, damaged(path, nil)
		}
	}
	return snap, nil
}

// chunkNames tells whether all names can be of chunks: they become paths.
func chunkNames(list []string) bool {
	for _, name := range list {
		if len(name) != 2*32 {
			return false
		}
		for _, c := range name {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}
