package web

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// Either serves TLS on a listener and, beside it, plain connections on the same
// port: the first byte tells them apart. It is for loopback addresses only; the
// caller sees to that.
func Either(ln net.Listener, config *tls.Config) net.Listener {
	e := &eitherListener{Listener: ln, config: config, ready: make(chan net.Conn), closed: make(chan struct{})}
	go e.run()
	return e
}

type eitherListener struct {
	net.Listener
	config *tls.Config
	ready  chan net.Conn
	failed error // set before closed is
	closed chan struct{}
	once   sync.Once
}

// firstByteTime is how long a connection may say nothing.
const firstByteTime = 5 * time.Second

// tlsHandshake is the first byte of every TLS connection.
const tlsHandshake = 0x16

func (e *eitherListener) run() {
	for {
		c, err := e.Listener.Accept()
		if err != nil {
			e.stop(err)
			return
		}
		go e.sort(c)
	}
}

// sort waits for the first byte; one silent connection holds up nobody else.
func (e *eitherListener) sort(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(firstByteTime))
	var first [1]byte
	if _, err := io.ReadFull(c, first[:]); err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	conn := net.Conn(&peekedConn{Conn: c, first: first[:]})
	if first[0] == tlsHandshake {
		conn = tls.Server(conn, e.config)
	}
	select {
	case e.ready <- conn:
	case <-e.closed:
		_ = c.Close()
	}
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
