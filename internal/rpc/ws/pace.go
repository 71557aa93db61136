package ws

import (
	"errors"
	"os"
	"time"
)

// A message that has begun must go on: an unfinished one holds memory. In each paceTime
// at least paceRate bytes a second arrive, as in HTTP bodies; what came before buys no
// time.
const (
	paceTime  = 10 * time.Second
	paceRate  = 1 << 10 // bytes a second
	paceBytes = paceRate * int(paceTime/time.Second)
)

// hurry gives the peer its time for the next part of its message, of which some bytes
// have come. Messages that come in one piece don't pay for it.
func (c *Conn) hurry(got int) {
	if c.began != 0 && got < c.paced+paceBytes {
		return // the deadline is set
	}
	c.began, c.paced = time.Now().UnixNano(), got
	if !c.leaving.Load() {
		_ = c.raw.SetReadDeadline(time.Unix(0, c.began).Add(paceTime))
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
