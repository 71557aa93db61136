package auth

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

// unknownKeys remembers digests that the store does not have, in a fixed megabyte:
// a new one takes the place of an old one. It is asked after the known keys, so one
// that is made later needs no removal here: following the store finds it.
type unknownKeys struct {
	slots [1 << 17]atomic.Uint64
}

// slot also yields the tag: 64 bits of a keyed hash, which nobody can aim.
func (u *unknownKeys) slot(d *nodegate.Digest) (*atomic.Uint64, uint64) {
	return &u.slots[binary.LittleEndian.Uint32(d[8:])%uint32(len(u.slots))], binary.LittleEndian.Uint64(d[16:]) | 1
}

func (u *unknownKeys) has(d *nodegate.Digest) bool {
	slot, tag := u.slot(d)
	return slot.Load() == tag
}

func (u *unknownKeys) add(d *nodegate.Digest) {
	slot, tag := u.slot(d)
	slot.Store(tag)
}

// guesses counts the look-ups of each address within a second.
type guesses struct {
	limit int

	mu     sync.Mutex
	second int64
	counts map[netip.Addr]int
}

const (
	guessers   = 1024 // addresses that may guess in one second; more wait for the next
	allGuesses = 1000 // look-ups of all of them together in one second
)

// allow counts a guess. An IPv6 customer has a whole /64 of addresses, so they
// count as one.
func (g *guesses) allow(from netip.Addr) bool {
	from = nodegate.AddrGroup(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now().Unix(); now != g.second || g.counts == nil {
		g.second, g.counts = now, map[netip.Addr]int{}
	}
	total := g.counts[netip.Addr{}]
	if _, known := g.counts[from]; !known && len(g.counts) >= guessers || g.counts[from] >= g.limit || total >= allGuesses {
		return false
	}
	g.counts[from]++
	g.counts[netip.Addr{}] = total + 1
	return true
}
