package blockstore

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble"
)

// checkpoint is from where a start replays the log, and what can't be read there.
type checkpoint struct {
	position
	batch uint64 // the highest number in use
	clock int64  // the highest stamp
}

// saveCheckpoint notes how far the index is.
func (x *index) saveCheckpoint(c checkpoint) {
	if x.broken.Load() {
		return
	}
	b := binary.LittleEndian.AppendUint32(nil, c.segment)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.off))
	b = binary.LittleEndian.AppendUint64(b, c.batch)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.clock))
	if err := x.db.Set([]byte{keyCheckpoint}, b, pebble.NoSync); err != nil {
		x.log.Error("can't checkpoint the block store's index", "err", err)
	}
}

// readCheckpoint reads what saveCheckpoint wrote.
func (x *index) readCheckpoint() (c checkpoint, err error) {
	b, err := x.get([]byte{keyCheckpoint})
	if err != nil || len(b) != 28 {
		return c, err
	}
	c.segment = binary.LittleEndian.Uint32(b)
	c.off = int64(binary.LittleEndian.Uint64(b[4:]))
	c.batch = binary.LittleEndian.Uint64(b[12:])
	c.clock = int64(binary.LittleEndian.Uint64(b[20:]))
	return c, nil
}
