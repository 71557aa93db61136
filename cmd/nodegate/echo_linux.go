package main

import "golang.org/x/sys/unix"

const (
	readTerminal  = unix.TCGETS
	writeTerminal = unix.TCSETS
)
