//go:build !linux && !darwin

package main

import (
	"errors"
	"os"
)

// isTerminal knows no terminals here: input is read as lines.
func isTerminal(*os.File) bool { return false }

func hideTyping(*os.File) (show func(), err error) {
	return nil, errors.New("this system can't hide typed input")
}
