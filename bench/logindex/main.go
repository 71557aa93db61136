// Command logindex compares indexes of logs: the ledger's own, lists that each block appends
// to, and go-ethereum's filter maps. Both index the same synthetic logs, with popular and rare
// addresses and topics as mainnet has them, and answer the same queries.
//
//	go run ./bench/logindex -blocks 100000
//	go run ./bench/logindex -geth 10000    # whole queries, against Geth
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cacheBytes is what each database may keep in memory: what the ledger has by default.
const cacheBytes = 64 << 20

// index is a candidate.
type index interface {
	build(logs *chainLogs, count uint64) (time.Duration, error)
	bytes() int64
	search(q query, from, to uint64) (found int, err error)
	Close() error
}

func main() {
	count := flag.Uint64("blocks", 100_000, "blocks of the chain")
	txs := flag.Int("txs", 10, "transactions of a block, on average, with three logs for two of them")
	rounds := flag.Int("rounds", 9, "of each query; the median counts")
	only := flag.String("only", "", "one index instead of all: lists or filtermaps")
	dir := flag.String("dir", "", "folder for the databases; a temporary one by default")
	real := flag.Int("geth", 0, "compare whole queries with Geth instead, on a real chain of so many blocks")
	flag.Parse()
	if err := run(*dir, func(dir string) error {
		if *real > 0 {
			return against(dir, *real, *txs, *rounds)
		}
		return compare(dir, *only, *count, *txs, *rounds)
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var candidates = []struct {
	name string
	open func(dir string) (index, error)
}{
	{"lists", func(dir string) (index, error) { return openLists(dir) }},
	{"filtermaps", func(dir string) (index, error) { return openMaps(dir) }},
}

// run gives a measurement a folder.
func run(parent string, measure func(dir string) error) (err error) {
	dir, err := os.MkdirTemp(parent, "nodegate-logindex")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return measure(dir)
}

// compare measures the indexes by themselves.
func compare(dir, only string, count uint64, txs, rounds int) (err error) {
	describe(count, txs)
	for _, c := range candidates {
		if only == "" || only == c.name {
			err = errors.Join(err, measure(c.name, filepath.Join(dir, c.name), c.open, count, txs, rounds))
		}
	}
	return err
}

// describe says what the logs are like.
func describe(count uint64, txs int) {
	logs, values, n := 0, 0, min(count, 1000)
	c := newChainLogs(txs)
	for i := range n {
		for _, r := range c.block(i) {
			for _, l := range r.Logs {
				logs++
				values += 1 + len(l.Topics)
			}
		}
	}
	fmt.Printf("%d blocks, each with about %.1f logs of %.1f addresses and topics in all\n\n", count, float64(logs)/float64(n), float64(values)/float64(n))
}

func measure(name, dir string, open func(string) (index, error), count uint64, txs, rounds int) (err error) {
	x, err := open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	spent, err := x.build(newChainLogs(txs), count)
	if err != nil {
		return err
	}
	size := x.bytes()
	fmt.Printf("%-10s  build %8.1f µs a block, disk %7.1f MB, %6.0f bytes a block\n", name,
		float64(spent.Microseconds())/float64(count), float64(size)/1e6, float64(size)/float64(count))
	for _, q := range queries() {
		for _, width := range []uint64{10_000, count} {
			if width > count {
				continue
			}
			if err := ask(x, q, count-width, count-1, rounds); err != nil {
				return err
			}
		}
	}
	fmt.Println()
	return nil
}

func queries() []query {
	transfer, hot := &signatures[0].topic, popular()
	return []query{
		{name: "rare address and topic", address: &rareContract, topics: sliceOf(&rareEvent)},
		{name: "popular address, rare topic", address: &hot, topics: sliceOf(transfer, &rareUser)},
		{name: "popular address and topic", address: &hot, topics: sliceOf(transfer)},
		{name: "popular topic", topics: sliceOf(transfer)},
	}
}

func sliceOf[T any](list ...T) []T { return list }

// ask measures a query: the first time, and the median of all others.
func ask(x index, q query, from, to uint64, rounds int) error {
	times := make([]time.Duration, rounds+1)
	found := 0
	for i := range times {
		start := time.Now()
		n, err := x.search(q, from, to)
		if err != nil {
			return err
		}
		times[i], found = time.Since(start), n
	}
	first := times[0]
	fmt.Printf("  %-28s over %7d blocks: %9.3f ms, first %9.3f ms, %d candidates\n", q.name, to-from+1, ms(median(times)), ms(first), found)
	return nil
}

// median sorts the times.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
