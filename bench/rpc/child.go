package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/internal/obs"
)

// childCommand is the hidden first argument of a process that serves.
const childCommand = "child"

// cpuQuestion is what the parent writes to read a child's processor time.
const cpuQuestion = "cpu"

// hello is a child's first line: where it listens.
type hello struct {
	RPC   string `json:"rpc"`
	Admin string `json:"admin,omitempty"`
	Key   string `json:"key,omitempty"`
}

// served is a server that runs in this process.
type served interface {
	hello() hello
	close() error
}

// childFlags are what a server is started with.
type childFlags struct{ genesis, chain, data string }

// runChild serves until standard input ends, which it also does when the parent dies.
func runChild(args []string) error {
	signal.Ignore(os.Interrupt) // the terminal sends it to both; the parent closes in order
	f := flag.NewFlagSet(childCommand, flag.ExitOnError)
	var c childFlags
	f.StringVar(&c.genesis, "genesis", "", "genesis file")
	f.StringVar(&c.chain, "chain", "", "chain file")
	f.StringVar(&c.data, "data", "", "data folder")
	if len(args) == 0 {
		return errors.New("which server?")
	}
	_ = f.Parse(args[1:]) // exits on an error
	server, err := openServer(args[0], c)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(server.hello()); err != nil {
		return errors.Join(err, server.close())
	}
	return errors.Join(answerQuestions(os.Stdin, os.Stdout), server.close())
}

func openServer(kind string, c childFlags) (served, error) {
	log := obs.NewLogger(os.Stderr, "text", slog.LevelError)
	switch kind {
	case "geth":
		return openGeth(c, log)
	case "nodegate":
		return openNodegate(benchConfig(c), log)
	case "default":
		return openNodegate(defaultConfig(c), log)
	}
	return nil, fmt.Errorf("no server %q", kind)
}

// answerQuestions tells the processor time used so far, in microseconds. The kernel
// keeps it to the nanosecond; the files in /proc round it to ticks of 10 ms.
func answerQuestions(r io.Reader, w io.Writer) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if lines.Text() != cpuQuestion {
			return fmt.Errorf("unknown question %q", lines.Text())
		}
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			return err
		}
		used := time.Duration(u.Utime.Nano() + u.Stime.Nano())
		if _, err := fmt.Fprintln(w, used.Microseconds()); err != nil {
			return err
		}
	}
	return lines.Err()
}
