package verify

// Contradicts tells whether a header gives a field that is hashed another value than a block
// with the same hash. A field that it leaves out contradicts nothing.
func (c *Checker) Contradicts(header, block []byte) bool {
	s := c.pool.Get().(*scratch)
	defer c.pool.Put(s)
	defer s.release()
	one, ok := blockNames.read(header, s.fields[:blockFields], s.seed)
	whole, fine := blockNames.read(block, s.inner[:blockFields], s.seed)
	if !ok || !fine || one.broken {
		return true
	}
	for i := range blockHash {
		if one.fields[i] != nil && whole.fields[i] != nil && !same(one.fields[i], whole.fields[i]) {
			return true
		}
	}
	return false
}
