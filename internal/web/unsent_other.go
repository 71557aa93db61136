//go:build !linux

package web

import "net"

// unsent is not known here; what the system's buffer takes counts as read.
func unsent(net.Conn) (count int, known bool) { return 0, false }
