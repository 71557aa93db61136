package pinning

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

func newID() string { return strings.ToLower(rand.Text()) }

// idOf is the request id of a pin that nobody made a request for. It holds the CID, so
// that the pin is found by it, and is different for every account.
func idOf(accountID, cid string) string {
	sum := sha256.Sum256([]byte(accountID + "\x00" + cid))
	return cid + "-" + hex.EncodeToString(sum[:8])
}

// cidOf is the CID in such an id of this account.
func cidOf(accountID, id string) (string, bool) {
	at := strings.LastIndexByte(id, '-')
	if at <= 0 {
		return "", false
	}
	return id[:at], idOf(accountID, id[:at]) == id
}

// found is what a pin is as a request.
func found(p *nodegate.Pin) *nodegate.PinRequest {
	return &nodegate.PinRequest{
		AccountID: p.AccountID, ID: idOf(p.AccountID, p.CID), CID: p.CID, Name: p.Name, Status: nodegate.PinPinned, Created: p.Created.UTC().Truncate(time.Microsecond),
	}
}

// shown gives a request the time that clients see. Clients page by that time, so it
// should differ for all requests: pins that were made in the same microsecond differ in
// the nanoseconds, which come from the id.
func shown(r *nodegate.PinRequest) *nodegate.PinRequest {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.ID))
	r.Created = r.Created.Truncate(time.Microsecond).Add(time.Duration(h.Sum32() % 1000))
	return r
}
