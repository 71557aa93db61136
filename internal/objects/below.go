package objects

import (
	"context"

	"github.com/ipfs/go-cid"
)

// Below visits all blocks below a root, each once and without the root itself.
func (o *Objects) Below(ctx context.Context, root cid.Cid, limits Limits, visit func(cid.Cid) error) error {
	return inOrder(ctx, o.get, root, limits, func(c cid.Cid, _ []byte) error {
		if c.Equals(root) {
			return nil
		}
		return visit(c)
	})
}
