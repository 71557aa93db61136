package pool

import (
	"encoding/hex"

	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// Hash is the hash of one of the newest blocks, as nodes that are believed reported it; not
// ok where it isn't known.
func (p *Pool) Hash(number uint64) (hash [32]byte, ok bool) {
	token := heads.Hash(p.heads, number) // a hash in its quotes, or nothing
	if token == "" {
		return hash, false
	}
	_, err := hex.Decode(hash[:], []byte(token[len(`"0x`):len(token)-1]))
	return hash, err == nil
}
