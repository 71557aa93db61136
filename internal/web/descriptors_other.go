//go:build !unix

package web

// Descriptors is how many files and sockets the process may have open; zero is unknown.
func Descriptors() uint64 { return 0 }

// UsedDescriptors is how many are open now; zero is unknown.
func UsedDescriptors() uint64 { return 0 }
