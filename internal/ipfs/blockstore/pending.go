package blockstore

import (
	"github.com/cockroachdb/pebble"
)

// pendingInMemory is how many blocks of an open batch are kept in memory. The rest
// goes to the index, where nobody else looks.
const pendingInMemory = 16 << 10

// pending are the blocks of a batch that is not committed.
type pending struct {
	batch   uint64
	memory  map[string]entry
	spilled bool
}

func (p *pending) get(x *index, hash []byte) (entry, bool, error) {
	if e, ok := p.memory[string(hash)]; ok || !p.spilled {
		return e, ok, nil
	}
	value, err := x.get(pendingKey(p.batch, hash))
	if err != nil || value == nil {
		return entry{}, false, err
	}
	e, ok := decodeEntry(value)
	return e, ok, nil
}

func (p *pending) add(x *index, hash []byte, e entry) error {
	if p.memory == nil {
		p.memory = map[string]entry{}
	}
	p.memory[string(hash)] = e
	if len(p.memory) < pendingInMemory {
		return nil
	}
	w := x.db.NewBatch()
	for hash, e := range p.memory {
		if err := w.Set(pendingKey(p.batch, []byte(hash)), e.encode(), nil); err != nil {
			return x.failed(err)
		}
	}
	p.spilled = true
	clear(p.memory)
	return x.commit(w)
}

// count is how many blocks there are, or as many as memory takes if there are more.
func (p *pending) count() int {
	if p.spilled {
		return pendingInMemory
	}
	return len(p.memory)
}

// found is one block of a batch.
type found struct {
	hash string
	entry
}

// portion is how many blocks are entered in the index at once. Small commits wait for
// the end of one.
const portion = 64

// each hands out all blocks in portions.
func (p *pending) each(x *index, do func([]found) error) error {
	list := make([]found, 0, min(portion, max(len(p.memory), 1)))
	take := func(hash string, e entry) error {
		list = append(list, found{hash, e})
		if len(list) < portion {
			return nil
		}
		err := do(list)
		list = list[:0]
		return err
	}
	for hash, e := range p.memory {
		if err := take(hash, e); err != nil {
			return err
		}
	}
	if p.spilled {
		err := x.scan(pendingKey(p.batch, nil), func(key, value []byte) (bool, error) {
			e, ok := decodeEntry(value)
			if !ok {
				return false, x.failed(pebble.ErrCorruption)
			}
			return true, take(string(key), e)
		})
		if err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return nil
	}
	return do(list)
}

// drop forgets all blocks.
func (p *pending) drop(x *index) error {
	clear(p.memory)
	if !p.spilled {
		return nil
	}
	from := pendingKey(p.batch, nil)
	return x.db.DeleteRange(from, after(from), pebble.NoSync)
}
