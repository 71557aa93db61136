package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// refLine is a line of the answer of refs.
type refLine struct{ Ref, Err string }

// refs lists the links below roots. A block that is missing is told in a line, as Kubo
// does.
func refs(ctx context.Context, c *call) error {
	options, form, err := refOptions(c)
	if err != nil {
		return err
	}
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	roots, err := resolveAll(ctx, c)
	if err != nil {
		return err
	}
	out := c.answer.stream()
	walk := unixfs.NewRefs(c.gateway.objects, options, func(r unixfs.Ref) error {
		return sendRef(c, out, form, encoder, r)
	})
	for _, root := range roots {
		err := walk.Root(ctx, root)
		if errors.Is(err, nodegate.NotFound) {
			err = out.send(refLine{Err: nodegate.AsError(err).Msg})
		}
		if err != nil {
			return err
		}
	}
	return c.answer.whole()
}

// sendRef sends a line. A client chooses how often a name is in it, and the name may be long.
func sendRef(c *call, out *lines, form string, encoder unixfs.Encoder, r unixfs.Ref) error {
	const placed = "<linkname>"
	size := 3 * int64(len(form)+strings.Count(form, placed)*len(r.Name)) // the text and its JSON
	if size > tarBuffer {
		if err := holdAnswer(&c.hold, size); err != nil {
			return err
		}
		defer c.hold.Shrink(size)
	}
	text := strings.NewReplacer("<src>", encoder.Encode(r.From), "<dst>", encoder.Encode(r.To), placed, r.Name)
	return out.send(refLine{Ref: text.Replace(form)})
}

// refOptions reads the options of refs.
func refOptions(c *call) (o unixfs.RefOptions, form string, err error) {
	form, _ = c.query.String("<dst>", "format")
	o.MaxDepth, _ = c.query.Int(-1, "max-depth")
	o.Unique = c.query.Flag("unique", "u")
	if !c.query.Flag("recursive", "r") {
		o.MaxDepth = 1
	}
	if c.query.Flag("edges", "e") {
		if form != "<dst>" {
			return o, "", failed("using format argument with edges is not allowed")
		}
		form = "<src> -> <dst>"
	}
	if form == "" {
		form = "<dst>"
	}
	return o, form, nil
}

// resolveAll follows all arguments before anything is answered.
func resolveAll(ctx context.Context, c *call) ([]cid.Cid, error) {
	roots := make([]cid.Cid, 0, len(c.args))
	for _, arg := range c.args {
		if err := argTurn(ctx); err != nil {
			return nil, err
		}
		r, err := c.gateway.objects.Resolve(ctx, arg)
		if err != nil {
			return nil, err
		}
		roots = append(roots, r.CID)
	}
	return roots, nil
}

// resolveRoots is resolveAll for what has to be a block.
func resolveRoots(ctx context.Context, c *call) ([]cid.Cid, error) {
	roots := make([]cid.Cid, 0, len(c.args))
	for _, arg := range c.args {
		if err := argTurn(ctx); err != nil {
			return nil, err
		}
		r, err := c.gateway.objects.Resolve(ctx, arg)
		if err == nil && len(r.Rest) > 0 {
			err = failed("cannot return size for anything other than a DAG with a root CID")
		}
		if err != nil {
			return nil, err
		}
		roots = append(roots, r.CID)
	}
	return roots, nil
}

// whole ends a stream, which may have no line.
func (a *answer) whole() error {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	return nil
}

// resolvePath follows a path to the block it leads to, written as the path writes its CID.
func resolvePath(ctx context.Context, c *call) error {
	given, _ := c.query.String("", "cid-base")
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	if isName(c.args[0]) {
		return failed(noNames)
	}
	if given == "" {
		encoder = encoder.Like(c.args[0])
	}
	r, err := c.gateway.objects.Resolve(ctx, c.args[0])
	if err != nil {
		return err
	}
	space := "/ipfs/"
	if strings.HasPrefix(c.args[0], "/ipld/") {
		space = "/ipld/"
	}
	return c.answer.object(struct{ Path string }{space + encoder.Encode(r.CID) + r.RestPath()})
}

// isName tells a name that changes from a path of content.
func isName(text string) bool {
	return strings.HasPrefix(text, "/ipns/") || strings.HasPrefix(strings.ToLower(text), "ipns:")
}
