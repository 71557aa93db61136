package nonce

import (
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Where the nonce of a transaction is, and how many fields its signer signs, by type. The
// signature follows them.
var layouts = map[byte]struct{ nonce, signed int }{
	0: {0, 6}, 1: {1, 8}, 2: {1, 9}, 3: {1, 11}, 4: {1, 10},
}

// senderOf reads who signed a raw transaction, in lower case, and its nonce. It is not ok
// for what it can't read; the node has judged it.
func senderOf(param []byte) (sender string, nonce uint64, ok bool) {
	text, isText := jsonrpc.String(param)
	raw, err := hexutil.Decode(string(text))
	if !isText || err != nil || len(raw) == 0 {
		return "", 0, false
	}
	kind := byte(0)
	if raw[0] < 0x80 {
		kind, raw = raw[0], raw[1:]
	}
	var fields []rlp.RawValue
	if rlp.DecodeBytes(raw, &fields) != nil || len(fields) == 0 {
		return "", 0, false
	}
	if first, _, _, _ := rlp.Split(fields[0]); kind == 3 && first == rlp.List { // with its blobs
		if rlp.DecodeBytes(fields[0], &fields) != nil {
			return "", 0, false
		}
	}
	at, known := layouts[kind]
	if !known || len(fields) != at.signed+3 || rlp.DecodeBytes(fields[at.nonce], &nonce) != nil {
		return "", 0, false
	}
	signer, ok := recoverSigner(kind, fields[:at.signed], fields[at.signed:])
	return signer, nonce, ok
}

// recoverSigner finds who made a signature of v, r and s.
func recoverSigner(kind byte, fields, signature []rlp.RawValue) (string, bool) {
	var v, r, s big.Int
	for i, part := range []*big.Int{&v, &r, &s} {
		if rlp.DecodeBytes(signature[i], part) != nil || part.BitLen() > 256 {
			return "", false
		}
	}
	parity, ok := parityOf(kind, &v, &fields)
	if !ok {
		return "", false
	}
	message, err := rlp.EncodeToBytes(fields)
	if err != nil {
		return "", false
	}
	if kind != 0 {
		message = append([]byte{kind}, message...)
	}
	sig := make([]byte, 65)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:64])
	sig[64] = parity
	key, err := crypto.SigToPub(crypto.Keccak256(message), sig)
	if err != nil {
		return "", false
	}
	return strings.ToLower(crypto.PubkeyToAddress(*key).Hex()), true
}

// parityOf is 0 or 1. With replay protection (EIP-155) a legacy transaction's v holds the
// chain, which is signed too.
func parityOf(kind byte, v *big.Int, fields *[]rlp.RawValue) (byte, bool) {
	switch {
	case kind != 0 && v.IsUint64() && v.Uint64() <= 1:
		return byte(v.Uint64()), true
	case kind != 0:
		return 0, false
	case v.IsUint64() && (v.Uint64() == 27 || v.Uint64() == 28):
		return byte(v.Uint64() - 27), true
	case v.Cmp(big.NewInt(35)) < 0:
		return 0, false
	}
	rest := new(big.Int).Sub(v, big.NewInt(35))
	parity := byte(rest.Bit(0))
	chain, err := rlp.EncodeToBytes(rest.Rsh(rest, 1))
	if err != nil {
		return 0, false
	}
	*fields = append((*fields)[:len(*fields):len(*fields)], chain, rlp.EmptyString, rlp.EmptyString)
	return parity, true
}
