// Command storage measures the storage gateway over HTTP on loopback, plain and with
// TLS: large and small uploads and reads, pins, an add beside a collection, memory
// under many uploads, and how fast the service starts on a full block store.
//
//	go run ./bench/storage [-only REGEXP] [-size 512] [-small 4000] [-rounds 3]
//	                       [-clients 10] [-upload 1024] [-blocks 1000000]
//	                       [-profile DIR] [-dir DIR] [-before PROGRAM]
//	KUBO_API=http://127.0.0.1:5001 go run ./bench/storage
//
// nodegate is the whole service in a process of its own, and durable: an answer comes
// after the sync. With KUBO_API, the same work is done on that Kubo in turns, and the
// ratios are printed. Take a Kubo that was made for this: it is left with gigabytes
// of random content, and its garbage is collected. Its processor time and memory
// are read when it runs on this machine under the same user.
//
// All content is random and new in each round, so nothing is stored already. The
// figures depend on the machine, its disk and its other load; the client's own work
// is in them. Nothing here decides a test: a missed goal is printed and the exit
// code is 0.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/nodegate/nodegate/bench/child"
)

// options are the sizes of the benchmark.
type options struct {
	only                  *regexp.Regexp // nil measures everything
	size, upload          int64          // bytes
	small, rounds         int
	clients, blocks       int
	profile, dir, kuboURL string
	before                string
	out                   page
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/storage:", err)
		os.Exit(1)
	}
}

// run is the benchmark, or the server when the benchmark has started itself again.
func run(args []string) error {
	if len(args) > 0 && args[0] == child.Command {
		return runChild(args[1:])
	}
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	o.kuboURL = os.Getenv("KUBO_API")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	return benchmark(ctx, o)
}

func parseFlags(args []string) (*options, error) {
	o := &options{out: page{os.Stdout}}
	f := flag.NewFlagSet("storage", flag.ExitOnError)
	only := f.String("only", "", "measure the rows whose name matches this expression")
	size := f.Int64("size", 512, "MiB of a large file")
	upload := f.Int64("upload", 1024, "MiB that each client uploads while memory is watched")
	f.IntVar(&o.small, "small", 4000, "requests of a row of small files, and pins")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of each row; the median counts")
	f.IntVar(&o.clients, "clients", 10, "clients that upload while memory is watched; 0 leaves it out")
	f.IntVar(&o.blocks, "blocks", 1_000_000, "blocks to start on; 0 leaves it out")
	f.StringVar(&o.profile, "profile", "", "folder for a CPU profile of nodegate in each row")
	f.StringVar(&o.dir, "dir", "", "folder on the disk to measure; the temporary folder if empty")
	f.StringVar(&o.before, "before", "", "another build of this benchmark, measured in turns with this one: its CPU is printed beside")
	_ = f.Parse(args) // exits on an error
	o.size, o.upload = *size<<20, *upload<<20
	if o.size <= 0 || o.upload <= 0 || o.small <= 0 || o.rounds <= 0 || o.clients < 0 || o.blocks < 0 {
		return nil, errors.New("the sizes must be above zero; only -clients and -blocks may be zero")
	}
	if *only == "" {
		return o, nil
	}
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}

// wants tells whether a row is to be measured.
func (o *options) wants(row string) bool { return o.only == nil || o.only.MatchString(row) }

// benchmark runs the parts one after the other, each on a folder of its own that is
// removed at its end: together they would need twice the disk.
func benchmark(ctx context.Context, o *options) error {
	kubo, err := findPeer(o.kuboURL)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%-36s %-10s %17s %9s %9s %12s\n", "", "", "", "p50", "p99", "CPU/request")
	for _, part := range []func(context.Context, *options, *peer) error{measureRows, measureMemory, measureStart} {
		if err := part(ctx, o, kubo); err != nil {
			return err
		}
	}
	return nil
}

// inFolder gives a part of the benchmark its own folder.
func inFolder(o *options, part func(dir string) error) error {
	dir, err := os.MkdirTemp(o.dir, "nodegate-bench-storage-*")
	if err != nil {
		return err
	}
	return errors.Join(part(dir), os.RemoveAll(dir))
}

// measureRows measures requests, the contestants taking turns.
func measureRows(ctx context.Context, o *options, kubo *peer) error {
	rows := chosen(workloads(o), o)
	if len(rows) == 0 && !o.wants(collectionRow) {
		return nil
	}
	return inFolder(o, func(dir string) (err error) {
		server, err := startServer(dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		list := targetsOf(server)
		if o.before != "" {
			before, started := child.StartProgram(o.before, filepath.Join(dir, "before"))
			if started != nil {
				return started
			}
			defer func() { err = errors.Join(err, before.Close()) }()
			// Not over HTTPS too: two builds compare only if they hold as much.
			list = []*target{list[0], beforeOf(before)}
		}
		if kubo != nil {
			list = append(list, kubo.target())
		}
		if err := checkAll(list); err != nil {
			return err
		}
		for _, w := range rows {
			if err := measureRow(ctx, o, w, list, server); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
		return measureCollection(ctx, o, list)
	})
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
