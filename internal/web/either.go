package web

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Either serves TLS on a listener and, beside it, plain connections on the same
// port: the first byte tells them apart. It is for loopback addresses only; the
// caller sees to that.
func Either(ln net.Listener, config *tls.Config) net.Listener { return sorted(ln, config, nil) }

// Secure serves TLS on a listener. A client that speaks plain HTTP gets explanation, a
// whole response, and is closed.
func Secure(ln net.Listener, config *tls.Config, explanation []byte) net.Listener {
	return sorted(ln, config, explanation)
}

func sorted(ln net.Listener, config *tls.Config, explanation []byte) net.Listener {
	e := &eitherListener{Listener: ln, config: config, explanation: explanation, ready: make(chan net.Conn), closed: make(chan struct{})}
	go e.run()
	return e
}

type eitherListener struct {
	net.Listener
	config      *tls.Config
	explanation []byte // for plain connections; nil serves them
	ready       chan net.Conn
	failed      error // set before closed is
	closed      chan struct{}
	once        sync.Once
}

// A connection may say nothing for firstByteTime, and take handshakeTime for the whole
// of its handshake.
const (
	firstByteTime = 5 * time.Second
	handshakeTime = 5 * time.Second
)

// tlsHandshake is the first byte of every TLS connection.
const tlsHandshake = 0x16

func (e *eitherListener) run() {
	for {
		c, err := accept(e.Listener, e.closed, nil)
		if err != nil {
			e.stop(err)
			return
		}
		go e.sort(c)
	}
}

// sort waits for the first byte and for the handshake; one slow connection holds up
// nobody else.
func (e *eitherListener) sort(c net.Conn) {
	conn, err := e.begin(c)
	if err != nil {
		_ = c.Close()
		return
	}
	select {
	case e.ready <- conn:
	case <-e.closed:
		_ = c.Close()
	}
}

var errPlainHTTP = errors.New("plain HTTP on a listener for TLS")

// begin makes of a connection what it is to the server.
func (e *eitherListener) begin(c net.Conn) (net.Conn, error) {
	_ = c.SetReadDeadline(time.Now().Add(firstByteTime))
	var first [1]byte
	if _, err := io.ReadFull(c, first[:]); err != nil {
		return nil, err
	}
	peeked := &peekedConn{Conn: c, first: first[:]}
	if first[0] != tlsHandshake {
		if e.explanation != nil {
			return nil, explain(c, e.explanation)
		}
		_ = c.SetReadDeadline(time.Time{})
		return peeked, nil
	}
	secure := tls.Server(peeked, e.config)
	_ = c.SetDeadline(time.Now().Add(handshakeTime))
	if err := secure.HandshakeContext(context.Background()); err != nil {
		return nil, err
	}
	return secure, c.SetDeadline(time.Time{})
}

// explain answers a client that speaks plain HTTP, so that it can read the answer.
func explain(c net.Conn, explanation []byte) error {
	_, _ = c.Write(explanation)
	if g := guardedOf(c); g != nil {
		g.late.Store(true)
	}
	return errPlainHTTP
}

// Accept returns the next connection that has said something.
func (e *eitherListener) Accept() (net.Conn, error) {
	select {
	case c := <-e.ready:
		return c, nil
	case <-e.closed:
		return nil, e.failed
	}
}

func (e *eitherListener) stop(err error) {
	e.once.Do(func() {
		e.failed = err
		close(e.closed)
	})
}

// Close ends the listener and what still waits in it.
func (e *eitherListener) Close() error {
	err := e.Listener.Close()
	e.stop(net.ErrClosed)
	return err
}

// peekedConn gives the first byte back.
type peekedConn struct {
	net.Conn
	first []byte
}

func (c *peekedConn) Read(b []byte) (int, error) {
	if len(c.first) > 0 && len(b) > 0 {
		n := copy(b, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// NetConn is the connection below, for those who need the system's own.
func (c *peekedConn) NetConn() net.Conn { return c.Conn }
