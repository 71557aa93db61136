package unixfs

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"sync"
	"sync/atomic"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// Blocks is where content is.
type Blocks interface {
	// Get returns a block whose bytes were checked against the CID. The caller must
	// not change them. Returns NotFound when there is no such block.
	Get(ctx context.Context, c cid.Cid) ([]byte, error)
	// Has tells whether a block is there.
	Has(ctx context.Context, c cid.Cid) (bool, error)
	// Begin starts a batch of writes that count against an account's quota.
	Begin(accountID string, quota int64) Batch
}

// Batch is a set of writes: nobody else sees them before Commit, and then all or none.
type Batch interface {
	// Put adds a block. It does not keep data: the caller may use the memory again.
	Put(ctx context.Context, c cid.Cid, data []byte) error
	// Get reads a block of this batch or of the store. Returns NotFound.
	Get(ctx context.Context, c cid.Cid) ([]byte, error)
	// Small is Get for a block of at most so many bytes that is at hand. It is not ok for all
	// others, which Get reads.
	Small(ctx context.Context, c cid.Cid, most int) (data []byte, ok bool)
	// Pin keeps content for the batch's account. Without a name it keeps the one of
	// the pin that was there.
	Pin(p nodegate.Pin)
	// Loose says how many bytes of the blocks put no pin of the batch keeps. They count
	// against the quota until they are collected. Without a pin all of them do.
	Loose(bytes int64)
	// Unpin lets it go.
	Unpin(cid string)
	// Commit makes everything durable and visible.
	Commit(ctx context.Context) error
	// Abort drops everything. After Commit it does nothing.
	Abort()
}

// Engine is what the storage gateway runs on: blocks, and the pins that accounts
// keep them by.
type Engine interface {
	Blocks
	// PinOf finds an account's pin of a CID. Returns NotFound.
	PinOf(ctx context.Context, accountID, cid string) (nodegate.Pin, error)
	// Pins hands an account's pins to each, by CID, until it says no.
	Pins(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error
	// Stored is what the account pays for, in bytes.
	Stored(accountID string) int64
}

// Objects reads and writes files over blocks. It is safe for concurrent use.
type Objects struct {
	blocks  Blocks
	limits  ReadLimits
	buffers buffers
	bodies  sync.Pool    // *bufio.Reader of BodyBuffer
	ahead   atomic.Int64 // blocks that readers fetch ahead
}

// BodyBuffer is how much of a body is read at once: the multipart reader alone would
// ask the connection for 4 KiB at a time.
const BodyBuffer = 64 << 10

// parts returns the parts of a multipart body. The second result must be called
// when no more is read.
func (o *Objects) parts(ctx context.Context, body io.Reader, boundary string, limits Limits) (*listing, func()) {
	r, ok := o.bodies.Get().(*bufio.Reader)
	if !ok {
		r = bufio.NewReaderSize(nil, BodyBuffer)
	}
	r.Reset(&closedBody{r: body})
	w := &walker{reader: multipart.NewReader(r, boundary), limit: limits.parts(), turn: entryTurn(ctx)}
	return &listing{walker: w, path: "/"}, func() {
		r.Reset(nil)
		o.bodies.Put(r)
	}
}

// New returns the objects in some blocks, read within the default limits.
func New(blocks Blocks) *Objects { return NewLimited(blocks, ReadLimits{}) }

// NewLimited is New with limits of an operator.
func NewLimited(blocks Blocks, limits ReadLimits) *Objects {
	return &Objects{blocks: blocks, limits: limits}
}

// closedBody makes the end of a body an error, so that only the closing boundary ends
// an upload: the standard multipart reader takes a body that ends inside a part's
// header for a complete one. The line break is for a boundary without its own.
type closedBody struct {
	r     io.Reader
	ended bool
}

func (c *closedBody) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	switch {
	case err != io.EOF || n > 0:
		if err == io.EOF {
			err = nil
		}
		return n, err
	case !c.ended:
		c.ended = true
		return copy(b, "\r\n"), nil
	}
	return 0, io.ErrUnexpectedEOF
}

// getter reads one block: a store's or a batch's Get.
type getter func(ctx context.Context, c cid.Cid) ([]byte, error)

// get reads a block of the store.
func (o *Objects) get(ctx context.Context, c cid.Cid) ([]byte, error) {
	return inlineOr(o.blocks.Get)(ctx, c)
}

// listing returns a getter for one request that lists something. What is listed may
// have no end: blocks can be linked any number of times. Those that are read again
// count most. Each read waits for the request's turn: it is small, and there are many.
func (o *Objects) listing() getter {
	read, most := 0, o.limits.nodes()
	var lately recent
	get := remembering(getter(o.get).inTurn)
	return func(ctx context.Context, c cid.Cid) (data []byte, err error) {
		if read++; lately.again(c) {
			read += repeatCost
		}
		if read > most {
			return nil, errNodes(most)
		}
		return get(ctx, c)
	}
}

// inTurn reads a block when it is the request's turn.
func (g getter) inTurn(ctx context.Context, c cid.Cid) (data []byte, err error) {
	if turnErr := fairshare.Turn(ctx, func(ctx context.Context) { data, err = g(ctx, c) }); turnErr != nil {
		return nil, cancelled(turnErr)
	}
	return data, err
}

// bounded returns a getter for one walk of one goroutine, which reads as many bytes as a
// request may and no more.
func (o *Objects) bounded(get getter) getter {
	total := int64(0)
	return func(ctx context.Context, c cid.Cid) ([]byte, error) {
		data, err := get(ctx, c)
		if total += int64(len(data)); err == nil {
			err = o.limits.Check(total)
		}
		return data, err
	}
}

// repeatCost is what a block that is read again counts beside itself. A directory has
// few entries that are the same; one that stands for very much in a few blocks has
// almost only such.
const repeatCost = 15

// recent knows some of the blocks that were read last, in little memory.
type recent struct{ keys []blockKey }

const recentKeys = 1 << 12

// again notes a block and tells whether it was among the last.
func (r *recent) again(c cid.Cid) bool {
	if r.keys == nil {
		r.keys = make([]blockKey, recentKeys)
	}
	k := keyOf(c)
	slot := &r.keys[binary.LittleEndian.Uint16(k.digest[:])%recentKeys]
	if *slot == k {
		return true
	}
	*slot = k
	return false
}

// inlineOr answers CIDs that hold their content themselves, and asks get for others.
func inlineOr(get getter) getter {
	return func(ctx context.Context, c cid.Cid) ([]byte, error) {
		if data, ok := identity.Data(c); ok {
			return data, checkCID(c)
		}
		if err := ctx.Err(); err != nil {
			return nil, cancelled(err)
		}
		data, err := get(ctx, c)
		if err != nil && errors.Is(err, nodegate.NotFound) {
			return nil, notFound(c, err)
		}
		return data, err
	}
}

// failed is the error of a command that could not be done, in Kubo's words.
func failed(format string, args ...any) *nodegate.Error {
	return &nodegate.Error{Op: "unixfs", Code: nodegate.ExecutionFailed, Msg: fmt.Sprintf(format, args...)}
}

// failedBy is failed with somebody else's words, which are Kubo's too.
func failedBy(err error) error {
	var e *nodegate.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return cancelled(err)
	}
	return failed("%s", err.Error())
}

// usage is the error of an option or a body that can't be understood.
func usage(format string, args ...any) *nodegate.Error {
	return &nodegate.Error{Op: "unixfs", Code: nodegate.InvalidInput, Msg: fmt.Sprintf(format, args...)}
}

// tooLarge is the error of input beyond a limit.
func tooLarge(format string, args ...any) *nodegate.Error {
	return &nodegate.Error{Op: "unixfs", Code: nodegate.TooLarge, Msg: fmt.Sprintf(format, args...)}
}

func notFound(c cid.Cid, cause error) *nodegate.Error {
	return &nodegate.Error{
		Op: "unixfs.get", Code: nodegate.NotFound, Err: cause,
		Msg: "block was not found locally (offline): ipld: could not find " + c.String(),
	}
}

// cancelled is the error of a caller that went away or ran out of time.
func cancelled(err error) *nodegate.Error {
	return &nodegate.Error{Op: "unixfs", Code: nodegate.Timeout, Msg: err.Error(), Err: err}
}
