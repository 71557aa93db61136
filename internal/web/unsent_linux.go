package web

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsent is how many written bytes the peer's system has not taken yet.
func unsent(c net.Conn) (count int, known bool) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return 0, false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		count, known = n, err == nil
	})
	return count, known && err == nil
}
