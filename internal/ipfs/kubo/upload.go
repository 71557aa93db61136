package kubo

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ipfs/go-cid"
)

// The body of a dag/import: a multipart of one part, and in it a CAR of version 1
// without roots. The boundary can't occur in it by accident.
const (
	boundary = "nodegate-6f1c0d5be2a94f7c8b3e"
	partHead = "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"blocks.car\"\r\nContent-Type: application/octet-stream\r\n\r\n"
	partTail = "\r\n--" + boundary + "--\r\n"
	carHead  = "\x11\xa2\x65roots\x80\x67version\x01" // its length, then {"roots": [], "version": 1}
)

// frame is a block as it stands in a CAR, under a CID of the codec raw.
func frame(c cid.Cid, data []byte) (whole, body []byte) {
	id := cid.NewCidV1(cid.Raw, c.Hash())
	whole = make([]byte, 0, binary.MaxVarintLen32+id.ByteLen()+len(data))
	whole = binary.AppendUvarint(whole, uint64(id.ByteLen()+len(data)))
	whole = append(whole, id.KeyString()...)
	whole = append(whole, data...)
	return whole, whole[len(whole)-len(data):]
}

// upload is a stream of blocks into one node.
type upload struct {
	node   *node
	frames chan []byte
	rest   []byte       // of the frame that is being read
	ended  bool         // the tail was handed out
	sent   int64        // blocks
	moved  atomic.Int64 // when the node last took something, in Unix nanoseconds

	life   context.Context
	cancel context.CancelFunc
	done   chan struct{}
	stored int64 // blocks, by the node's answer; once done
	err    error // once done
}

// beginUpload opens a stream. It lives until finish or abort: the contexts of single
// blocks come and go.
func (e *Engine) beginUpload(ctx context.Context, n *node) (*upload, error) {
	limit := time.NewTimer(n.limits.stall)
	defer limit.Stop()
	select {
	case n.uploads <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-limit.C:
		return nil, &fault{node: n.number, msg: "has too many uploads at once"}
	}
	u := &upload{node: n, frames: make(chan []byte, 2), rest: []byte(partHead + carHead), done: make(chan struct{})}
	u.moved.Store(time.Now().UnixNano())
	u.life, u.cancel = context.WithCancel(e.life)
	go func() {
		defer func() { <-n.uploads }()
		defer close(u.done)
		defer u.cancel()
		u.stored, u.err = u.run()
	}()
	return u, nil
}

// run sends the request and reads the answer.
func (u *upload) run() (stored int64, err error) {
	const forever = 365 * 24 * time.Hour // send and finish know when it stalls
	a, err := u.node.do(u.life, &request{
		command: "dag/import", query: url.Values{"pin-roots": {"false"}, "stats": {"true"}, "allow-big-block": {"true"}},
		body: u, kind: "multipart/form-data; boundary=" + boundary, wait: forever, unlimited: true,
	})
	if err != nil {
		return 0, err
	}
	defer a.close()
	lines := json.NewDecoder(io.LimitReader(a, maxAnswer))
	stored = -1
	for {
		var line struct {
			Stats   *struct{ BlockCount int64 }
			Message string
		}
		err := lines.Decode(&line)
		switch {
		case err == io.EOF && stored >= 0:
			u.node.health.ok()
			return stored, nil
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
		}
		var f *fault
		if errors.As(err, &f) {
			return 0, f
		}
		if err != nil || line.Message != "" {
			return 0, u.node.failure(&fault{node: u.node.number, msg: "does not say what it stored " + line.Message, err: err})
		}
		if line.Stats != nil {
			stored = line.Stats.BlockCount
		}
	}
}

// Read is the body of the request.
func (u *upload) Read(b []byte) (int, error) {
	for len(u.rest) == 0 {
		if u.ended {
			return 0, io.EOF
		}
		select {
		case next, ok := <-u.frames:
			if u.rest = next; !ok {
				u.rest, u.ended = []byte(partTail), true
			}
		case <-u.life.Done(): // whoever reads must not wait for ever
			return 0, u.life.Err()
		}
	}
	n := copy(b, u.rest)
	u.rest = u.rest[n:]
	u.moved.Store(time.Now().UnixNano())
	return n, nil
}

// send adds a frame. It fails when the node does, or takes nothing for too long.
func (u *upload) send(ctx context.Context, frame []byte) error {
	select { // mostly there is room
	case u.frames <- frame:
		u.sent++
		return nil
	default:
	}
	began, tick := time.Now(), time.NewTicker(u.node.limits.probe/2)
	defer tick.Stop()
	for {
		select {
		case u.frames <- frame:
			u.sent++
			return nil
		case <-u.done:
			return u.early()
		case <-tick.C:
			if u.stuck(began, u.node.limits.stall) {
				return u.node.failure(&fault{node: u.node.number, msg: "takes no more of an upload", err: errStalled})
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stuck tells whether the node has taken nothing for too long since a moment. It is too
// long much sooner for a node that its probes have found to be away: a slow one answers them.
func (u *upload) stuck(since time.Time, limit time.Duration) bool {
	if moved := time.Unix(0, u.moved.Load()); moved.After(since) {
		since = moved
	}
	still := time.Since(since)
	return still > limit || still > u.node.limits.probe && !u.node.health.usable(u.node.now())
}

// early is why a node answered before it had all.
func (u *upload) early() error {
	if u.err != nil {
		return u.err
	}
	return u.node.failure(&fault{node: u.node.number, msg: "answers before the upload ends"})
}

// finish ends the stream and returns when the node has stored all of it.
func (u *upload) finish(ctx context.Context) error {
	close(u.frames)
	defer u.cancel()
	if err := u.await(ctx); err != nil {
		return err
	}
	if u.err == nil && u.stored != u.sent {
		return u.node.failure(&fault{node: u.node.number, msg: "stored another number of blocks than it was sent"})
	}
	return u.err
}

// await waits for the end of a stream to which nothing is added.
func (u *upload) await(ctx context.Context) error {
	began, tick := time.Now(), time.NewTicker(u.node.limits.probe/2)
	defer tick.Stop()
	for {
		select {
		case <-u.done:
			return nil
		case <-tick.C:
			if u.stuck(began, u.node.limits.finish) {
				return u.node.failure(&fault{node: u.node.number, msg: "does not end an upload", err: errStalled})
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// abort breaks the connection off, so that the node takes nothing for whole.
func (u *upload) abort() {
	u.cancel()
	<-u.done
}
