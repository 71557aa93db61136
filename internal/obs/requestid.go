package obs

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
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

// maxRequestID bounds an id that a client gives.
const maxRequestID = 64

// For returns the id that a client gives, if it is one that can stand in headers and logs, or
// else the next one.
func (r *RequestIDs) For(given []string) string {
	if len(given) == 1 && plainID(given[0]) {
		return given[0]
	}
	return r.New()
}

// plainID takes letters, digits and what common ids have between them.
func plainID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("-_.:=+/", c) < 0 {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// New returns the next id.
func (r *RequestIDs) New() string {
	var buf [32]byte
	return string(strconv.AppendUint(append(buf[:0], r.prefix...), r.next.Add(1), 36))
}
