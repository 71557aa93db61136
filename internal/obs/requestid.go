package obs

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"
)

// RequestIDs hands out ids that are unique across restarts: a random prefix and
// a counter.
type RequestIDs struct {
	prefix string
	next   atomic.Uint64
}

// NewRequestIDs draws the prefix.
func NewRequestIDs() *RequestIDs {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return &RequestIDs{prefix: hex.EncodeToString(b[:]) + "-"}
}

// New returns the next id.
func (r *RequestIDs) New() string {
	var buf [32]byte
	return string(strconv.AppendUint(append(buf[:0], r.prefix...), r.next.Add(1), 36))
}
