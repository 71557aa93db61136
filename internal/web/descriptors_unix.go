//go:build unix

package web

import (
	"os"

	"golang.org/x/sys/unix"
)

// Descriptors is how many files and sockets the process may have open; Go raises it to
// the most that the system allows when a program starts. Zero is unknown.
func Descriptors() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return uint64(r.Cur)
}

// usedUnknown is what a server uses that can't count its descriptors.
const usedUnknown = 160

// UsedDescriptors is how many are open now.
func UsedDescriptors() uint64 {
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		return usedUnknown
	}
	return uint64(len(list))
}
