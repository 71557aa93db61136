package unixfs

import (
	"crypto/sha256"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/ipfs/go-cidutil/cidenc"
	"github.com/multiformats/go-multihash"
)

// FuzzTextOf compares our texts of CIDs with the library's.
func FuzzTextOf(f *testing.F) {
	var low, high [32]byte
	for i := range high {
		high[i] = 0xff
	}
	f.Add(low[:])
	f.Add(high[:])
	for i := range 64 {
		sum := sha256.Sum256([]byte{byte(i)})
		f.Add(sum[:])
	}
	f.Fuzz(func(t *testing.T, digest []byte) {
		if len(digest) != sha256.Size {
			return
		}
		hash, err := multihash.Encode(digest, multihash.SHA2_256)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []cid.Cid{cid.NewCidV0(hash), cid.NewCidV1(cid.DagProtobuf, hash)} {
			if got := textOf(c); got != c.String() {
				t.Errorf("%s, want %s", got, c)
			}
			for _, upgrade := range []bool{false, true} {
				enc := cidenc.Default()
				enc.Upgrade = upgrade
				if got, want := (Encoder{enc}).Encode(c), enc.Encode(c); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		}
	})
}

func BenchmarkTextOf(b *testing.B) {
	sum := sha256.Sum256(nil)
	hash, _ := multihash.Encode(sum[:], multihash.SHA2_256)
	c := cid.NewCidV0(hash)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			_ = textOf(c)
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			_ = c.String()
		}
	})
}
