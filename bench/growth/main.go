// Command growth measures how nodegate changes as what it keeps grows: API keys, accounts,
// open WebSockets, usage rows, stored blocks, and the blocks of a ledger. Each is measured at
// several sizes, on a server in a process of its own; the ledger in this process.
//
//	go run ./bench/growth [-of keys,accounts,sockets,usage,blocks,ledger] [-d 3s]
//	                      [-keys 1000,10000,100000] [-accounts ...] [-sockets ...] [-usage ...]
//	                      [-blocks ...] [-ledger ...] [-svg DIR] [-dir DIR]
//
// It prints a Markdown table for each curve, and with -svg also draws it: both axes are
// logarithmic, so that a line from corner to corner is growth in proportion.
//
// Accounts, keys and usage are written by the program's own packages, in a memory file system
// where there is one, and copied to -dir. What is measured runs on -dir. Files that were just
// written are still in the page cache.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/nodegate/nodegate/bench/child"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/growth:", err)
		os.Exit(1)
	}
}

// run is the benchmark, or a server when the benchmark has started itself again.
func run(args []string) error {
	if len(args) > 0 && args[0] == child.Command {
		return serveChild(args[1:])
	}
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(o.of) > 1 {
		return runApart(ctx, args, o.of)
	}
	return runCurve(ctx, o, o.of[0])
}

// runApart measures each curve in a process of its own, so that what one leaves in memory
// doesn't count for the next.
func runApart(ctx context.Context, args []string, curves []part) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, p := range curves {
		cmd := exec.CommandContext(ctx, self, append(slices.Clone(args), "-of", p.name)...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it removes its folder
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// runCurve measures a curve and prints what there is of it, also after an error.
func runCurve(ctx context.Context, o *options, p part) error {
	c := &curve{part: p}
	err := p.measure(ctx, o, c)
	if len(c.sizes) == 0 {
		return err
	}
	fmt.Printf("\n**%s**\n\n%s", c.title, c.table())
	if err != nil || o.svg == "" {
		return err
	}
	return os.WriteFile(filepath.Join(o.svg, "growth-"+c.name+".svg"), []byte(c.svg()), 0o644)
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
