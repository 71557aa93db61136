//go:build !linux

package background

// lower does nothing: priorities of single threads are Linux's.
func lower() {}

// rest does nothing for the same reason.
func rest() {}
