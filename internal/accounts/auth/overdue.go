package auth

import (
	"time"

	"github.com/nodegate/nodegate"
)

// Overdue is a key that has expired and is still to be revoked in the store.
type Overdue struct{ AccountID, KeyID string }

// keyEnd is when a key expires.
type keyEnd struct {
	accountID string
	at        time.Time
}

// noteEnd notes when a key expires, or forgets it. The lock is held.
func (d *Authenticator) noteEnd(k *nodegate.Key) {
	delete(d.ends, k.ID)
	if k.Live() && !k.Settings.Expires.IsZero() {
		d.ends[k.ID] = keyEnd{k.AccountID, k.Settings.Expires}
	}
}

// Overdue lists keys that have expired, until the store says that they are revoked. They are
// refused already.
func (d *Authenticator) Overdue() (list []Overdue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for id, end := range d.ends {
		if !now.Before(end.at) {
			list = append(list, Overdue{end.accountID, id})
		}
	}
	return list
}
