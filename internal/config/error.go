package config

import (
	"fmt"
	"strings"
)

// Error is one problem of the configuration, for the person who wrote it.
type Error struct {
	File         string // "" where the value came from the environment or a flag
	Line, Column int    // 1-based; 0 where the problem is not at one place of the file
	Msg          string // what is wrong and what to do
}

// Error prints file:line:column: message, as compilers do, so that editors can jump there.
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	default:
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
	}
}

// Errors are all problems that one load found, never empty when returned.
type Errors []*Error

// Error prints one problem a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first *Error.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, one := range e {
		errs[i] = one
	}
	return errs
}
