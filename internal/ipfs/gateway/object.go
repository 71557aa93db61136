package gateway

import (
	"context"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// objectChange is a change in the answer of object/diff.
type objectChange struct {
	Type          unixfs.ChangeKind
	Path          string
	Before, After *slashed
}

// objectDiff compares two trees.
func objectDiff(ctx context.Context, c *call) error {
	found, err := c.gateway.objects.Diff(ctx, c.args[0], c.args[1])
	if err != nil {
		return err
	}
	changes := make([]objectChange, len(found))
	for i, f := range found {
		changes[i] = objectChange{f.Kind, f.Path, slashedOrNull(f.Before), slashedOrNull(f.After)}
	}
	return c.answer.object(struct{ Changes []objectChange }{changes})
}

func slashedOrNull(c cid.Cid) *slashed {
	if !c.Defined() {
		return nil
	}
	return &slashed{c.String()}
}
