package web

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// flakyListener fails as often as it is told, then delivers what is in conns.
type flakyListener struct {
	net.Listener
	fails  atomic.Int32
	err    error
	conns  chan net.Conn
	closed chan struct{}
}

func newFlaky(fails int32, err error) *flakyListener {
	l := &flakyListener{err: err, conns: make(chan net.Conn, 10), closed: make(chan struct{})}
	l.fails.Store(fails)
	return l
}

func (l *flakyListener) Accept() (net.Conn, error) {
	if l.fails.Add(-1) >= 0 {
		return nil, l.err
	}
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *flakyListener) Close() error { close(l.closed); return nil }

func acceptError(errno syscall.Errno) error {
	return &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", errno)}
}

// TestAcceptErrorsPass: listeners of both kinds go on after errors that pass, and tell
// of each.
func TestAcceptErrorsPass(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		for name, wrap := range map[string]func(net.Listener) net.Listener{
			"limited": func(ln net.Listener) net.Listener { return ln },
			"sorted":  func(ln net.Listener) net.Listener { return Either(ln, &tls.Config{}) },
		} {
			t.Run(name+" "+errno.Error(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const fails = 12
					inner := newFlaky(fails, acceptError(errno))
					var told atomic.Int32
					ln := wrap(Limit(inner, Bounds{PerIP: 1, Failing: func(err error) {
						if errors.Is(err, errno) {
							told.Add(1)
						}
					}}))
					near, far := net.Pipe()
					inner.conns <- near
					go func() { _, _ = io.WriteString(far, "G") }()
					begun := time.Now()
					c, err := ln.Accept()
					if err != nil {
						t.Fatal(err)
					}
					// 5, 10, ... 640 ms, and then a second each time
					if took := time.Since(begun); told.Load() != fails || took < 5*time.Second || took > 6*time.Second {
						t.Errorf("told %d times in %v", told.Load(), took)
					}
					_ = c.Close()
					_ = far.Close()
					_ = ln.Close()
				})
			})
		}
	}
}

// TestAcceptErrorsStay: an error that doesn't pass ends the listener, and closing one
// that waits to try again ends it at once.
func TestAcceptErrorsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, wrap := range map[string]func(net.Listener) net.Listener{
			"limited": func(ln net.Listener) net.Listener { return ln },
			"sorted":  func(ln net.Listener) net.Listener { return Either(ln, &tls.Config{}) },
		} {
			ln := wrap(Limit(newFlaky(1, acceptError(syscall.EBADF)), Bounds{PerIP: 1}))
			if _, err := ln.Accept(); !errors.Is(err, syscall.EBADF) {
				t.Errorf("%s: %v", name, err)
			}
			_ = ln.Close()
			ln = wrap(Limit(newFlaky(1<<20, acceptError(syscall.EMFILE)), Bounds{PerIP: 1}))
			go func() {
				time.Sleep(10*time.Second + time.Millisecond)
				_ = ln.Close()
			}()
			begun := time.Now()
			if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) || time.Since(begun) > 11*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
		}
		synctest.Wait()
	})
}

// addrConn is a connection from somewhere.
type addrConn struct {
	net.Conn
	from string
	ends atomic.Int32
}

func (c *addrConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.from), 1))
}

func (c *addrConn) Close() error { c.ends.Add(1); return nil }

// accepted gives connections of these addresses to a listener and returns how many it
// takes.
func accepted(t *testing.T, b Bounds, from []string) (taken []net.Conn, refused map[string]int) {
	t.Helper()
	inner := &flakyListener{conns: make(chan net.Conn, len(from)), closed: make(chan struct{})}
	refused = map[string]int{}
	var mu sync.Mutex
	b.Refused = func(over string) { mu.Lock(); refused[over]++; mu.Unlock() }
	ln := Limit(inner, b)
	for _, f := range from {
		inner.conns <- &addrConn{from: f}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			taken = append(taken, c)
		}
	}()
	for end := time.Now().Add(time.Minute); len(inner.conns) > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	_ = ln.Close()
	<-done
	return taken, refused
}

func TestBounds(t *testing.T) {
	one := make([]string, 1200)
	six := make([]string, 5000)
	for i := range one {
		one[i] = "10.0.0.1"
	}
	for i := range six {
		six[i] = netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 2: 0xd, 3: 0xb8, 14: byte(i >> 8), 15: byte(i)}).String()
	}
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		name   string
		bounds Bounds
		from   []string
		taken  int
		over   string
	}{
		{"one address", Bounds{PerIP: 1024}, one, 1024, "address"},
		{"a trusted proxy", Bounds{PerIP: 1024, Trusted: trusted}, one, 1200, ""},
		{"one /64", Bounds{PerIP: 1024, Trusted: trusted}, six, 1024, "address"},
		{"few descriptors", Bounds{PerIP: 1024, Slots: NewSlots(300, 100)}, one, 33, "address"},
		{"few descriptors, a proxy", Bounds{PerIP: 1024, Trusted: trusted, Slots: NewSlots(300, 100)}, one, 67, "total"},
	} {
		t.Run(c.name, func(t *testing.T) {
			taken, refused := accepted(t, c.bounds, c.from)
			if len(taken) != c.taken || refused[c.over] != len(c.from)-c.taken {
				t.Errorf("%d taken, refused %v, want %d", len(taken), refused, c.taken)
			}
			for _, conn := range taken {
				_ = conn.Close()
				_ = conn.Close()
			}
			if s := c.bounds.Slots; s != nil && s.used.Load() != 0 {
				t.Errorf("%d slots are not given back", s.used.Load())
			}
		})
	}
}

// TestSlots: files keep a part of the descriptors.
func TestSlots(t *testing.T) {
	for _, c := range []struct {
		descriptors, used uint64
		want              int64
	}{{0, 5, 0}, {20, 10, 16}, {300, 147, 20}, {1024, 147, 653}, {1 << 20, 147, 917261}, {1<<64 - 1, 0, 0}} {
		if got := NewSlots(c.descriptors, c.used).Limit(); got != c.want {
			t.Errorf("%d of %d descriptors used: %d connections, want %d", c.used, c.descriptors, got, c.want)
		}
	}
	if used := UsedDescriptors(); used == 0 || used > 1000 {
		t.Errorf("%d files are open", used)
	}
	if Descriptors() == 0 {
		t.Error("this system does not say how many files may be open")
	}
}
