package identity_test

import (
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

func TestData(t *testing.T) {
	for _, content := range []string{"", "carried along"} {
		hash, err := multihash.Sum([]byte(content), multihash.IDENTITY, -1)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := identity.Data(cid.NewCidV1(cid.Raw, hash)); !ok || string(got) != content {
			t.Errorf("%q: %q, %v", content, got, ok)
		}
	}
	hash, err := multihash.Sum([]byte("x"), multihash.SHA2_256, -1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []cid.Cid{cid.Undef, cid.NewCidV1(cid.Raw, hash), cid.NewCidV0(hash)} {
		if _, ok := identity.Data(c); ok {
			t.Errorf("%v carries no content", c)
		}
	}
}
