package verify

// trie computes the root of the Merkle trie that holds a list, each element under the RLP
// of its index, as headers commit to transactions, receipts and withdrawals.
type trie struct {
	data  []byte // the elements, one after the other
	ends  []int  // where each ends
	order []leaf
	out   []byte // nodes
	hash  func([]byte) *[32]byte
}

// leaf is an element's key, in nibbles, and its place in the list.
type leaf struct {
	key   [8]byte
	size  int
	index int
}

func (t *trie) reset() { t.data, t.ends = t.data[:0], t.ends[:0] }

// add ends an element, whose bytes were appended to data.
func (t *trie) add() { t.ends = append(t.ends, len(t.data)) }

// drop takes the last element off.
func (t *trie) drop() {
	t.ends = t.ends[:len(t.ends)-1]
}

func (t *trie) element(i int) []byte {
	start := 0
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.data[start:t.ends[i]]
}

// root is the root of the list.
func (t *trie) root() (root [32]byte) {
	if len(t.ends) == 0 {
		return emptyRoot
	}
	t.sort()
	t.out = t.node(t.out[:0], t.order, 0)
	return *t.hash(t.out)
}

// sort brings the elements into the order of their keys: the RLP of 0 is 0x80, after that
// of 1 to 127 and before that of larger numbers.
func (t *trie) sort() {
	const oneByte = 0x80
	t.order = t.order[:0]
	for i := 1; i < len(t.ends) && i < oneByte; i++ {
		t.order = append(t.order, leafOf(i))
	}
	t.order = append(t.order, leafOf(0))
	for i := oneByte; i < len(t.ends); i++ {
		t.order = append(t.order, leafOf(i))
	}
}

func leafOf(index int) leaf {
	var number, room [8]byte
	n := 0
	for rest := index; rest > 0; rest >>= 8 {
		n++
		number[len(number)-n] = byte(rest)
	}
	l := leaf{index: index}
	for _, b := range appendBytes(room[:0], number[len(number)-n:]) {
		l.key[l.size], l.key[l.size+1] = b>>4, b&15
		l.size += 2
	}
	return l
}

// node appends the node of some leaves that have the first depth nibbles in common.
func (t *trie) node(dst []byte, leaves []leaf, depth int) []byte {
	first, last := &leaves[0], &leaves[len(leaves)-1]
	start := len(dst)
	if len(leaves) == 1 {
		dst = appendPath(dst, first.key[depth:first.size], true)
		dst = appendBytes(dst, t.element(first.index))
		return wrap(dst, start)
	}
	shared := depth
	for first.key[shared] == last.key[shared] {
		shared++
	}
	if shared > depth {
		dst = appendPath(dst, first.key[depth:shared], false)
		return wrap(t.child(dst, leaves, shared), start)
	}
	for nibble := range byte(16) {
		n := 0
		for n < len(leaves) && leaves[n].key[depth] == nibble {
			n++
		}
		if n == 0 {
			dst = append(dst, shortString)
			continue
		}
		dst = t.child(dst, leaves[:n], depth+1)
		leaves = leaves[n:]
	}
	return wrap(append(dst, shortString), start)
}

// child appends a node as it stands in its parent: itself when it is short, else its hash.
func (t *trie) child(dst []byte, leaves []leaf, depth int) []byte {
	start := len(dst)
	dst = t.node(dst, leaves, depth)
	if len(dst)-start < 32 {
		return dst
	}
	sum := t.hash(dst[start:])
	return append(append(dst[:start], shortString+32), sum[:]...)
}

// appendPath appends nibbles with the mark of their node.
func appendPath(dst, nibbles []byte, leaf bool) []byte {
	var room [8]byte
	mark := byte(0)
	if leaf {
		mark = 2
	}
	path := room[:0]
	if len(nibbles)%2 == 1 {
		path, nibbles = append(path, (mark+1)<<4|nibbles[0]), nibbles[1:]
	} else {
		path = append(path, mark<<4)
	}
	for i := 0; i < len(nibbles); i += 2 {
		path = append(path, nibbles[i]<<4|nibbles[i+1])
	}
	return appendBytes(dst, path)
}
