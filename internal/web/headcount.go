package web

import (
	"net/netip"
	"sync"
)

// headcount bounds how many of something there are at the same time.
type headcount struct {
	most, each int // of all clients and of one

	mu   sync.Mutex
	all  int
	from map[netip.Addr]int
}

// enter counts one, unless there are too many of the client or of all. The zero Addr is
// a trusted proxy, which may use all.
func (h *headcount) enter(ip netip.Addr) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all >= h.most || ip.IsValid() && h.from[ip] >= h.each {
		return false
	}
	if h.from == nil {
		h.from = map[netip.Addr]int{}
	}
	h.all++
	h.from[ip]++
	return true
}

func (h *headcount) leave(ip netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all--
	if h.from[ip]--; h.from[ip] <= 0 {
		delete(h.from, ip)
	}
}
