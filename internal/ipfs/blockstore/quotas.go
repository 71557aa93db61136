package blockstore

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/cockroachdb/pebble"
)

// quotas are what accounts have stored, and what their open batches claim.
type quotas struct {
	index *index

	mu       sync.Mutex
	reserved map[string]int64 // bytes that open batches claim, by account
	usage    map[string]int64 // what the index says of some accounts
}

func newQuotas(x *index) *quotas {
	return &quotas{index: x, reserved: map[string]int64{}, usage: map[string]int64{}}
}

// Stored is how many bytes an account pays for: the full size of each root that it
// pinned, undoable ones too, and what it stored without a pin until that is
// collected.
func (s *Store) Stored(account string) int64 {
	if s.calls.enter(context.Background()) != nil {
		return 0
	}
	defer s.calls.leave()
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
func (q *quotas) storedNow(account string) (int64, error) {
	if n, ok := q.usage[account]; ok {
		return n, nil
	}
	n, err := q.index.usage(account)
	if err != nil {
		return 0, err
	}
	if len(q.usage) >= usageInMemory {
		clear(q.usage)
	}
	q.usage[account] = n
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
func (q *quotas) reserve(account string, n, quota int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if quota > 0 {
		stored, err := q.storedNow(account)
		if err != nil {
			return err
		}
		if stored+q.reserved[account]+n > quota {
			return quotaReached("put")
		}
	}
	q.reserved[account] += n
	return nil
}

// exchange turns what an upload reserved into what it will have stored.
func (q *quotas) exchange(account string, reserved, stores, quota int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if quota > 0 && stores > 0 {
		stored, err := q.storedNow(account)
		if err != nil {
			return err
		}
		if stored+q.reserved[account]-reserved+stores > quota {
			return quotaReached("commit")
		}
	}
	q.addReserved(account, stores-reserved)
	return nil
}

func (q *quotas) unreserve(account string, n int64) {
	if n == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addReserved(account, -n)
}

func (q *quotas) addReserved(account string, n int64) {
	q.reserved[account] += n
	if q.reserved[account] == 0 {
		delete(q.reserved, account)
	}
}

// addUsage changes what accounts have stored.
func (q *quotas) addUsage(w *pebble.Batch, changes map[string]int64) error {
	for account, n := range changes {
		if n == 0 {
			continue
		}
		stored, err := q.storedNow(account)
		if err != nil {
			return err
		}
		if err := setUsage(w, account, stored+n); err != nil {
			return q.index.failed(err)
		}
		q.usage[account] = stored + n
	}
	return nil
}
