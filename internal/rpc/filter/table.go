package filter

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// The bounds of filters. Nodes forget one that is not polled for five minutes.
const (
	maxAll     = 10_000
	maxAccount = 500
	idleTime   = 5 * time.Minute
)

// table knows filters by the ids that clients have.
type table struct {
	mu    sync.Mutex
	byID  map[string]*entry
	count map[string]int // by account
}

type entry struct {
	account, key string
	theirs       []byte // the node's id, a JSON token
	used         time.Time
}

// room is an error when an account, or all of them, have too many filters.
func (t *table) room(account string, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID) >= maxAll || t.count[account] >= maxAccount {
		t.sweep(now)
	}
	switch {
	case t.count[account] >= maxAccount:
		return &nodegate.Error{Op: "filter", Code: nodegate.AccountBusy, Msg: "too many filters are open: uninstall some, or wait until they expire", RetryAfter: time.Minute}
	case len(t.byID) >= maxAll:
		return &nodegate.Error{Op: "filter", Code: nodegate.Busy, Msg: "server busy: too many filters are open", RetryAfter: time.Minute}
	}
	return nil
}

// add gives a node's filter an id that nobody can guess, as a JSON token.
func (t *table) add(owner *nodegate.Grant, theirs []byte, now time.Time) []byte {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0] |= 0x80           // some clients drop leading zeros
	id := "0x" + hex.EncodeToString(b[:])
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID, t.count = map[string]*entry{}, map[string]int{}
	}
	t.byID[id] = &entry{account: owner.AccountID, key: owner.KeyID, theirs: theirs, used: now}
	t.count[owner.AccountID]++
	return []byte(`"` + id + `"`)
}

// find is the node's id of a filter of this owner, or nil.
func (t *table) find(owner *nodegate.Grant, id string, now time.Time) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[id]
	if e == nil || e.account != owner.AccountID || e.key != owner.KeyID {
		return nil
	}
	if now.Sub(e.used) > idleTime {
		t.drop(id, e)
		return nil
	}
	e.used = now
	return e.theirs
}

func (t *table) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byID[id]; e != nil {
		t.drop(id, e)
	}
}

// sweep forgets the filters that their nodes have forgotten.
func (t *table) sweep(now time.Time) {
	for id, e := range t.byID {
		if now.Sub(e.used) > idleTime {
			t.drop(id, e)
		}
	}
}

func (t *table) drop(id string, e *entry) {
	delete(t.byID, id)
	if t.count[e.account]--; t.count[e.account] == 0 {
		delete(t.count, e.account)
	}
}
