package form

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Tx is a transaction of a block.
type Tx struct {
	Index uint64
	Raw   []byte   // its consensus encoding
	From  [20]byte // its sender
	Hash  [32]byte // of Raw; zero where it is not known and has to be computed
	Nonce uint64   // of a deposit, see DepositNonce; others have it in Raw
	Extra []byte   // members to append, as in `"a":1,"b":2`
}

// The types of transactions that can be written.
const (
	legacyType  = 0
	accessType  = 1
	feeType     = 2
	blobType    = 3
	setCodeType = 4
	depositType = 0x7e // of the OP stack: nobody signed it
)

// transaction is the fields of a transaction. Numbers are without zeros before them.
type transaction struct {
	kind                         byte
	chainID                      []byte // not of legacy ones
	nonce, gas, to, value, input []byte
	gasPrice                     []byte // up to type 1
	tip, feeCap                  []byte // from type 2
	blobFee                      []byte
	access, blobs, auths         cursor
	v, r, s                      []byte
}

// read finds the fields. It looks at access lists, blob hashes and authorizations only as
// lists: they are read when they are written. A deposit's nonce is put into room.
func (t *transaction) read(tx *Tx, room *[smallBytes]byte) bool {
	in := cursor{rest: tx.Raw}
	if len(in.rest) > 0 && in.rest[0] < shortString {
		if t.kind, in.rest = in.rest[0], in.rest[1:]; t.kind < accessType || t.kind > setCodeType && t.kind != depositType {
			return false
		}
	}
	list := in.list()
	if t.kind == depositType {
		t.readDeposit(&list, tx, room)
	} else {
		t.readSigned(&list)
	}
	return in.done() && list.done()
}

func (t *transaction) readSigned(in *cursor) {
	if t.kind != legacyType {
		t.chainID = in.quantity(wordBytes)
	}
	t.nonce = in.quantity(smallBytes)
	if t.kind < feeType {
		t.gasPrice = in.quantity(wordBytes)
	} else {
		t.tip, t.feeCap = in.quantity(wordBytes), in.quantity(wordBytes)
	}
	t.gas = in.quantity(smallBytes)
	if t.kind < blobType {
		t.to = in.recipient()
	} else {
		t.to = in.fixed(addressBytes)
	}
	t.value, t.input = in.quantity(wordBytes), in.data()
	t.readLists(in)
	t.v, t.r, t.s = in.quantity(wordBytes), in.quantity(wordBytes), in.quantity(wordBytes)
}

// readDeposit reads a deposit, which names its sender. Its source, what it mints and whether
// the system sent it are members that are appended: nodes differ in how they show them.
func (t *transaction) readDeposit(in *cursor, tx *Tx, room *[smallBytes]byte) {
	in.fixed(hashBytes) // the source
	if string(in.fixed(addressBytes)) != string(tx.From[:]) {
		in.fail()
	}
	t.to = in.recipient()
	in.quantity(wordBytes) // the mint
	t.value, t.gas = in.quantity(wordBytes), in.quantity(smallBytes)
	if system := in.quantity(1); len(system) > 0 && system[0] != 1 {
		in.fail()
	}
	t.input = in.data()
	binary.BigEndian.PutUint64(room[:], tx.Nonce)
	t.nonce = bytes.TrimLeft(room[:], "\x00")
}

func (t *transaction) readLists(in *cursor) {
	if t.kind == legacyType {
		return
	}
	t.access = in.list()
	switch t.kind {
	case blobType:
		t.blobFee, t.blobs = in.quantity(wordBytes), in.list()
	case setCodeType:
		t.auths = in.list()
	}
}

// signedChain is the chain id in the signature of a legacy transaction, EIP-155. Numbers
// that no signature has wrap around as they do in go-ethereum.
func (t *transaction) signedChain(room *[wordBytes]byte) []byte {
	const homestead, protected = 27, 35
	v := words(t.v)
	if v[0]|v[1]|v[2] == 0 {
		if v[3] == homestead || v[3] == homestead+1 {
			return nil
		}
		putWords(room, [4]uint64{3: (v[3] - protected) / 2})
		return trimmed(room)
	}
	const all = ^uint64(0) // less 35 is more 2^256 - 35
	v, _ = add(v, [4]uint64{all, all, all, all - protected + 1})
	for i := len(v) - 1; i >= 0; i-- {
		v[i] >>= 1
		if i > 0 {
			v[i] |= v[i-1] << 63
		}
	}
	putWords(room, v)
	return trimmed(room)
}

// Transaction appends a transaction of the block h. It returns false, and dst as it was,
// when the transaction can't be read or has a type that is not known.
func (w *Writer) Transaction(dst []byte, h *Head, tx *Tx) ([]byte, bool) {
	s := w.get()
	defer w.put(s)
	return s.transaction(dst, h, tx)
}

// transactionText is the most characters of a transaction beside its input and its lists.
const transactionText = 1400

func (s *scratch) transaction(dst []byte, h *Head, tx *Tx) ([]byte, bool) {
	var f transaction
	if !f.read(tx, &s.nonce) {
		return dst, false
	}
	const mostPerByte = 5 // of JSON for a byte of a list's RLP
	lists := len(f.access.rest) + len(f.blobs.rest) + len(f.auths.rest)
	t := text{slices.Grow(dst, transactionText+2*len(f.input)+mostPerByte*lists+len(tx.Extra))}
	var room [wordBytes]byte

	t.data(`{"blockHash":`, h.Hash[:])
	t.number(`,"blockNumber":`, h.Number)
	t.number(`,"blockTimestamp":`, h.Time)
	t.data(`,"from":`, tx.From[:])
	t.quantity(`,"gas":`, f.gas)
	t.quantity(`,"gasPrice":`, f.price(h, &room))
	if f.kind >= feeType && f.kind <= setCodeType {
		t.quantity(`,"maxFeePerGas":`, f.feeCap)
		t.quantity(`,"maxPriorityFeePerGas":`, f.tip)
	}
	if f.kind == blobType {
		t.quantity(`,"maxFeePerBlobGas":`, f.blobFee)
	}
	t.data(`,"hash":`, s.hashOf(tx)[:])
	t.data(`,"input":`, f.input)
	t.quantity(`,"nonce":`, f.nonce)
	t.address(`,"to":`, f.to)
	t.number(`,"transactionIndex":`, tx.Index)
	t.quantity(`,"value":`, f.value)
	t.number(`,"type":`, uint64(f.kind))
	ok := t.lists(&f, &room)
	t.quantity(`,"v":`, f.v)
	t.quantity(`,"r":`, f.r)
	t.quantity(`,"s":`, f.s)
	if f.typed() {
		t.number(`,"yParity":`, uint64(min(1, len(f.v))))
	}
	t.close(tx.Extra)
	return t.result(dst, ok)
}

// result is what was appended to dst, or dst as it was.
func (t *text) result(dst []byte, ok bool) ([]byte, bool) {
	if !ok {
		return dst, false
	}
	return t.b, true
}

// hashOf is a transaction's hash.
func (s *scratch) hashOf(tx *Tx) *[hashBytes]byte {
	if tx.Hash != [hashBytes]byte{} {
		return &tx.Hash
	}
	return s.hash(tx.Raw)
}

// typed tells whether it is of one of Ethereum's types, except the first.
func (t *transaction) typed() bool { return t.kind >= accessType && t.kind <= setCodeType }

// lists writes the lists and the chain id, which depend on the type. It tells whether the
// lists could be read.
func (t *text) lists(f *transaction, room *[wordBytes]byte) bool {
	if !f.typed() {
		if id := f.signedChain(room); len(id) > 0 && f.kind == legacyType {
			t.quantity(`,"chainId":`, id)
		}
		return true
	}
	t.access(`,"accessList":`, &f.access)
	t.quantity(`,"chainId":`, f.chainID)
	if f.blobs.more() {
		t.hashes(`,"blobVersionedHashes":`, &f.blobs)
	}
	if f.auths.more() {
		t.authorizations(`,"authorizationList":`, &f.auths)
	}
	return f.access.done() && f.blobs.done() && f.auths.done()
}

// access writes an access list.
func (t *text) access(name string, list *cursor) {
	t.raw(name)
	t.b = append(t.b, '[')
	for first := true; list.more(); first = false {
		t.comma(first)
		in := list.list()
		t.data(`{"address":`, in.fixed(addressBytes))
		keys := in.list()
		t.hashes(`,"storageKeys":`, &keys)
		t.b = append(t.b, '}')
		if !keys.done() || !in.done() {
			list.fail()
		}
	}
	t.b = append(t.b, ']')
}

// authorizations writes the authorizations of a set-code transaction.
func (t *text) authorizations(name string, list *cursor) {
	t.raw(name)
	t.b = append(t.b, '[')
	for first := true; list.more(); first = false {
		t.comma(first)
		in := list.list()
		t.quantity(`{"chainId":`, in.quantity(wordBytes))
		t.data(`,"address":`, in.fixed(addressBytes))
		t.quantity(`,"nonce":`, in.quantity(smallBytes))
		t.quantity(`,"yParity":`, in.quantity(1))
		t.quantity(`,"r":`, in.quantity(wordBytes))
		t.quantity(`,"s":`, in.quantity(wordBytes))
		t.b = append(t.b, '}')
		if !in.done() {
			list.fail()
		}
	}
	t.b = append(t.b, ']')
}
