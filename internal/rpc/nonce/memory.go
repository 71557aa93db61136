package nonce

import (
	"context"
	"sync"
	"time"
)

// maxSenders bounds what one process remembers.
const maxSenders = 10_000

// Memory is a Store of one process. The zero Memory is ready.
type Memory struct {
	mu     sync.Mutex
	sender map[key][]sent
}

var _ Store = (*Memory)(nil)

type key struct{ network, sender string }

type sent struct {
	nonce uint64
	at    time.Time
}

// Sent is part of Store.
func (m *Memory) Sent(_ context.Context, network, sender string, nonce uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.sender) >= maxSenders {
		m.sweep()
	}
	if m.sender == nil {
		m.sender = map[key][]sent{}
	}
	k := key{network, sender}
	if len(m.sender) >= maxSenders && m.sender[k] == nil {
		return nil // a crowd: nonces are what nodes say
	}
	list := append(recent(m.sender[k]), sent{nonce, time.Now()})
	m.sender[k] = list[max(0, len(list)-MaxNonces):]
	return nil
}

// Nonces is part of Store.
func (m *Memory) Nonces(_ context.Context, network, sender string) ([]uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var nonces []uint64
	for _, s := range recent(m.sender[key{network, sender}]) {
		nonces = append(nonces, s.nonce)
	}
	return nonces, nil
}

// recent leaves out what was sent too long ago.
func recent(list []sent) []sent {
	for len(list) > 0 && time.Since(list[0].at) > Life {
		list = list[1:]
	}
	return list
}

func (m *Memory) sweep() {
	for k, list := range m.sender {
		if len(recent(list)) == 0 {
			delete(m.sender, k)
		}
	}
}
