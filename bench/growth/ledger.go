package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// ledgerOptions are about the ledger only.
type ledgerOptions struct {
	txs     int
	memory  int64 // MiB
	keep    bool
	profile string // file, or ""
}

func (l *ledgerOptions) flags(f *flag.FlagSet) {
	f.IntVar(&l.txs, "txs", 10, "ledger: transactions of a block, each with a log")
	f.Int64Var(&l.memory, "memory", 128, "ledger: MiB for the database; the default is its half of nodegate's memory.ledgers")
	f.BoolVar(&l.keep, "keep", false, "ledger: keep the store in -dir, and go on with the blocks that are there")
	f.StringVar(&l.profile, "cpuprofile", "", "ledger: file for a CPU profile of the calls")
}

// measureLedger fills one store with synthetic blocks and measures lookups and log queries at
// each size.
func measureLedger(ctx context.Context, o *options, c *curve) error {
	if o.ledger.keep {
		return growLedger(ctx, o, o.dir, c)
	}
	return inFolder(o, func(dir string) error { return growLedger(ctx, o, dir, c) })
}

func growLedger(ctx context.Context, o *options, dir string, c *curve) (err error) {
	blocks := newChain(o.ledger.txs)
	s, err := store.Open(store.Config{Dir: dir, Genesis: blocks.genesis(), Memory: o.ledger.memory << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := blocks.resume(s); err != nil {
		return err
	}
	progress("blocks of %d transactions with a log each, %d MiB for the database, %s a call", o.ledger.txs, o.ledger.memory, o.lasts)
	for _, size := range o.sizes[c.name] {
		progress("%s %s", grouped(size), c.noun)
		figures, err := o.ledgerAt(ctx, s, blocks, uint64(size))
		if err != nil {
			return err
		}
		c.add(size, figures)
	}
	return nil
}

// ledgerAt fills the store up to a size and measures it.
func (o *options) ledgerAt(ctx context.Context, s *store.Store, c *chain, size uint64) ([]figure, error) {
	if err := fillLedger(ctx, s, c, size); err != nil {
		return nil, err
	}
	rest() // what the database still has to do is not the calls' cost
	data, index := s.Bytes()
	n, err := serve(s, c, size)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	list, err := o.calls(ctx, n, workloads(c, size))
	if err != nil {
		return nil, err
	}
	heap, resident := memoryNow()
	return append(list,
		figure{"disk", inBytes, float64(data + index)},
		figure{"disk, of it indexes", inBytes, float64(index)},
		figure{"heap of Go", inBytes, float64(heap)},
		figure{"memory of the process", inBytes, float64(resident)}), nil
}

func fillLedger(ctx context.Context, s *store.Store, c *chain, size uint64) error {
	start, from := time.Now(), c.next
	for c.next < size {
		if err := errors.Join(ctx.Err(), s.Append(c.block(c.next))); err != nil {
			return err
		}
	}
	progress("  %d blocks added in %s", size-min(from, size), time.Since(start).Round(time.Second))
	return nil
}

// calls measures each workload.
func (o *options) calls(ctx context.Context, n *ledger.Node, workloads []workload) (list []figure, err error) {
	if o.ledger.profile != "" {
		f, err := os.Create(o.ledger.profile)
		if err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		defer func() { pprof.StopCPUProfile(); err = errors.Join(err, f.Close()) }()
	}
	for _, w := range workloads {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := measure(n, w, o.lasts)
		if err != nil {
			return nil, err
		}
		progress("  %s: %.1f µs, %d calls", w.name, m.wall, m.calls)
		list = append(list, figure{fmt.Sprintf("CPU of %s", w.name), inSeconds, m.cpu / 1e6})
	}
	return list, nil
}
