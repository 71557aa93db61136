package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// Times of a connection.
const (
	dialTime = 5 * time.Second  // to connect, proxy and TLS included
	idleTime = 60 * time.Second // an unused connection is closed after this
	// A call that is answered within quickTime never asks its context for Done: that
	// may cost as much as the whole call, where it means to watch a client's connection.
	quickTime = 10 * time.Millisecond
	// A connection that rested this long is looked at before it is used again.
	freshTime = time.Second
)

// largeRequest is more than a socket's buffer surely takes at once. The write of such
// a request may wait for the node, so it is watched from its first byte.
const largeRequest = 8 << 10

// conn is one connection. It belongs to one call at a time.
type conn struct {
	net.Conn                 // what is spoken on: raw, or TLS over it, to the proxy or the node or both
	raw      net.Conn        // what is closed
	control  syscall.RawConn // nil where there is none to look at

	reused   bool
	idleFrom time.Time
	idleFor  time.Duration // what the node said, or idleTime

	// Of the call in progress.
	ctx      context.Context
	deadline time.Time
	stop     func() bool // ends the watch over ctx; nil while there is none
}

func (e *endpoint) dial(ctx context.Context, deadline time.Time) (*conn, error) {
	if most := time.Now().Add(dialTime); most.Before(deadline) {
		deadline = most
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	spoken, raw, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: spoken, raw: raw, idleFor: idleTime}
	if sys, ok := raw.(syscall.Conn); ok {
		c.control, _ = sys.SyscallConn()
	}
	if !e.secure {
		return c, nil
	}
	secure := tls.Client(spoken, e.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	c.Conn = secure
	return c, nil
}

// begin gives the connection to a call that sends size bytes.
func (c *conn) begin(ctx context.Context, deadline time.Time, size int) error {
	c.ctx, c.deadline = ctx, deadline
	if err := c.raw.SetWriteDeadline(deadline); err != nil {
		return err
	}
	if size > largeRequest {
		return c.watch()
	}
	if quick := time.Now().Add(quickTime); quick.Before(deadline) {
		deadline = quick
	}
	return c.raw.SetReadDeadline(deadline)
}

// watch has the connection closed when the context of the call ends.
func (c *conn) watch() error {
	c.stop = context.AfterFunc(c.ctx, func() { _ = c.raw.Close() })
	return c.raw.SetReadDeadline(c.deadline)
}

// Read reads for the call in progress. The first wait is short; only when it was in
// vain is the context watched.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 || c.stop != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if err := c.watch(); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// farewell is why a write over TLS failed. A node that refuses our certificate says so
// after the handshake, as far as we see it, and hangs up: that is still there to be read.
func (c *conn) farewell(err error) error {
	_, end := c.Conn.Read(make([]byte, 1))
	var alert *net.OpError
	if errors.As(end, &alert) && alert.Op == "remote error" {
		return alert
	}
	return err
}

// finish takes the connection back from its call. It reports whether it is still
// open as far as this side goes.
func (c *conn) finish() bool {
	open := c.stop == nil || c.stop()
	c.ctx, c.stop = nil, nil
	return open
}

// cause is why an exchange failed: the call's context or its time, before what that
// did to the connection.
func (c *conn) cause(err error) error {
	if c.ctx != nil && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// close drops the connection without a word: TLS would wait for the node to take its
// good-bye.
func (c *conn) close() { _ = c.raw.Close() }

// usable tells whether a kept connection may carry another call. Where a second try
// is not allowed, or some time has passed, it looks whether the node has closed it.
func (c *conn) usable(now time.Time, safe bool) bool {
	rested := now.Sub(c.idleFrom)
	if rested >= c.idleFor {
		return false
	}
	return safe && rested < freshTime || c.control == nil || silent(c.control)
}
