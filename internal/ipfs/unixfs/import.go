package unixfs

import (
	"context"
	"io"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// ImportOptions are what a client of dag/import can ask for.
type ImportOptions struct {
	PinRoots bool
	Stats    bool // the answer shows the figures
	Limits   Limits
}

// ParseImport reads the options of dag/import.
func ParseImport(q *Query, limits Limits) (*ImportOptions, error) {
	o := &ImportOptions{Limits: limits, Stats: q.Flag("stats")}
	pin, given := q.Bool(true, "pin-roots")
	local := q.Flag("local-only")
	q.Flag("allow-big-block") // larger blocks than 2 MiB can't be stored
	if q.Err() != nil {
		return nil, q.Err()
	}
	if local && given && pin {
		return nil, failed("--local-only implies --pin-roots=false and cannot be combined with --pin-roots=true; please drop one of them")
	}
	o.PinRoots = pin && !local
	return o, nil
}

// Imported is what CARs brought.
type Imported struct {
	Roots  []ImportedRoot
	Blocks int64
	Bytes  int64
}

// ImportedRoot is a root that a CAR named. When not all below it is there, it can't
// be pinned, and PinError says why; the blocks are kept without a pin.
type ImportedRoot struct {
	CID      cid.Cid
	PinError string
}

// Import puts the blocks of all CARs in a multipart body into a batch. Each block is
// checked against its CID, and one that is wrong fails the whole import.
func (o *Objects) Import(ctx context.Context, batch Batch, body io.Reader, boundary string, opts *ImportOptions) (*Imported, error) {
	in := &importer{batch: batch, limits: opts.Limits, named: map[cid.Cid]bool{}, hold: budget.From(ctx)}
	if opts.PinRoots {
		in.loose = map[blockKey]int32{}
	}
	if err := o.eachFile(ctx, body, boundary, opts.Limits, "expected a file handle", func(r io.Reader) error { return in.read(ctx, r) }); err != nil {
		return nil, failedBy(err)
	}
	if !opts.PinRoots {
		return &in.out, nil
	}
	if err := in.pinRoots(ctx); err != nil {
		return nil, err
	}
	return &in.out, nil
}

// importer is one import.
type importer struct {
	batch  Batch
	limits Limits
	out    Imported
	named  map[cid.Cid]bool
	last   cid.Cid
	hold   *budget.Hold // memory of the request

	// loose are what the blocks count that no pinned root reaches so far, under the
	// codec raw; nil where nothing is pinned. The roots are the client's choice and need
	// not reach the other blocks.
	loose map[blockKey]int32
}

func (in *importer) read(ctx context.Context, r io.Reader) error {
	in.last = cid.Undef
	car, err := newCARReader(r, in.hold)
	if err != nil {
		return err
	}
	for _, c := range car.roots {
		if !in.named[c] && len(in.named) < maxRoots {
			in.named[c] = true
			in.out.Roots = append(in.out.Roots, ImportedRoot{CID: c})
		}
	}
	for {
		c, data, err := car.next()
		if err == io.EOF {
			return nil
		}
		if e := nodegate.AsError(err); err != nil && (e.Code == nodegate.AccountBusy || e.Code == nodegate.Busy) {
			return err
		}
		if err != nil && in.last.Defined() {
			return failed("import failed after block %q: %s", in.last, nodegate.AsError(err).Msg)
		}
		if err != nil {
			return failed("import failed: %s", nodegate.AsError(err).Msg)
		}
		if err := in.put(ctx, c, data); err != nil {
			return err
		}
		in.last = c
	}
}

// put checks a block and stores it.
func (in *importer) put(ctx context.Context, c cid.Cid, data []byte) error {
	if in.out.Blocks >= int64(in.limits.blocks()) {
		return tooLarge("too many blocks in one request: at most %d", in.limits.blocks())
	}
	var err error
	if turnErr := fairshare.Do(ctx, func() { err = checkBlock(c, data) }); turnErr != nil {
		return cancelled(turnErr)
	}
	if err != nil {
		return failed("import failed at block %q: %s", c, nodegate.AsError(err).Msg)
	}
	in.out.Blocks++
	in.out.Bytes += int64(len(data))
	if _, ok := identity.Data(c); ok {
		return nil
	}
	if err := in.note(c, len(data)); err != nil {
		return err
	}
	return in.batch.Put(ctx, c, data)
}

// checkBlock tells whether a block is what its name says, and can be read.
func checkBlock(c cid.Cid, data []byte) error {
	if err := verify(c, data); err != nil {
		return err
	}
	if len(data) > MaxBlock {
		return errBigBlock()
	}
	_, err := Links(c, data)
	return err
}

// note counts a block as loose until a root that reaches it is pinned.
func (in *importer) note(c cid.Cid, size int) error {
	if in.loose == nil {
		return nil
	}
	k := keyOf(c).stored()
	if _, again := in.loose[k]; again {
		return nil
	}
	in.loose[k] = int32(nodegate.BlockCharge(size))
	return holdBlocks(in.hold, len(in.loose))
}

// pinRoots pins the roots that are whole, and counts what they leave.
func (in *importer) pinRoots(ctx context.Context) error {
	for i := range in.out.Roots {
		if err := in.pinRoot(ctx, &in.out.Roots[i]); err != nil {
			return err
		}
	}
	var left int64
	for _, size := range in.loose {
		left += int64(size)
	}
	in.batch.Loose(left)
	return nil
}

// pinRoot pins a root if all below it is there. Only a caller that went away, or a
// limit, ends the import.
func (in *importer) pinRoot(ctx context.Context, r *ImportedRoot) error {
	w := newWalk(ctx, inlineOr(in.batch.Get), in.limits, func(Walked) {})
	defer w.notes.release()
	err := w.run(ctx, r.CID)
	if err == nil {
		in.batch.Pin(nodegate.Pin{CID: r.CID.String(), Recursive: true, Size: w.done.Charge, Created: time.Now().UTC()})
		for k := range w.seen {
			delete(in.loose, k.stored())
		}
		return nil
	}
	e := nodegate.AsError(err)
	if e.Code != nodegate.NotFound && e.Code != nodegate.ExecutionFailed {
		return err
	}
	r.PinError = e.Msg
	return nil
}
