// Command accounts measures what every request pays for being let in, admitted and
// recorded, and what it costs the service when somebody guesses keys.
//
//	go run ./bench/accounts [-keys 100000] [-accounts 10000] [-d 2s] [-attack 100000] [-rate 5000]
//
// The first part runs on one core against the real authenticator, limiter and recorder, over a
// store of that many keys. Beside it stands the peer: the same key read from the
// same SQLite file for each request, which is what services without such a cache do.
// The second part starts the whole service and offers unknown keys to it while an
// honest client works.
//
// The figures depend on the machine and its other load. Nothing here decides a
// test: a missed goal is printed and the exit code is 0.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

// options are the sizes of the benchmark.
type options struct {
	keys, accounts, attack, rate int
	measure                      time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.keys, "keys", 100_000, "API keys in the store")
	flag.IntVar(&o.accounts, "accounts", 10_000, "accounts that own them, all active")
	flag.DurationVar(&o.measure, "d", 2*time.Second, "time of one measurement")
	flag.IntVar(&o.attack, "attack", 100_000, "unknown keys to offer; 0 leaves the second part out")
	flag.IntVar(&o.rate, "rate", 5000, "unknown keys a second")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "bench/accounts:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "nodegate-bench-accounts")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := hotPath(ctx, dir, o); err != nil || o.attack == 0 {
		return err
	}
	return guessing(ctx, o)
}

// goal prints a figure beside what it should be.
func goal(what, figure, want string, met bool) {
	verdict := "met"
	if !met {
		verdict = "MISSED"
	}
	fmt.Printf("%-52s %14s   goal %-12s %s\n", what, figure, want, verdict)
}
