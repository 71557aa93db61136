package blockstore

import "github.com/ipfs/go-cid"

// Allowed tells whether the blocks of a CID can be checked and stored: its hash
// function is safe, and its digest long enough.
func Allowed(c cid.Cid) error {
	_, err := hashOf(c)
	return err
}
