// Command gateway measures nodegate in front of a remote node, beside nginx's
// proxy_pass and the node itself, in the same run: requests a second, latency and
// processor time a request for a receipt, from the cache and forwarded; the memory of
// a server without an embedded network; and what idle WebSockets take.
//
//	go run ./bench/gateway [-c 32] [-d 3s] [-rounds 3] [-sockets 5000] [-json FILE] [-profile DIR] [-before PROGRAM]
//
// The node is the same binary with its embedded chain, in a process of its own. All
// of the service is on: keys, limits, usage, metrics. The contestants take turns, and
// the medians are compared with the goals. With -before an earlier build of nodegate takes
// its turn too, in front of the same node. Nothing here decides a test: a missed goal
// is printed and the exit code is 0.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/gateway:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	conns, rounds, sockets int
	duration               time.Duration
	json, profile, before  string
}

func parseFlags(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("gateway", flag.ContinueOnError)
	f.IntVar(&o.conns, "c", 32, "connections")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of each contestant")
	f.IntVar(&o.sockets, "sockets", 5000, "idle WebSockets; 0 leaves them out")
	f.DurationVar(&o.duration, "d", 3*time.Second, "length of a round")
	f.StringVar(&o.json, "json", "", "write the figures to this file too")
	f.StringVar(&o.profile, "profile", "", "write CPU profiles of nodegate into this folder")
	f.StringVar(&o.before, "before", "", "an earlier nodegate program that is measured in the same rounds")
	return o, f.Parse(args)
}

func run(args []string) error {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	temp, err := os.MkdirTemp("", "nodegate-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	return benchmark(ctx, o, temp)
}

func benchmark(ctx context.Context, o *options, temp string) (err error) {
	binary := filepath.Join(temp, "nodegate")
	if err := build(ctx, binary); err != nil {
		return err
	}
	s, err := startServers(ctx, binary, o.before, temp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	w, err := findReceipt(s.node)
	if err != nil {
		return err
	}
	list, err := s.contestants()
	if err != nil {
		return err
	}
	if err := checkEqual(list, w); err != nil {
		return err
	}
	r := &report{Bytes: w.size}
	if r.Idle, err = idleMemory(ctx, s.gateway); err != nil {
		return err
	}
	if r.Peak, err = measureAll(ctx, o, list, w, nil); err != nil {
		return err
	}
	if r.Half, err = measureAll(ctx, o, list, w, r.Peak); err != nil {
		return err
	}
	if o.profile != "" {
		if err := saveProfiles(o, s.node, list, w); err != nil {
			return err
		}
	}
	if o.sockets > 0 {
		if r.Sockets, err = idleSockets(ctx, o.sockets, s.gateway); err != nil {
			return err
		}
	}
	r.print(os.Stdout, o)
	return r.save(o.json)
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
