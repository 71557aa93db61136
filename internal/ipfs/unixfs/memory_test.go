package unixfs

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

// memory is a store of blocks in memory that checks every block it is given.
type memory struct {
	mu     sync.Mutex
	blocks map[string][]byte
	pins   map[string]nodegate.Pin
	gets   int
	t      testing.TB // nil: blocks are not checked
}

func newMemory(t testing.TB) *memory {
	return &memory{blocks: map[string][]byte{}, pins: map[string]nodegate.Pin{}, t: t}
}

func (m *memory) Get(_ context.Context, c cid.Cid) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gets++
	data, ok := m.blocks[string(c.Hash())]
	if !ok {
		return nil, &nodegate.Error{Op: "memory", Code: nodegate.NotFound, Msg: "no such block"}
	}
	return data, nil
}

func (m *memory) Has(ctx context.Context, c cid.Cid) (bool, error) {
	_, err := m.Get(ctx, c)
	return err == nil, nil
}

func (m *memory) Begin(accountID string, _ int64) Batch {
	return &memoryBatch{store: m, blocks: map[string][]byte{}, account: accountID}
}

type memoryBatch struct {
	store   *memory
	account string
	blocks  map[string][]byte
	pins    []nodegate.Pin
	unpins  []string
	loose   int64
}

func (b *memoryBatch) Put(_ context.Context, c cid.Cid, data []byte) error {
	if b.store.t != nil {
		if err := verify(c, data); err != nil {
			b.store.t.Errorf("put of %s: %v", c, err)
		}
		if len(data) > MaxBlock {
			b.store.t.Errorf("put of a block of %d bytes", len(data))
		}
	}
	b.blocks[string(c.Hash())] = bytes.Clone(data)
	return nil
}

func (b *memoryBatch) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	if data, ok := b.blocks[string(c.Hash())]; ok {
		return data, nil
	}
	return b.store.Get(ctx, c)
}

func (b *memoryBatch) Small(ctx context.Context, c cid.Cid, most int) ([]byte, bool) {
	data, err := b.Get(ctx, c)
	return data, err == nil && len(data) <= most
}

func (b *memoryBatch) Pin(p nodegate.Pin) {
	p.AccountID = b.account
	b.pins = append(b.pins, p)
}

func (b *memoryBatch) Loose(bytes int64) { b.loose += bytes }

func (b *memoryBatch) Unpin(cid string) { b.unpins = append(b.unpins, cid) }

func (b *memoryBatch) Commit(context.Context) error {
	if b.blocks == nil {
		return errors.New("already done")
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	for k, data := range b.blocks {
		b.store.blocks[k] = data
	}
	for _, p := range b.pins {
		b.store.pins[p.CID] = p
	}
	for _, c := range b.unpins {
		delete(b.store.pins, c)
	}
	b.blocks = nil
	return nil
}

func (b *memoryBatch) Abort() { b.blocks = nil }
