package ws

import (
	"encoding/binary"
	"io"
	"slices"
)

// The bits of a frame's head.
const (
	finBit, rsvBits, opBits = 0x80, 0x70, 0x0f
	maskBit, sizeBits       = 0x80, 0x7f

	opContinue, opText, opBinary, opClose, opPing, opPong = 0, 1, 2, 8, 9, 10
)

// readStep is how far a buffer grows before the bytes are there: a peer that promises
// much and sends nothing takes no memory.
const readStep = 4 << 10

// frame is the head of a frame.
type frame struct {
	op   byte
	fin  bool
	left int64 // of its payload
	mask [4]byte
}

// Wait returns when a message begins. Pings, pongs and the peer's goodbye are seen to.
//
// Returns an error when the socket has ended; the peer was told why, where there is
// something to tell.
func (c *Conn) Wait() error {
	for {
		if err := c.nextData(); err != nil {
			return c.ended(err)
		}
		if !c.closing.Load() {
			break
		}
		if err := c.skip(); err != nil { // sent before the peer knew
			return c.ended(err)
		}
	}
	if c.frame.op == opContinue {
		return c.ended(errProtocol)
	}
	return nil
}

// skip reads over a payload.
func (c *Conn) skip() error {
	for c.frame.left > 0 {
		var room [inSize]byte
		n, err := c.read(room[:min(c.frame.left, inSize)])
		c.frame.left -= int64(n)
		if n == 0 && err != nil {
			return err
		}
	}
	return nil
}

// Read appends the message that Wait has announced to buf.
//
// Returns an error as Wait does, and what Grow returns: the message is then read over,
// and the socket goes on.
func (c *Conn) Read(buf []byte) ([]byte, error) {
	start := len(buf)
	c.fragments = 0
	defer c.unhurry()
	if c.mayGrow(cap(buf)) != nil {
		return buf, c.discard(0)
	}
	for {
		if c.frame.left > c.limit-int64(len(buf)-start) { // a sum could overflow
			return buf, c.ended(errTooBig)
		}
		if c.frame.left > int64(c.end-c.start) || !c.frame.fin {
			c.hurry(len(buf) - start)
		}
		var err error
		if buf, err = c.payload(buf); c.refused != nil {
			return buf, c.discard(len(buf) - start)
		}
		if err != nil {
			return buf, c.ended(stalled(err))
		}
		if c.frame.fin {
			return buf, nil
		}
		if err := c.nextFragment(len(buf) - start); err != nil {
			return buf, c.ended(stalled(err))
		}
	}
}

// payload appends the frame's payload to buf.
func (c *Conn) payload(buf []byte) ([]byte, error) {
	begin := len(buf)
	for c.frame.left > 0 {
		if len(buf) == cap(buf) {
			more := int(min(c.frame.left, int64(max(readStep, len(buf)))))
			if c.mayGrow(len(buf)+more) != nil {
				return buf, c.refused
			}
			buf = slices.Grow(buf, more)
		}
		n, err := c.read(buf[len(buf) : len(buf)+int(min(int64(cap(buf)-len(buf)), c.frame.left))])
		buf = buf[:len(buf)+n]
		c.frame.left -= int64(n)
		if c.began != 0 {
			c.hurry(len(buf))
		}
		if n == 0 && err != nil {
			return buf, err
		}
	}
	unmask(buf[begin:], c.frame.mask)
	return buf, nil
}

// mayGrow asks whether there is memory for a message that has become this large.
func (c *Conn) mayGrow(size int) error {
	if c.Grow != nil {
		c.refused = c.Grow(size)
	}
	return c.refused
}

// discard reads over the rest of a message that there is no memory for. It is held to
// the same pace. The error is why, or that of the socket's end.
func (c *Conn) discard(got int) error {
	refused := c.refused
	c.refused = nil
	for {
		if c.frame.left > c.limit-int64(got) {
			return c.ended(errTooBig)
		}
		for c.frame.left > 0 {
			var room [readStep]byte
			n, err := c.read(room[:min(c.frame.left, readStep)])
			c.frame.left -= int64(n)
			got += n
			if c.Skipped != nil && c.Skipped(n) {
				c.began = 0 // that was not the peer's time
			}
			c.hurry(got)
			if n == 0 && err != nil {
				return c.ended(stalled(err))
			}
		}
		if c.frame.fin {
			return refused
		}
		if err := c.nextFragment(got); err != nil {
			return c.ended(stalled(err))
		}
	}
}

// nextData reads heads until one is of a message.
func (c *Conn) nextData() error {
	for {
		if err := c.head(); err != nil {
			return err
		}
		if c.frame.op < opClose {
			return nil
		}
		if err := c.controlled(); err != nil {
			return err
		}
	}
}

// head reads the head of a frame, and refuses what no peer may send.
func (c *Conn) head() error {
	if err := c.need(2); err != nil {
		return err
	}
	first, second := c.in[c.start], c.in[c.start+1]
	f := frame{op: first & opBits, fin: first&finBit != 0, left: int64(second & sizeBits)}
	if first&rsvBits != 0 || second&maskBit == 0 || f.op > opBinary && f.op < opClose || f.op > opPong {
		return errProtocol
	}
	if f.op >= opClose && (!f.fin || f.left > maxControl) {
		return errProtocol
	}
	size := 2
	switch f.left {
	case 126:
		size = 4
	case 127:
		size = 10
	}
	if err := c.need(size + len(f.mask)); err != nil {
		return err
	}
	switch size {
	case 4:
		f.left = int64(binary.BigEndian.Uint16(c.in[c.start+2:]))
	case 10:
		if f.left = int64(binary.BigEndian.Uint64(c.in[c.start+2:])); f.left < 0 {
			return errProtocol
		}
	}
	copy(f.mask[:], c.in[c.start+size:])
	c.start += size + 4
	c.frame = f
	return nil
}

// controlled handles a control frame.
func (c *Conn) controlled() error {
	var room [maxControl]byte
	p, err := c.payload(room[:0])
	if err != nil {
		return err
	}
	if c.Controlled != nil && c.frame.op != opClose {
		c.Controlled()
	}
	switch c.frame.op {
	case opPing:
		if err := c.sendControl(opPong, p); err != ErrClosed {
			return err
		}
	case opClose:
		if len(p) == 1 || len(p) > 1 && !mayClose(Status(binary.BigEndian.Uint16(p))) {
			return errProtocol
		}
		return errPeerLeft
	}
	return nil
}

// mayClose tells whether a peer may send that status.
func mayClose(s Status) bool {
	return s >= 1000 && s <= 1014 && (s < 1004 || s > 1006) || s >= 3000 && s <= 4999
}

// need has n bytes of the buffer filled.
func (c *Conn) need(n int) error {
	if c.end-c.start >= n {
		return nil
	}
	if c.start > 0 {
		c.end = copy(c.in[:], c.in[c.start:c.end])
		c.start = 0
	}
	for c.end < n {
		got, err := c.pull(c.in[c.end:])
		c.end += got
		if got == 0 && err != nil {
			return err
		}
	}
	return nil
}

// read takes what is buffered first. Large payloads go where they belong at once.
func (c *Conn) read(b []byte) (int, error) {
	if c.start < c.end {
		n := copy(b, c.in[c.start:c.end])
		c.start += n
		return n, nil
	}
	return c.pull(b)
}

// pull reads the connection.
func (c *Conn) pull(b []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(b, c.early)
		if c.early = c.early[n:]; len(c.early) == 0 {
			c.early = nil
		}
		return n, nil
	}
	n, err := c.raw.Read(b)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

// ended answers the peer's goodbye or its fault, and waits until it has seen that:
// closing earlier could take the answer away from it.
func (c *Conn) ended(err error) error {
	switch err {
	case errPeerLeft:
		_ = c.Close(normal, "")
	case errProtocol:
		_ = c.Close(protocolError, "")
	case errTooBig:
		_ = c.Close(tooBig, "message too large")
	case errFragments:
		_ = c.Close(PolicyViolation, saysFragments)
	case errStalled:
		_ = c.Close(PolicyViolation, "message not sent in time")
	}
	if c.closing.Load() && err != errPeerLeft {
		// Until closeTime is over: a peer that is still sending can't read the reason otherwise.
		_, _ = io.CopyN(io.Discard, c.raw, lingerBytes)
	}
	return err
}

// lingerBytes is how much is read of what a peer sends after its socket was closed.
const lingerBytes = 8 << 20

// unmask undoes the peer's masking.
func unmask(b []byte, mask [4]byte) {
	word := uint64(binary.LittleEndian.Uint32(mask[:]))
	if word == 0 {
		return
	}
	word |= word << 32
	i := 0
	for ; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], binary.LittleEndian.Uint64(b[i:])^word)
	}
	for ; i < len(b); i++ {
		b[i] ^= mask[i&3]
	}
}
