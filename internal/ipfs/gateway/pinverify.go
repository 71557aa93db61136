package gateway

import (
	"context"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// badNode is a block that can't be read.
type badNode struct{ Cid, Err string }

// verifiedPin is a line of the answer of pin/verify.
type verifiedPin struct {
	Cid      string    `json:",omitempty"`
	Ok       bool      `json:",omitempty"`
	BadNodes []badNode `json:",omitempty"`
}

// pinVerify reads all blocks of the account's recursive pins, and tells of pins that are
// not whole; of all, if asked to.
func pinVerify(ctx context.Context, c *call) error {
	verbose, quiet := c.query.Flag("verbose"), c.query.Flag("quiet", "q")
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	if verbose && quiet {
		return failed("the --verbose and --quiet options can not be used at the same time")
	}
	roots, err := recursivePins(ctx, c)
	if err != nil {
		return err
	}
	out, verifier := c.answer.stream(), unixfs.NewVerifier(c.gateway.objects, c.gateway.cfg.Limits)
	for _, root := range roots {
		bad, err := verifier.Check(ctx, root)
		if err != nil {
			return err
		}
		if len(bad) == 0 && !verbose {
			continue
		}
		line := verifiedPin{Cid: encoder.Encode(root), Ok: len(bad) == 0}
		for _, b := range bad {
			if !quiet {
				line.BadNodes = append(line.BadNodes, badNode{encoder.Encode(b.CID), b.Err})
			}
		}
		if err := out.send(line); err != nil {
			return err
		}
	}
	return c.answer.whole()
}

// rootCost is about what a root takes that is kept while all pins of an account are read.
const rootCost = 160

// holdRoot reserves it.
func holdRoot(c *call) error { return holdAnswer(&c.hold, rootCost) }

// recursivePins are read whole, so that nothing of the store is held while blocks are read.
func recursivePins(ctx context.Context, c *call) (roots []cid.Cid, err error) {
	var bad error
	err = c.gateway.cfg.Engine.Pins(ctx, c.account(), func(p nodegate.Pin) bool {
		if !p.Recursive {
			return true
		}
		var id cid.Cid
		if bad = holdRoot(c); bad != nil {
			return false
		}
		if id, bad = cid.Decode(p.CID); bad == nil {
			roots = append(roots, id)
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	return roots, err
}
