package verify

import (
	"hash/maphash"

	"github.com/ethereum/go-ethereum/crypto"
)

// scratch is the room that checks work in. One check uses it at a time.
type scratch struct {
	seed   maphash.Seed
	keccak crypto.KeccakState
	sum    [32]byte
	buf    []byte // RLP
	trie   trie
	fields [maxFields][]byte
	inner  [maxFields][]byte // of an object within an object
	list   [][]byte
	logs   []logRow
	blooms blooms

	receiptHabit, logHabit habit

	working [bloomBytes]byte
}

// maxFields is the most fields that a kind of object has.
const maxFields = 40

// begin is the scanner for an answer with receipts or logs.
func (s *scratch) begin(answer []byte) scanner {
	s.receiptHabit.begin()
	s.logHabit.begin()
	return scanner{d: answer}
}

// hash is the hash of some bytes. The result is valid until the next one.
func (s *scratch) hash(b []byte) *[32]byte {
	s.keccak.Reset()
	_, _ = s.keccak.Write(b)
	_, _ = s.keccak.Read(s.sum[:])
	return &s.sum
}

// mostKept is how much room is kept for the next check; a log's takes about logRowBytes.
const (
	mostKept    = 1 << 20
	logRowBytes = 350
)

// release lets go of the answer, and of room that is unusually large.
func (s *scratch) release() {
	clear(s.fields[:])
	clear(s.inner[:])
	clear(s.logs)
	clear(s.list)
	s.blooms.reset()
	if cap(s.trie.data)+cap(s.trie.out)+cap(s.list)*24+cap(s.logs)*logRowBytes > mostKept {
		s.trie, s.list, s.logs = trie{hash: s.trie.hash}, nil, nil
	}
}
