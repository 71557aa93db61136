package blockstore

import (
	"context"
	"encoding/binary"

	"github.com/cockroachdb/pebble"
	"github.com/nodegate/nodegate"
)

// Stored is how many bytes an account pays for: the full size of each root that it
// pinned, undoable ones too, and what it stored without a pin until that is
// collected.
func (s *Store) Stored(account string) int64 {
	if s.enter(context.Background()) != nil {
		return 0
	}
	defer s.leave()
	n, _ := s.index.usage(account) // a damaged index is reported by those who write
	return n
}

func (x *index) usage(account string) (int64, error) {
	value, err := x.get(accountKey(keyUsage, account))
	if err != nil || len(value) != 8 {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}

// usageInMemory is of how many accounts the use is remembered.
const usageInMemory = 1 << 12

// storedNow is the index's usage, remembered for the accounts that write. The caller
// holds the quotas' lock.
func (s *Store) storedNow(account string) (int64, error) {
	if n, ok := s.usage[account]; ok {
		return n, nil
	}
	n, err := s.index.usage(account)
	if err != nil {
		return 0, err
	}
	if len(s.usage) >= usageInMemory {
		clear(s.usage)
	}
	s.usage[account] = n
	return n, nil
}

// setUsage notes what an account has stored, in w.
func setUsage(w *pebble.Batch, account string, bytes int64) error {
	if bytes == 0 {
		return w.Delete(accountKey(keyUsage, account), nil)
	}
	return w.Set(accountKey(keyUsage, account), binary.LittleEndian.AppendUint64(nil, uint64(bytes)), nil)
}

// reserve claims bytes of an account's quota for an upload, so that uploads beside
// each other can't pass it together.
func (s *Store) reserve(account string, n, quota int64) error {
	s.quotaMu.Lock()
	defer s.quotaMu.Unlock()
	if quota > 0 {
		stored, err := s.storedNow(account)
		if err != nil {
			return err
		}
		if stored+s.reserved[account]+n > quota {
			return quotaReached("put")
		}
	}
	s.reserved[account] += n
	return nil
}

// exchange turns what an upload reserved into what it will have stored.
func (s *Store) exchange(account string, reserved, stores, quota int64) error {
	s.quotaMu.Lock()
	defer s.quotaMu.Unlock()
	if quota > 0 && stores > 0 {
		stored, err := s.storedNow(account)
		if err != nil {
			return err
		}
		if stored+s.reserved[account]-reserved+stores > quota {
			return quotaReached("commit")
		}
	}
	s.addReserved(account, stores-reserved)
	return nil
}

func (s *Store) unreserve(account string, n int64) {
	s.quotaMu.Lock()
	defer s.quotaMu.Unlock()
	s.addReserved(account, -n)
}

func (s *Store) addReserved(account string, n int64) {
	s.reserved[account] += n
	if s.reserved[account] == 0 {
		delete(s.reserved, account)
	}
}

// Room tells whether uploads are taken. Returns InsufficientStorage while the disk is
// almost full: what it has left is for pins, collections and the rest of the server.
func (s *Store) Room() error {
	if s.enter(context.Background()) != nil {
		return nil // closing: whoever writes is told
	}
	defer s.leave()
	if err := s.claimRoom(0); err != nil {
		return err
	}
	return nil
}

// claimRoom refuses writes while the disk is almost full, and counts n bytes as
// written until the caller takes them off s.room: writes beside each other can't pass
// the reserve together. Pins and compaction may still write: they need little and make
// room.
func (s *Store) claimRoom(n int64) error {
	if err := s.index.takes(); err != nil {
		return err
	}
	claimed := s.room.Add(n)
	if s.cfg.Reserve <= 0 {
		return nil
	}
	free, err := s.log.segs.disk.Free()
	if err != nil {
		err = fail("free", err)
	} else if free-claimed < s.cfg.Reserve {
		s.wakeReclaim() // little is better than nothing
		err = &nodegate.Error{Op: "blocks.put", Code: nodegate.InsufficientStorage, Msg: msgFull}
	}
	if err != nil {
		s.room.Add(-n)
	}
	return err
}
