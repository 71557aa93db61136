//go:build linux || darwin

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), readTerminal)
	return err == nil
}

// hideTyping has the terminal show nothing of what is typed until show is called.
func hideTyping(f *os.File) (show func(), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, readTerminal)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, writeTerminal, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, writeTerminal, before) }, nil
}
