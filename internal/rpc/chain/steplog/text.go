package steplog

import "sync"

// chunkSize is what a log grows by.
const chunkSize = 64 << 10

type chunk [chunkSize]byte

// Chunks are those that no log uses at the moment. The zero value has none, and nil keeps
// none.
type Chunks struct{ pool sync.Pool }

func (c *Chunks) get() *chunk {
	if c != nil {
		if b, ok := c.pool.Get().(*chunk); ok {
			return b
		}
	}
	return new(chunk)
}

func (c *Chunks) put(b *chunk) {
	if c != nil {
		c.pool.Put(b)
	}
}

// text is what a log has written: JSON objects with commas between them.
type text struct {
	from   *Chunks
	chunks []*chunk
	used   int // of the last chunk
	size   int // of all entries, without commas
}

// add appends an entry.
func (t *text) add(entry []byte) {
	if t.size > 0 {
		t.write([]byte{','})
	}
	t.size += len(entry)
	t.write(entry)
}

func (t *text) write(b []byte) {
	for len(b) > 0 {
		if len(t.chunks) == 0 || t.used == chunkSize {
			t.chunks, t.used = append(t.chunks, t.from.get()), 0
		}
		n := copy(t.chunks[len(t.chunks)-1][t.used:], b)
		t.used, b = t.used+n, b[n:]
	}
}

// length is how many bytes appendTo appends.
func (t *text) length() int {
	if len(t.chunks) == 0 {
		return 0
	}
	return (len(t.chunks)-1)*chunkSize + t.used
}

func (t *text) appendTo(b []byte) []byte {
	for i, c := range t.chunks {
		if i < len(t.chunks)-1 {
			b = append(b, c[:]...)
			continue
		}
		b = append(b, c[:t.used]...)
	}
	return b
}

func (t *text) free() {
	for _, c := range t.chunks {
		t.from.put(c)
	}
	t.chunks, t.used, t.size = nil, 0, 0
}
