package auth

import (
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// Overdue is a key that has expired and is still to be revoked in the store.
type Overdue struct{ AccountID, KeyID string }

// Ends are when live keys expire. The zero value has none.
type Ends struct {
	mu   sync.Mutex
	keys map[string]keyEnd // by ID
}

// keyEnd is when a key expires.
type keyEnd struct {
	accountID string
	at        time.Time
}

// note notes when a key expires, or forgets it.
func (e *Ends) note(k *nodegate.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !k.Live() || k.Settings.Expires.IsZero() {
		delete(e.keys, k.ID)
		return
	}
	if e.keys == nil {
		e.keys = map[string]keyEnd{}
	}
	e.keys[k.ID] = keyEnd{k.AccountID, k.Settings.Expires}
}

// Forget is for a key that is not in the store any more: its account was deleted.
func (e *Ends) Forget(keyID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.keys, keyID)
}

// Overdue lists keys that have expired, until the store says that they are revoked. They are
// refused already.
func (e *Ends) Overdue() (list []Overdue) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	for id, end := range e.keys {
		if !now.Before(end.at) {
			list = append(list, Overdue{end.accountID, id})
		}
	}
	return list
}
