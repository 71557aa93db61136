// Package signer finds who sent a transaction. It reads the consensus encoding, the bytes
// that a transaction's hash is made of, and no more of it than the signature needs: the
// fields that were signed are hashed as they stand.
package signer

import (
	"math/big"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
)

// The types of transactions that name or show their sender.
const (
	legacyType  = 0
	accessType  = 1
	feeType     = 2
	blobType    = 3
	setCodeType = 4
	depositType = 0x7e // of the OP stack
)

// firstList is the first byte of the shortest list. A legacy transaction is a list; the
// others have their type before it.
const firstList = 0xc0

// Sender is the address that sent a transaction: whose key signed it, or whom a deposit of
// the OP stack names. It is not ok for types that are not known here, and for signatures
// that no block can have.
func Sender(raw []byte) (address [20]byte, ok bool) {
	if len(raw) == 0 {
		return address, false
	}
	kind := byte(legacyType)
	if raw[0] < firstList {
		if kind, raw = raw[0], raw[1:]; kind == legacyType {
			return address, false
		}
	}
	fields, rest, err := rlp.SplitList(raw)
	switch {
	case err != nil || len(rest) > 0:
		return address, false
	case kind == depositType:
		return depositor(fields)
	}
	t, ok := split(kind, fields)
	if !ok {
		return address, false
	}
	return t.recover()
}

// depositor is who made a deposit. Its fields are sourceHash, from, to, mint, value, gas,
// isSystemTx and data; other chains use the type for lists of another form.
func depositor(fields []byte) (address [20]byte, ok bool) {
	source, rest, err := rlp.SplitString(fields)
	if err != nil || len(source) != 32 {
		return address, false
	}
	from, rest, err := rlp.SplitString(rest)
	if err != nil || len(from) != len(address) {
		return address, false
	}
	others, err := rlp.CountValues(rest)
	return [20]byte(from), err == nil && others == 6
}

// transaction is what of a transaction its signature is about.
type transaction struct {
	kind    byte
	signed  []byte // the fields before the signature, one after the other
	v, r, s big.Int
}

// signedFields is how many fields a sender signs. v, r and s follow them.
func signedFields(kind byte) (n int, known bool) {
	switch kind {
	case legacyType:
		return 6, true
	case accessType:
		return 8, true
	case feeType:
		return 9, true
	case blobType:
		return 11, true
	case setCodeType:
		return 10, true
	}
	return 0, false
}

// split divides the fields of a transaction from its signature.
func split(kind byte, fields []byte) (t transaction, ok bool) {
	n, known := signedFields(kind)
	if !known {
		return t, false
	}
	rest, err := fields, error(nil)
	for range n {
		if _, _, rest, err = rlp.Split(rest); err != nil {
			return t, false
		}
	}
	t.kind, t.signed = kind, fields[:len(fields)-len(rest)]
	for _, number := range []*big.Int{&t.v, &t.r, &t.s} {
		if rest, ok = readNumber(number, rest); !ok {
			return t, false
		}
	}
	return t, len(rest) == 0
}

// readNumber reads a number and returns what follows it.
func readNumber(n *big.Int, list []byte) (rest []byte, ok bool) {
	digits, rest, err := rlp.SplitString(list)
	if err != nil || len(digits) > 0 && digits[0] == 0 {
		return nil, false
	}
	n.SetBytes(digits)
	return rest, true
}

// recover finds the address whose key made the signature.
func (t *transaction) recover() (address [20]byte, ok bool) {
	parity, chain, ok := t.parity()
	// Since Homestead only the smaller of the two values that s may have is valid. What was
	// mined before has no replay protection.
	lowOnly := t.kind != legacyType || chain != nil
	if !ok || !crypto.ValidateSignatureValues(parity, &t.r, &t.s, lowOnly) {
		return address, false
	}
	var signature [crypto.SignatureLength]byte
	t.r.FillBytes(signature[:32])
	t.s.FillBytes(signature[32:64])
	signature[crypto.RecoveryIDOffset] = parity
	key, err := crypto.Ecrecover(t.hash(chain), signature[:])
	if err != nil {
		return address, false
	}
	const uncompressed = 1 // the byte before the coordinates
	return [20]byte(crypto.Keccak256(key[uncompressed:])[12:]), true
}

// parity tells the two keys apart that a signature could be of. With replay protection
// (EIP-155) the v of a legacy transaction also holds the chain, which is then signed too.
func (t *transaction) parity() (parity byte, chain *big.Int, ok bool) {
	const unprotected, protected = 27, 35
	small := t.v.IsUint64()
	switch v := t.v.Uint64(); {
	case t.kind != legacyType:
		return byte(v), nil, small && v <= 1
	case small && v < protected:
		return byte(v - unprotected), nil, v == unprotected || v == unprotected+1
	}
	chain = new(big.Int).Sub(&t.v, big.NewInt(protected))
	parity = byte(chain.Bit(0))
	return parity, chain.Rsh(chain, 1), true
}

// hash is what was signed.
func (t *transaction) hash(chain *big.Int) []byte {
	sum := crypto.NewKeccakState()
	if t.kind != legacyType {
		_, _ = sum.Write([]byte{t.kind})
	}
	out := rlp.NewEncoderBuffer(sum)
	list := out.List()
	_, _ = out.Write(t.signed)
	if chain != nil {
		out.WriteBigInt(chain)
		out.WriteBytes(nil)
		out.WriteBytes(nil)
	}
	out.ListEnd(list)
	_ = out.Flush() // writing to a hash never fails
	return sum.Sum(nil)
}
