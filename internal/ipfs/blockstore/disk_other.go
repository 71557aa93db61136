//go:build !linux

package blockstore

import (
	"errors"
	"os"
)

func syncData(f *os.File) error { return f.Sync() }

// punchHole is not known here: the space is free after the next collection.
func punchHole(*os.File, int64, int64) error { return errors.ErrUnsupported }
