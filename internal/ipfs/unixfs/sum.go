package unixfs

import (
	"crypto/sha256"

	"github.com/ipfs/boxo/verifcid"
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

// scheme is how blocks are named: version, hash function, and what is small enough
// to be its own name.
type scheme struct {
	version uint64
	hash    uint64
	inline  int // content up to this many bytes goes into the CID; -1 is never
}

// cid.Builder, for boxo's directories.
type builder struct {
	scheme scheme
	codec  uint64
}

func (b builder) Sum(data []byte) (cid.Cid, error)   { return b.scheme.sum(b.codec, data) }
func (b builder) GetCodec() uint64                   { return b.codec }
func (b builder) WithCodec(codec uint64) cid.Builder { return builder{b.scheme, codec} }

// sum names a block.
func (s scheme) sum(codec uint64, data []byte) (cid.Cid, error) {
	if len(data) <= s.inline {
		return sumInline(codec, data)
	}
	if s.hash != multihash.SHA2_256 {
		return s.sumOther(codec, data)
	}
	var mh [2 + sha256.Size]byte
	mh[0], mh[1] = multihash.SHA2_256, sha256.Size
	digest := sha256.Sum256(data)
	copy(mh[2:], digest[:])
	if s.version == 0 && codec == cid.DagProtobuf {
		return cid.NewCidV0(mh[:]), nil
	}
	return cid.NewCidV1(codec, mh[:]), nil
}

func sumInline(codec uint64, data []byte) (cid.Cid, error) {
	mh, err := multihash.Sum(data, multihash.IDENTITY, -1)
	if err != nil {
		return cid.Undef, failedBy(err)
	}
	return cid.NewCidV1(codec, mh), nil
}

func (s scheme) sumOther(codec uint64, data []byte) (cid.Cid, error) {
	mh, err := multihash.Sum(data, s.hash, -1)
	if err != nil {
		return cid.Undef, failedBy(err)
	}
	c := cid.NewCidV1(codec, mh)
	return c, checkCID(c)
}

// checkCID refuses CIDs with weak or unknown hash functions and with digests that
// are too short or too long.
func checkCID(c cid.Cid) error {
	if err := verifcid.ValidateCid(verifcid.DefaultAllowlist, c); err != nil {
		return failedBy(err)
	}
	return nil
}

// verify tells whether data is what a CID names.
func verify(c cid.Cid, data []byte) error {
	if err := checkCID(c); err != nil {
		return err
	}
	got, err := c.Prefix().Sum(data)
	if err != nil {
		return failedBy(err)
	}
	if !got.Equals(c) {
		return failed("mismatch in content integrity, expected: %s, got: %s", c, got)
	}
	return nil
}
