package ws

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Status is why a socket was closed (RFC 6455, section 7.4.1).
type Status uint16

// The statuses that this side sends.
const (
	normal          Status = 1000
	protocolError   Status = 1002
	PolicyViolation Status = 1008
	tooBig          Status = 1009
	// ServiceRestart has clients connect again. web3.js takes 1000 and 1001 for the end.
	ServiceRestart Status = 1012
)

// Bounds of a socket.
const (
	inSize     = 512 // most calls are smaller, and come with one read then
	closeTime  = 5 * time.Second
	maxControl = 125
	restBytes  = 64 << 10 // of a frame that was broken off, to be sent before the goodbye

	// unsentBytes is what the system takes of us while the peer doesn't read. Its
	// buffer has more room: that is for the goodbye.
	unsentBytes = 32 << 10
)

// HeadRoom is what the caller leaves free before a message.
const HeadRoom = 10

var (
	// ErrSlow means that the peer doesn't read. The socket can only be closed then.
	ErrSlow = errors.New("ws: the peer does not read")

	// ErrClosed means that there is nothing to add to what was sent.
	ErrClosed = errors.New("ws: closed")

	errPeerLeft = errors.New("ws: the peer has closed the socket")
	errProtocol = errors.New("ws: the peer broke the protocol")
	errTooBig   = errors.New("ws: the message is too large")
	errStalled  = errors.New("ws: the peer does not finish its message")

	errFragments = errors.New("ws: the message has too many fragments")
)

// Conn is one WebSocket.
type Conn struct {
	// Grow is asked with the size of a message's buffer before it is used or grows; an
	// error refuses the message. nil lets it grow to the limit.
	Grow func(size int) error
	// Skipped is called with how many bytes of a refused message came, by who reads. It says
	// whether it waited. nil is allowed.
	Skipped func(n int) (waited bool)
	// Controlled is called for each ping or pong that has come, and for every tinyPerControl
	// tiny fragments, by who reads. nil is allowed.
	Controlled func()

	raw   net.Conn
	limit int64
	heard atomic.Bool // something came since the last Ping

	// Of the one goroutine that reads.
	early      []byte // what net/http read too far
	in         [inSize]byte
	start, end int // what of it is not used yet
	frame      frame
	began      int64 // when the present paceTime of a message that is waited for began, in Unix nanoseconds
	paced      int   // bytes of the message at that time
	refused    error // what Grow said of the message
	fragments  int   // of the message, behind its first frame
	tiny       int   // fragments that were tiny, of all messages

	mu      sync.Mutex // of those who write
	rest    []byte     // of a frame that was broken off
	broken  bool       // the rest is too long to be kept
	control [2 + maxControl]byte

	leaving atomic.Bool // Close has set the time to read
	closing atomic.Bool // no more frames
}

func newConn(raw net.Conn, limit int64) *Conn {
	c := &Conn{raw: raw, limit: limit}
	if tcp := innermost(raw); tcp != nil {
		limitUnsent(tcp, unsentBytes)
	}
	return c
}

// putHead writes the head of a text message of n bytes so that it ends where b does,
// and returns where it begins. b is HeadRoom long.
func putHead(b []byte, n int) int {
	switch {
	case n < 126:
		b[HeadRoom-2], b[HeadRoom-1] = finBit|opText, byte(n)
		return HeadRoom - 2
	case n <= 0xffff:
		b[HeadRoom-4], b[HeadRoom-3] = finBit|opText, 126
		binary.BigEndian.PutUint16(b[HeadRoom-2:], uint16(n))
		return HeadRoom - 4
	default:
		b[0], b[1] = finBit|opText, 127
		binary.BigEndian.PutUint64(b[2:], uint64(n))
		return 0
	}
}

// Seal makes a frame of the end of b: a text message with HeadRoom bytes free before
// it, which begin at from. So several messages can leave with one Write.
func Seal(b []byte, from int) []byte {
	gap := putHead(b[from:from+HeadRoom], len(b)-from-HeadRoom)
	copy(b[from:], b[from+gap:])
	return b[:len(b)-gap]
}

// WriteMessage sends a text message that has HeadRoom bytes free before it.
//
// Returns an error as Write does.
func (c *Conn) WriteMessage(b []byte) error {
	return c.Write(b[putHead(b[:HeadRoom], len(b)-HeadRoom):])
}

// Write sends whole frames.
//
// Returns ErrSlow when the peer doesn't read, ErrClosed when Close or an ErrSlow came
// first, and what the connection says otherwise: it has ended.
func (c *Conn) Write(frames []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.send(frames)
}

// send writes to the connection. The writers are locked out.
func (c *Conn) send(b []byte) error {
	if c.closing.Load() || c.broken || c.rest != nil {
		return ErrClosed
	}
	n, err := c.raw.Write(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if c.broken = len(b)-n > restBytes; !c.broken {
		c.rest = slices.Clone(b[n:])
	}
	return ErrSlow
}

// sendControl sends a control frame.
func (c *Conn) sendControl(op byte, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.send(c.controlFrame(op, payload))
}

// controlFrame is made in a place of its own, so that a ping makes no garbage.
func (c *Conn) controlFrame(op byte, payload []byte) []byte {
	n := copy(c.control[2:], payload)
	c.control[0], c.control[1] = finBit|op, byte(n)
	return c.control[:2+n]
}

// Ping asks the peer for a sign of life; Heard tells whether one came. It is not sent
// while something else is being written.
//
// Returns an error as Write does.
func (c *Conn) Ping() (sent bool, err error) {
	if !c.mu.TryLock() {
		return false, nil
	}
	defer c.mu.Unlock()
	err = c.send(c.controlFrame(opPing, nil))
	return err == nil, err
}

// Heard tells whether anything came from the peer since it was last asked.
func (c *Conn) Heard() bool { return c.heard.Swap(false) }

// Close sends a close frame, and leaves the peer a moment to answer it; whoever reads
// sees the end then. To a peer that doesn't read, the frame is sent as far as the
// system has room for it. Only the first status counts.
//
// Returns an error when the frame could not be sent.
func (c *Conn) Close(status Status, reason string) error {
	c.leaving.Store(true)
	_ = c.raw.SetReadDeadline(time.Now().Add(closeTime))
	force := time.AfterFunc(closeTime, func() { _ = c.raw.Close() }) // ends a write that is stuck, too
	defer force.Stop()
	if tcp := innermost(c.raw); tcp != nil {
		limitUnsent(tcp, -1) // a write that is stuck goes on, and there is room behind it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Load() {
		return nil
	}
	rest := c.rest
	c.rest = nil
	err := c.send(append(rest, c.controlFrame(opClose, closePayload(status, reason))...))
	c.closing.Store(true)
	if half, ok := outermostHalf(c.raw); ok && err == nil {
		_ = half.CloseWrite()
	}
	return err
}

// closePayload cuts a reason that is too long for a control frame.
func closePayload(status Status, reason string) []byte {
	p := binary.BigEndian.AppendUint16(nil, uint16(status))
	return append(p, reason[:min(len(reason), maxControl-2)]...)
}

// halfCloser can end what we send and still read.
type halfCloser interface{ CloseWrite() error }

// outermostHalf finds the outermost layer that can be closed by half: TLS says goodbye
// in its own way.
func outermostHalf(c net.Conn) (halfCloser, bool) {
	for {
		if half, ok := c.(halfCloser); ok {
			return half, true
		}
		inner, ok := c.(netConner)
		if !ok {
			return nil, false
		}
		c = inner.NetConn()
	}
}

// Cut ends the connection at once.
func (c *Conn) Cut() { _ = c.raw.Close() }
