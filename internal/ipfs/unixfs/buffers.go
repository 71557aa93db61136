package unixfs

import "sync"

// leafTail is more than a leaf's wrapping takes after its content.
const leafTail = 64

// wrapping is more than a leaf takes beside its content.
const wrapping = leafRoom + leafTail

// buffers keeps memory for leaves between calls: of the default size, of 1 MiB and
// of the largest. Making and clearing it again would cost as much as hashing.
type buffers struct{ pools [3]sync.Pool }

// bufferSizes are the sizes of the three kinds.
func bufferSizes() [3]int {
	return [3]int{DefaultChunk + wrapping, 1<<20 + wrapping, MaxBlock + wrapping}
}

// get returns a buffer for a leaf with so much content.
func (b *buffers) get(content int) []byte {
	for i, size := range bufferSizes() {
		if content+wrapping > size {
			continue
		}
		if p, ok := b.pools[i].Get().(*[]byte); ok {
			return *p
		}
		return make([]byte, size)
	}
	return make([]byte, content+wrapping)
}

// put takes a buffer back; one that get did not make is dropped.
func (b *buffers) put(buf []byte) {
	for i, size := range bufferSizes() {
		if cap(buf) == size {
			buf = buf[:size]
			b.pools[i].Put(&buf)
			return
		}
	}
}
