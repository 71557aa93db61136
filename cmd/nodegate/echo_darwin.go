package main

import "golang.org/x/sys/unix"

const (
	readTerminal  = unix.TIOCGETA
	writeTerminal = unix.TIOCSETA
)
