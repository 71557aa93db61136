package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/bench/load"
)

// eventTime is how long events may take to arrive.
const eventTime = time.Minute

// audience are sockets that wait for the same events.
type audience struct {
	conns    []*load.Conn
	size     int64
	received atomic.Int64  // events of all sockets
	complete chan struct{} // every socket has the event
	failed   chan error
}

func newAudience(size int) *audience {
	return &audience{size: int64(size), complete: make(chan struct{}, 1), failed: make(chan error, 1)}
}

// join opens a socket and subscribes to new blocks.
func (a *audience) join(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	c, err := load.Dial(u, socketLimit)
	if err != nil {
		return err
	}
	a.conns = append(a.conns, c)
	return callOnce(c, `{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`)
}

// listen reads what comes on all sockets.
func (a *audience) listen() {
	for _, c := range a.conns {
		go a.read(c)
	}
}

// read counts the events of a socket until it is closed.
func (a *audience) read(c *load.Conn) {
	for {
		message, err := c.Read()
		if err == nil && !bytes.Contains(message, []byte(`"eth_subscription"`)) {
			err = fmt.Errorf("not an event: %.200s", message)
		}
		if err != nil {
			select {
			case a.failed <- err:
			default: // one says enough
			}
			return
		}
		if a.received.Add(1)%a.size == 0 {
			a.complete <- struct{}{}
		}
	}
}

// wait returns when every socket has the event of a block.
func (a *audience) wait() error {
	select {
	case <-a.complete:
		return nil
	case err := <-a.failed:
		return err
	case <-time.After(eventTime):
		return errors.New("events are missing")
	}
}

func (a *audience) close() {
	for _, c := range a.conns {
		c.Close()
	}
}
