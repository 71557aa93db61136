package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// options are the command line.
type options struct {
	dir       string
	only      *regexp.Regexp
	conns     int
	duration  time.Duration
	rounds    int
	starts    int
	json      string
	profile   string
	ws        bool
	skipStart bool
	before    string
	ledger    bool
	memory    int
}

func parseFlags(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("bench/rpc", flag.ExitOnError)
	only := f.String("only", "", "measure the rows whose name matches this regular expression")
	f.StringVar(&o.dir, "dir", cacheDir(), "folder where the chain is kept between runs")
	f.IntVar(&o.conns, "c", 8, "connections")
	f.DurationVar(&o.duration, "d", 2*time.Second, "length of a round")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of each server for each method")
	f.IntVar(&o.starts, "starts", 1, "how often the servers are started; the medians of each start count once")
	f.StringVar(&o.json, "json", "", "write the figures to this file too")
	f.StringVar(&o.profile, "profile", "", "write a CPU profile of nodegate for each method to this folder, from a round of its own")
	f.BoolVar(&o.ws, "ws", false, "measure nodegate over WebSocket too")
	f.BoolVar(&o.skipStart, "skip-start", false, "leave out start times and idle memory")
	f.StringVar(&o.before, "before", "", "another build of this benchmark, whose nodegate is measured in turns with this one's: its CPU is printed beside")
	f.BoolVar(&o.ledger, "ledger", false, "measure the ledger of a remote network instead, beside a forwarded call, Geth, nginx and the embedded chain")
	f.IntVar(&o.memory, "memory", 0, "with -ledger: MiB of memory.ledgers; 0 is the default of nodegate")
	_ = f.Parse(args) // exits on an error
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.conns < 1 || o.rounds < 1 || o.starts < 1 || o.duration <= 0 {
		return nil, fmt.Errorf("-c, -rounds, -starts and -d must be positive")
	}
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}

func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "nodegate-bench")
}
