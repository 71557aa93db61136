package nodegate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"time"
)

// Actor is who does something, for the audit log.
type Actor struct {
	Name string // an e-mail address, "command line" or "server"
	From string // where they sit: an address, or the user of the machine
}

// AuditEntry is one line of the audit log. Each carries a digest over itself and
// the entry before it, under a key derived from the pepper: whoever changes or
// takes out a line in the database can't make the chain whole again.
type AuditEntry struct {
	Number    int64     `json:"number"` // 1, 2, 3, ... without a gap
	At        time.Time `json:"at"`
	Actor     string    `json:"actor"`
	From      string    `json:"from"`
	Action    string    `json:"action"` // key.create, card.remove, ...
	AccountID string    `json:"account"`
	Subject   string    `json:"subject"` // the id of what was changed
	Detail    string    `json:"detail,omitempty"`
	Digest    Digest    `json:"-"`
}

// Chain computes the digest of the entry that follows one with digest before.
func (e *AuditEntry) Chain(key []byte, before Digest) Digest {
	line, err := json.Marshal(e)
	if err != nil {
		panic("nodegate: an audit entry is plain data: " + err.Error())
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(before[:])
	mac.Write(line)
	return Digest(mac.Sum(nil))
}
