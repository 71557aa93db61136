package web

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// How long a listener waits after an accept that failed: at first and at most.
const (
	firstPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// accept waits for a connection and survives errors that pass, such as having run out
// of file descriptors: it tells failing and tries again, until the listener closes.
func accept(ln net.Listener, closed <-chan struct{}, failing func(error)) (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		c, err := ln.Accept()
		if err == nil || !passes(err) {
			return c, err
		}
		if failing != nil {
			failing(err)
		}
		select {
		case <-time.After(pause):
		case <-closed:
			return nil, net.ErrClosed
		}
	}
}

// passes reports whether accepting may work again after an error: descriptors and
// memory of the system come back when others give them up.
func passes(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary() || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}
