package uploads

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

const recordSuffix = ".json"

func dataPath(dir, id string) string   { return filepath.Join(dir, id) }
func recordPath(dir, id string) string { return filepath.Join(dir, id+recordSuffix) }

// create puts an upload into the folder. The record comes last: without one the file is
// removed at the next start.
func create(dir string, up *Upload) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(dataPath(dir, up.ID), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := writeRecord(dir, up); err != nil {
		_ = remove(dir, up.ID)
		return err
	}
	return nil
}

// writeRecord says on the disk how much of an upload has arrived.
func writeRecord(dir string, up *Upload) error {
	text, err := json.Marshal(up)
	if err != nil {
		return err
	}
	return disk.WriteFile(recordPath(dir, up.ID), text)
}

// write puts a part behind what has arrived, and returns how much of it is on the disk. A
// part that ends early counts as far as it came.
func write(ctx context.Context, dir string, up *Upload, part io.Reader) (int64, error) {
	file, err := os.OpenFile(dataPath(dir, up.ID), os.O_WRONLY, 0)
	if err != nil {
		return 0, failed("append", err)
	}
	defer file.Close()
	from := &source{Reader: part}
	n, err := io.Copy(io.NewOffsetWriter(file, up.Received), io.LimitReader(from, up.Size-up.Received))
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case from.err != nil:
		err = &nodegate.Error{Op: "uploads.append", Code: nodegate.InvalidInput, Msg: "the part ended early: send the rest", Err: from.err}
	case err != nil:
		err = failed("append", err)
	default:
		err = ended(part)
	}
	if synced := file.Sync(); synced != nil {
		return 0, failed("append", synced)
	}
	return n, err
}

// source tells a connection that broke from a disk that fails.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// ended refuses a part that is longer than the file.
func ended(part io.Reader) error {
	var more [1]byte
	if n, _ := io.ReadFull(part, more[:]); n > 0 {
		return &nodegate.Error{Op: "uploads.append", Code: nodegate.InvalidInput, Msg: "the part goes beyond the announced size of the file"}
	}
	return nil
}

func remove(dir, id string) error {
	if err := errors.Join(removed(recordPath(dir, id)), removed(dataPath(dir, id))); err != nil {
		return failed("remove", err)
	}
	return nil
}

func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// readFolder lists the uploads of a folder and removes all other files in it: parts without
// a record, and records that can't be read.
func readFolder(dir string) (list []Upload, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, e := range entries {
		id, isRecord := strings.CutSuffix(e.Name(), recordSuffix)
		if !isRecord {
			continue
		}
		if up, ok := readUpload(dir, id); ok {
			list = append(list, up)
			known[id], known[e.Name()] = true, true
		}
	}
	for _, e := range entries {
		if !known[e.Name()] && !e.IsDir() {
			err = errors.Join(err, removed(filepath.Join(dir, e.Name())))
		}
	}
	return list, err
}

// readUpload reads a record. What stands in the file beyond it was never confirmed.
func readUpload(dir, id string) (up Upload, ok bool) {
	text, err := os.ReadFile(recordPath(dir, id))
	if err != nil || json.Unmarshal(text, &up) != nil || up.ID != id || up.Received < 0 || up.Received > up.Size {
		return up, false
	}
	info, err := os.Stat(dataPath(dir, id))
	if err != nil || info.Size() < up.Received {
		return up, false
	}
	return up, os.Truncate(dataPath(dir, id), up.Received) == nil
}
