package unixfs

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// Put is a block that was put.
type Put struct {
	CID  cid.Cid
	Size int
}

// PutOptions are what a client of block/put or dag/put can ask for. ParseBlockPut
// and ParseDagPut make them.
type PutOptions struct {
	Pin    bool
	Limits Limits

	prefix cid.Prefix
	input  valueCodec // of dag/put
	store  valueCodec
}

// ParseBlockPut reads the options of block/put.
func ParseBlockPut(q *Query, limits Limits) (*PutOptions, error) {
	codec, _ := q.String("raw", "cid-codec")
	hash, _ := q.String("", "mhtype")
	length, _ := q.Int(-1, "mhlen")
	format, _ := q.String("", "format", "f")
	o := &PutOptions{Limits: limits, Pin: q.Flag("pin")}
	q.Flag("allow-big-block") // larger blocks than 2 MiB can't be stored
	if q.Err() != nil {
		return nil, q.Err()
	}
	if hash == "" {
		hash = "sha2-256"
	}
	code, ok := multihash.Names[hash]
	if !ok {
		return nil, failed("unrecognized multihash function: %s", hash)
	}
	if format != "" && codec != "" && codec != "raw" {
		return nil, failed("unable to use %q (deprecated) and a custom %q at the same time", "format", "cid-codec")
	}
	o.prefix = cid.Prefix{Version: 1, Codec: cid.Raw, MhType: code, MhLength: length}
	if format != "" {
		return o, o.setFormat(format)
	}
	if codec == "" {
		return o, nil
	}
	c, err := codecNamed(codec)
	o.prefix.Codec = uint64(c)
	return o, err
}

// setFormat takes the old names of codecs; v0 is the only way to a CIDv0.
func (o *PutOptions) setFormat(format string) error {
	switch format {
	case "v0":
		o.prefix.Version, format = 0, "dag-pb"
	case "protobuf":
		format = "dag-pb"
	case "cbor":
		format = "dag-cbor"
	}
	c, err := codecNamed(format)
	o.prefix.Codec = uint64(c)
	if err == nil && o.prefix.Version == 0 && (o.prefix.MhType != multihash.SHA2_256 || o.prefix.MhLength != -1 && o.prefix.MhLength != 32) {
		return failed("only sha2-255-32 is allowed with CIDv0")
	}
	return err
}

// BlockPut puts each file of a multipart body as one block.
func (o *Objects) BlockPut(ctx context.Context, batch Batch, body io.Reader, boundary string, opts *PutOptions) ([]Put, error) {
	return putEach(ctx, o, body, boundary, opts, "expected a file", func(data []byte) (Put, error) {
		return o.putBlock(ctx, batch, data, opts)
	})
}

// putEach reads each file of a multipart body and puts it. The memory of one is given back
// before the next is read, but for what the answer says about it.
func putEach(ctx context.Context, o *Objects, body io.Reader, boundary string, opts *PutOptions, noFolder string, put func([]byte) (Put, error)) ([]Put, error) {
	var list []Put
	hold := budget.From(ctx)
	err := o.eachFile(ctx, body, boundary, opts.Limits, noFolder, func(r io.Reader) error {
		before := hold.Held()
		data, err := readBlock(ctx, r)
		if err != nil {
			return err
		}
		p, err := put(data)
		list = append(list, p)
		hold.Shrink(hold.Held() - before - putSize)
		return err
	})
	return list, failedBy(err)
}

// putSize is at least what a Put holds: its CID and its place in the list.
const putSize = 256

// errBigBlock is the refusal of a block that nobody could fetch.
func errBigBlock() error {
	return failed("produced block is over 2MiB: big blocks can't be exchanged with other peers. consider using UnixFS for automatic chunking of bigger files")
}

func readBlock(ctx context.Context, r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	held := &heldReader{Reader: io.LimitReader(r, MaxBlock+1), hold: budget.From(ctx)}
	if _, err := b.ReadFrom(held); err != nil {
		return nil, badBody(err)
	}
	if b.Len() > MaxBlock {
		return nil, errBigBlock()
	}
	return b.Bytes(), nil
}

// putBlock names and stores a block, and pins it with all below it.
func (o *Objects) putBlock(ctx context.Context, batch Batch, data []byte, opts *PutOptions) (Put, error) {
	if len(data) > MaxBlock {
		return Put{}, errBigBlock()
	}
	var c cid.Cid
	var err error
	if turnErr := fairshare.Do(ctx, func() { c, err = opts.prefix.Sum(data) }); turnErr != nil {
		return Put{}, cancelled(turnErr)
	}
	if err != nil {
		return Put{}, failedBy(err)
	}
	if err := checkCID(c); err != nil {
		return Put{}, err
	}
	p := Put{CID: c, Size: len(data)}
	if _, ok := identity.Data(c); !ok {
		if err := batch.Put(ctx, c, data); err != nil {
			return p, err
		}
	}
	if !opts.Pin {
		return p, nil
	}
	w, err := o.Walk(ctx, batch, c, opts.Limits, func(Walked) {})
	if err != nil {
		return p, err
	}
	batch.Pin(nodegate.Pin{CID: c.String(), Recursive: true, Size: w.Charge, Created: time.Now().UTC()})
	return p, nil
}

// eachFile calls do with each file of a multipart body, to its closing boundary. A
// directory is refused with Kubo's words for the command.
func (o *Objects) eachFile(ctx context.Context, body io.Reader, boundary string, limits Limits, noFolder string, do func(io.Reader) error) error {
	l, done := o.parts(ctx, body, boundary, limits)
	defer done()
	for l.next() {
		if l.isDir() {
			return failed("%s", noFolder)
		}
		if err := do(l.part.body); err != nil {
			return err
		}
	}
	return l.err
}
