package ws

import (
	"net"

	"golang.org/x/sys/unix"
)

// limitUnsent bounds what the system keeps of us beyond what it has sent; -1 is no
// bound but the system's. A writer who waits for room looks again.
func limitUnsent(c *net.TCPConn, bytes int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes) // without it, only a slow reader's goodbye is lost
	})
}
