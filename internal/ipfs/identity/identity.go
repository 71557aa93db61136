// Package identity reads CIDs that carry their content instead of its hash.
package identity

import (
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

// Data is the content of an identity CID.
func Data(c cid.Cid) (data []byte, ok bool) {
	if !c.Defined() || c.Prefix().MhType != multihash.IDENTITY {
		return nil, false
	}
	d, err := multihash.Decode(c.Hash())
	if err != nil {
		return nil, false
	}
	return d.Digest, true
}
