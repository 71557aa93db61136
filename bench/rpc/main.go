// Command rpc measures nodegate against Geth on the same chain: requests a second,
// latency and processor time a request for each method, and how fast and how small
// nodegate starts.
//
//	go run ./bench/rpc [-ledger [-memory MIB]] [-only REGEXP] [-c 8] [-d 2s] [-rounds 3] [-starts 1] [-ws] [-json FILE] [-profile DIR] [-before PROGRAM]
//
// Geth is go-ethereum's own rpc server and eth API behind a bare HTTP listener, in
// a process of its own; nodegate is the whole service, with authentication and
// metrics, in another. Both import the same chain file. Before measuring, both must
// give equal answers. Then each method is measured in turns, a round of Geth and a
// round of nodegate, and the medians are compared with the goals.
//
// The figures depend on the machine and its other load; the ratio between two
// processes measured in turns depends on them much less. Nothing here decides a test:
// a missed goal is printed and the exit code is 0.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/nodegate/nodegate/bench/chainfile"
	"github.com/nodegate/nodegate/bench/child"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/rpc:", err)
		os.Exit(1)
	}
}

// run is the benchmark, or one of the servers when the benchmark has started itself again.
func run(args []string) error {
	if len(args) > 0 && args[0] == child.Command {
		return runChild(args[1:])
	}
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	return benchmark(ctx, o)
}

func benchmark(ctx context.Context, o *options) error {
	files, err := chainfile.Ensure(o.dir)
	if err != nil {
		return err
	}
	genesis, blocks, err := chainfile.Load(files)
	if err != nil {
		return err
	}
	progress("chain: %d blocks, %d transactions, chain id %d, in %s", len(blocks), countTxs(blocks), genesis.Config.ChainID, filepath.Dir(files.Chain))
	temp, err := os.MkdirTemp("", "nodegate-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)

	r := &report{}
	if o.ledger {
		list := chosen(chosen(workloads(blocks), ledgerRows), o.only)
		if r.Methods, err = measureLedger(ctx, o, files, temp, list, len(blocks)); err != nil {
			return err
		}
		printLedger(os.Stdout, r.Methods, o)
		return r.save(o.json)
	}
	if !o.skipStart {
		if r.Start, err = measureStart(ctx, temp); err != nil {
			return err
		}
	}
	if r.Methods, err = measureStarts(ctx, o, files, temp, chosen(workloads(blocks), o.only)); err != nil {
		return err
	}
	r.print(os.Stdout, o)
	return r.save(o.json)
}

// measureStarts measures every workload on servers that are started several times.
// A process keeps the pages of memory that it was given: what it costs differs more from
// start to start than two builds do.
func measureStarts(ctx context.Context, o *options, files chainfile.Files, temp string, list []workload) ([]row, error) {
	var all [][]row
	for n := range o.starts {
		rows, err := measureMethods(ctx, o, files, filepath.Join(temp, strconv.Itoa(n)), list)
		if err != nil {
			return nil, err
		}
		all = append(all, rows)
	}
	return middleRows(all), nil
}

// measureMethods serves the chain by both servers and measures every workload.
func measureMethods(ctx context.Context, o *options, files chainfile.Files, temp string, list []workload) (rows []row, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	servers, err := startServers(files, temp, o.before)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, servers.close()) }()
	contestants, err := servers.contestants(o.ws)
	if err != nil {
		return nil, err
	}
	current, err := servers.current(o.ws) // another build may answer in another form
	if err != nil {
		return nil, err
	}
	if err := checkAll(current, list); err != nil {
		return nil, err
	}
	return measureRows(ctx, o, contestants, list, servers.nodegate, contestants[1])
}

// measureRows measures the workloads one after the other, and saves profiles of one
// contestant if asked to.
func measureRows(ctx context.Context, o *options, contestants []*contestant, list []workload, p *child.Process, profiled *contestant) (rows []row, err error) {
	for _, w := range list {
		row, err := measureRow(ctx, o, contestants, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		rows = append(rows, row)
		if o.profile != "" {
			if err := saveProfile(o, p, profiled, w); err != nil {
				return nil, fmt.Errorf("%s: profile: %w", w.name, err)
			}
		}
	}
	return rows, nil
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
