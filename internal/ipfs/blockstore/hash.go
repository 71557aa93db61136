package blockstore

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	_ "github.com/multiformats/go-multihash/register/all" // blake2, blake3, sha3
)

// MaxBlock is the largest block: 2 MiB as bitswap carries them, and room for the
// envelope of a node around a full chunk.
const MaxBlock = 2<<20 + 64<<10

// Digests outside these lengths are refused, as Kubo does.
const (
	minDigest = 20
	maxDigest = 128
)

// errMismatch is the cause of a Damaged: the bytes have another hash.
var errMismatch = errors.New("the bytes don't have the block's hash")

// Check tells whether data is the content of a CID, with a hash function that is
// allowed. Put trusts its caller; who takes blocks from outside calls Check first.
func Check(c cid.Cid, data []byte) error {
	hash, err := hashOf(c)
	if err != nil {
		return err
	}
	if !matches(hash, data) {
		return invalidBlock("the data does not have the hash of " + c.String())
	}
	return nil
}

// hashOf is a CID's multihash, if it may be stored.
func hashOf(c cid.Cid) (multihash.Multihash, error) {
	if !c.Defined() {
		return nil, invalidBlock("no CID")
	}
	p := c.Prefix()
	if p.MhType == multihash.IDENTITY {
		return c.Hash(), nil
	}
	if !allowed(p.MhType) {
		return nil, invalidBlock("potentially insecure hash functions not allowed")
	}
	if p.MhLength < minDigest || p.MhLength > maxDigest {
		return nil, invalidBlock(fmt.Sprintf("digests of %d to %d bytes are allowed, not %d", minDigest, maxDigest, p.MhLength))
	}
	return c.Hash(), nil
}

// allowed is Kubo's list: what is collision-resistant, and SHA-1 for git.
func allowed(code uint64) bool {
	switch code {
	case multihash.SHA2_256, multihash.SHA2_512, multihash.SHAKE_256, multihash.DBL_SHA2_256, multihash.BLAKE3,
		multihash.SHA3_224, multihash.SHA3_256, multihash.SHA3_384, multihash.SHA3_512,
		multihash.KECCAK_224, multihash.KECCAK_256, multihash.KECCAK_384, multihash.KECCAK_512,
		multihash.SHA1:
		return true
	}
	const shortest = minDigest - 1 // of the blake2 families, whose codes count bytes
	return code >= multihash.BLAKE2B_MIN+shortest && code <= multihash.BLAKE2B_MAX ||
		code >= multihash.BLAKE2S_MIN+shortest && code <= multihash.BLAKE2S_MAX
}

// matches tells whether data has that multihash.
func matches(hash multihash.Multihash, data []byte) bool {
	const sha256Prefix = "\x12\x20" // the code and the length of nearly every block
	if len(hash) == 34 && string(hash[:2]) == sha256Prefix {
		sum := sha256.Sum256(data) // uses the processor's instructions
		return bytes.Equal(sum[:], hash[2:])
	}
	d, err := multihash.Decode(hash)
	if err != nil {
		return false
	}
	sum, err := multihash.Sum(data, d.Code, d.Length)
	return err == nil && bytes.Equal(sum, hash)
}
