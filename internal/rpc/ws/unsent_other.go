//go:build !linux

package ws

import "net"

// limitUnsent can't be done here: a peer that doesn't read may miss its close frame.
func limitUnsent(*net.TCPConn, int) {}
