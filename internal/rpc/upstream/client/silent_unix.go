//go:build unix

package client

import "syscall"

// silent tells whether a connection on which nothing is due has nothing to read: no
// end, no error, no byte that nobody asked for. It doesn't wait.
func silent(control syscall.RawConn) bool {
	quiet := false
	err := control.Control(func(fd uintptr) {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:]) // a byte that is lost here means that the connection is given up
		quiet = err == syscall.EAGAIN || err == syscall.EINTR
	})
	return err == nil && quiet
}
