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
	body, before := gather(c), `{"Changes":[`
	for _, f := range found {
		if err := body.text(before); err != nil {
			return err
		}
		before = ","
		if err := body.value(ctx, objectChange{f.Kind, f.Path, slashedOrNull(f.Before), slashedOrNull(f.After)}); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		before = ""
	}
	if err := body.text(before + "]}"); err != nil {
		return err
	}
	return body.send(c.answer)
}

func slashedOrNull(c cid.Cid) *slashed {
	if !c.Defined() {
		return nil
	}
	return &slashed{c.String()}
}
