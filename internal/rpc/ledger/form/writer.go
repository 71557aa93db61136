package form

import (
	"sync"

	"github.com/ethereum/go-ethereum/crypto"
)

// Writer writes answers. Any number of goroutines may use it at the same time.
type Writer struct{ scratches sync.Pool }

// New returns a Writer.
func New() *Writer { return &Writer{} }

// scratch is what an answer is worked out with. One call uses it at a time.
type scratch struct {
	keccak crypto.KeccakState
	sum    [hashBytes]byte
	room   [64]byte
	nonce  [smallBytes]byte // of a deposit
	blooms blooms
	bloom  [BloomBytes]byte

	list       list
	addTx      func(*Tx) bool           // list's methods, which are made once: a function
	addReceipt func(*Tx, *Receipt) bool // that an iterator calls is allocated otherwise
}

// list is a list of transactions or receipts that is being written.
type list struct {
	*scratch
	text
	head *Head
	full bool // whole transactions, not their hashes
	more bool // there is one already
	bad  bool // one could not be written
}

func (w *Writer) get() *scratch {
	if s, ok := w.scratches.Get().(*scratch); ok {
		return s
	}
	s := &scratch{keccak: crypto.NewKeccakState()}
	s.addTx, s.addReceipt = s.list.addTx, s.list.addReceipt
	return s
}

// put takes a scratch back. It lets go of the answer first.
func (w *Writer) put(s *scratch) {
	s.list = list{}
	w.scratches.Put(s)
}

// hash is the Keccak-256 hash of some bytes. The result is valid until the next one.
func (s *scratch) hash(b []byte) *[hashBytes]byte {
	s.keccak.Reset()
	_, _ = s.keccak.Write(b)
	_, _ = s.keccak.Read(s.sum[:])
	return &s.sum
}

// Hash is the Keccak-256 hash of some bytes: of a header its block's hash, of a
// transaction its own.
func (w *Writer) Hash(b []byte) [32]byte {
	s := w.get()
	defer w.put(s)
	return *s.hash(b)
}
