// Command growth measures how the ledger's lookups and log queries change as its copy grows. It
// fills one store with synthetic blocks and measures at each size.
//
//	go run ./bench/growth -sizes 10000,100000,1000000
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

func main() {
	sizes := flag.String("sizes", "10000,100000,1000000", "blocks at which to measure, ascending")
	txs := flag.Int("txs", 10, "transactions of a block, each with a log")
	memory := flag.Int64("memory", 64, "MiB of ledger.memory")
	lasts := flag.Duration("d", 3*time.Second, "how long to measure each kind of call")
	dir := flag.String("dir", "", "folder for the store; a temporary one by default. A million blocks of 10 transactions take 4 GB")
	keep := flag.Bool("keep", false, "keep the store in -dir, and go on with the blocks that are there")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of the calls")
	flag.Parse()
	if err := run(*dir, *keep, *sizes, *txs, *memory<<20, &calls{*lasts, *profile}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, keep bool, sizes string, txs int, memory int64, by *calls) (err error) {
	if !keep {
		if dir, err = os.MkdirTemp(dir, "nodegate-growth"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	c := newChain(txs)
	s, err := store.Open(store.Config{Dir: dir, Genesis: c.genesis(), Memory: memory, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := c.resume(s); err != nil {
		return err
	}
	fmt.Printf("blocks of %d transactions with a log each, %d MiB of ledger.memory, %s a call\n", txs, memory>>20, by.last)
	for text := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return err
		}
		if err := by.measureAt(s, c, size); err != nil {
			return err
		}
	}
	return nil
}

// calls is how to measure.
type calls struct {
	last    time.Duration
	profile string // file, or ""
}

// measureAt fills the store up to a size and measures it.
func (by *calls) measureAt(s *store.Store, c *chain, size uint64) error {
	start, from := time.Now(), c.next
	for c.next < size {
		if err := s.Append(c.block(c.next)); err != nil {
			return err
		}
	}
	spent := time.Since(start)
	rest() // what the database still has to do is not the calls' cost
	data, index := s.Bytes()
	fmt.Printf("\n%d blocks: %d added in %s, %.2f GB on disk, %.2f GB of it to find things\n", size, size-from, spent.Round(time.Second), float64(data+index)/1e9, float64(index)/1e9)
	n, err := serve(s, c, size)
	if err != nil {
		return err
	}
	defer n.Close()
	if err := by.measureAll(n, workloads(c, size)); err != nil {
		return err
	}
	heap, resident := memoryNow()
	fmt.Printf("  memory: %d MiB of Go's heap, %d MiB of the process\n", heap>>20, resident>>20)
	return nil
}

// measureAll measures each workload.
func (by *calls) measureAll(n *ledger.Node, list []workload) (err error) {
	if by.profile != "" {
		f, err := os.Create(by.profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for _, w := range list {
		m, err := measure(n, w, by.last)
		if err != nil {
			return err
		}
		fmt.Printf("  %-46s %9.1f µs, %9.1f µs of CPU, %7d calls\n", w.name, m.wall, m.cpu, m.calls)
	}
	return nil
}
