//go:build !linux

package server

// ForgetStart is for Linux only.
func ForgetStart() {}
