package store

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
)

// maxDamagedKeys is how many keys are remembered: several hundred damaged blocks of
// tables.
const maxDamagedKeys = 1 << 16

// damagedKeys are the keys whose rows turned out to be damaged. Pebble looks for the bit
// that flipped each time it reads a damaged block, which takes 0.1 s of CPU: enough for
// clients that ask for such a row again and again to hold up everybody else.
type damagedKeys struct {
	count atomic.Int64 // so that a healthy database doesn't pay for this
	mu    sync.Mutex
	keys  map[string]struct{}
}

// has tells whether a key's row is known to be damaged.
func (d *damagedKeys) has(key []byte) bool {
	if d.count.Load() == 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.keys[string(key)]
	return ok
}

// note remembers a key if that is why reading it failed. It returns the error.
func (d *damagedKeys) note(key []byte, err error) error {
	if !errors.Is(err, nodegate.Damaged) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil || len(d.keys) >= maxDamagedKeys {
		d.keys = map[string]struct{}{}
	}
	d.keys[string(key)] = struct{}{}
	d.count.Store(int64(len(d.keys)))
	return err
}

// noteAny is note for an error of Pebble's, or for none.
func (d *damagedKeys) noteAny(key []byte, err error) error {
	if err == nil {
		return nil
	}
	return d.note(key, fail("read", err))
}

// forget drops a key that is written again.
func (d *damagedKeys) forget(key []byte) {
	if d.count.Load() == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.keys, string(key))
	d.count.Store(int64(len(d.keys)))
}
