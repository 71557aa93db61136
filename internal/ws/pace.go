package ws

import (
	"errors"
	"os"
	"time"
)

// A message that has begun must go on: an unfinished one holds memory. These are the
// bounds of HTTP bodies.
const (
	messageTime = 10 * time.Second
	messagePace = 1 << 10 // bytes a second, once that time is over
)

// hurry gives the peer until then for the next part of its message, of which some bytes
// have come. Messages that come in one piece don't pay for it.
func (c *Conn) hurry(got int) {
	if c.began == 0 {
		c.began = time.Now().UnixNano()
	}
	if !c.leaving.Load() {
		_ = c.raw.SetReadDeadline(time.Unix(0, c.began).Add(messageTime + time.Duration(got/messagePace)*time.Second))
	}
}

// unhurry lets the next message come when it likes. A goodbye's time stays.
func (c *Conn) unhurry() {
	if c.began == 0 {
		return
	}
	c.began = 0
	if !c.leaving.Load() {
		_ = c.raw.SetReadDeadline(time.Time{})
	}
	if c.leaving.Load() { // meanwhile
		_ = c.raw.SetReadDeadline(time.Now().Add(closeTime))
	}
}

// stalled tells a message that didn't go on from other ends.
func stalled(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errStalled
	}
	return err
}
