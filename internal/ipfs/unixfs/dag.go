package unixfs

import (
	"context"
	"io"

	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ipld/go-ipld-prime/node/basicnode"
)

// ParseDagPut reads the options of dag/put.
func ParseDagPut(q *Query, limits Limits) (*PutOptions, error) {
	store, _ := q.String("dag-cbor", "store-codec")
	input, _ := q.String("dag-json", "input-codec")
	hash, _ := q.String("sha2-256", "hash")
	o := &PutOptions{Limits: limits, Pin: q.Flag("pin")}
	q.Flag("allow-big-block") // larger blocks than 2 MiB can't be stored
	if q.Err() != nil {
		return nil, q.Err()
	}
	from, err := codecNamed(input)
	if err != nil {
		return nil, err
	}
	to, err := codecNamed(store)
	if err != nil {
		return nil, err
	}
	function, err := codecNamed(hash)
	if err != nil {
		return nil, err
	}
	var ok bool
	if o.input, ok = codecs(uint64(from)); !ok {
		return nil, failed("no decoder registered for multicodec code %d (%#x)", uint64(from), uint64(from))
	}
	if o.store, ok = codecs(uint64(to)); !ok {
		return nil, failed("no encoder registered for multicodec code %d (%#x)", uint64(to), uint64(to))
	}
	o.prefix = cid.Prefix{Version: 1, Codec: uint64(to), MhType: uint64(function), MhLength: -1}
	return o, nil
}

// DagPut reads each file of a multipart body as a value in one codec and puts it as
// a block in another.
func (o *Objects) DagPut(ctx context.Context, batch Batch, body io.Reader, boundary string, opts *PutOptions) ([]Put, error) {
	return putEach(ctx, o, body, boundary, opts, "expected a regular file", func(data []byte) (Put, error) {
		data, err := opts.convert(ctx, data)
		if err != nil {
			return Put{}, err
		}
		return o.putBlock(ctx, batch, data, opts)
	})
}

// convert writes a value in the codec that it is stored in.
func (o *PutOptions) convert(ctx context.Context, data []byte) (out []byte, err error) {
	err = o.input.withValue(ctx, basicnode.Prototype.Any.NewBuilder(), data, func(v datamodel.Node) error {
		out, err = o.store.encodeHeld(ctx, v)
		return err
	})
	return out, err
}

// DagGet returns the value at a path, inside a block too, in a codec given by name.
func (o *Objects) DagGet(ctx context.Context, text, codec string) (out []byte, err error) {
	code, err := codecNamed(codec)
	if err != nil {
		return nil, err
	}
	err = o.value(ctx, text, func(v datamodel.Node) error {
		to, ok := codecs(uint64(code))
		if !ok {
			return failed("invalid encoding: %s - no encoder registered for multicodec code %d (%#x)", code, uint64(code), uint64(code))
		}
		out, err = to.encodeHeld(ctx, v)
		return err
	})
	return out, err
}

// BlockGet returns the block that a path leads to.
func (o *Objects) BlockGet(ctx context.Context, text string) (cid.Cid, []byte, error) {
	r, err := o.Resolve(ctx, text)
	if err != nil {
		return cid.Undef, nil, err
	}
	data, err := o.get(ctx, r.CID)
	return r.CID, data, err
}
