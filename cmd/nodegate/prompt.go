package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// maxLine bounds a line of input. The longest password has 1024 characters of up
// to four bytes.
const maxLine = 4097

// input is where passwords and cards come from. They never stand on the command
// line, which everybody on the machine can see.
type input struct {
	from  io.Reader
	lines *bufio.Reader
}

func newInput(from io.Reader) *input { return &input{from: from} }

// terminal is the terminal that somebody sits at, or nil.
func (in *input) terminal() *os.File {
	if f, ok := in.from.(*os.File); ok && f != nil && isTerminal(f) {
		return f
	}
	return nil
}

// ask reads one line: from a terminal with a prompt and, where it is hidden,
// without showing what is typed; from anything else as it comes.
//
// Returns InvalidInput when there is no line.
func (in *input) ask(prompts io.Writer, what string, hidden bool) (string, error) {
	terminal := in.terminal()
	if terminal == nil {
		return in.line(what)
	}
	if !hidden {
		fmt.Fprintf(prompts, "%s: ", what)
		return in.line(what)
	}
	// Signals are caught before anything is hidden: one that ends the program must not leave
	// the terminal in a state in which nobody sees what they type.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	show, err := hideTyping(terminal)
	if err != nil {
		return "", err
	}
	defer fmt.Fprintln(prompts)
	defer show()
	fmt.Fprintf(prompts, "%s: ", what)
	return in.interruptibleLine(what, signals)
}

// interruptibleLine comes back on a signal, so that the terminal is shown again.
func (in *input) interruptibleLine(what string, signals <-chan os.Signal) (string, error) {
	type answer struct {
		line string
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		line, err := in.line(what)
		typed <- answer{line, err}
	}()
	select {
	case a := <-typed:
		return a.line, a.err
	case <-signals:
		return "", errors.New("interrupted; nothing was changed")
	}
}

func (in *input) line(what string) (string, error) {
	if in.from == nil {
		return "", invalid("there is no input to read the " + what + " from")
	}
	if in.lines == nil {
		in.lines = bufio.NewReaderSize(in.from, maxLine)
	}
	line, err := in.lines.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", invalid("the line with the " + what + " is too long")
	case errors.Is(err, io.EOF) && len(line) == 0:
		return "", invalid("the input ends before the " + what + ": put it on a separate line")
	case err != nil && !errors.Is(err, io.EOF):
		return "", err
	}
	return string(trimEnd(line)), nil
}

// trimEnd takes off the end of the line and nothing else: spaces may be part of
// a password.
func trimEnd(line []byte) []byte {
	for _, end := range []byte("\n\r") {
		if n := len(line); n > 0 && line[n-1] == end {
			line = line[:n-1]
		}
	}
	return line
}

// password asks for a new password, twice where somebody types it unseen.
func (in *input) password(prompts io.Writer) (string, error) {
	first, err := in.ask(prompts, "password", true)
	if err != nil {
		return "", err
	}
	if first == "" {
		return "", invalid("the password is empty; use --no-password to create an account that can't sign in")
	}
	if in.terminal() == nil {
		return first, nil
	}
	again, err := in.ask(prompts, "password again", true)
	if err == nil && again != first {
		err = invalid("the two passwords differ; nothing was changed")
	}
	return first, err
}
