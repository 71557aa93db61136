package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
)

// newest is how many blocks most clients ask about.
const newest = 10_000

// workload is one kind of call, with different parameters.
type workload struct {
	name, method string
	params       []string
}

// samples is how many different lookups there are: they touch more than the database caches.
const samples = 20_000

func workloads(c *chain, size uint64) []workload {
	rng := rand.New(rand.NewPCG(size, 3))
	var list []workload
	for _, among := range []struct {
		name   string
		blocks uint64
	}{{"newest 10,000", min(newest, size)}, {"all", size}} {
		hashes, numbers := make([]string, samples), make([]string, samples)
		for i := range samples {
			at := size - 1 - rng.Uint64N(among.blocks)
			_, hash := c.transaction(at, rng.IntN(c.txs))
			hashes[i], numbers[i] = fmt.Sprintf(`["0x%x"]`, hash), fmt.Sprintf(`["%#x",false]`, at)
		}
		list = append(list,
			workload{"transaction, " + among.name, method.EthGetTransactionByHash, hashes},
			workload{"receipt, " + among.name, method.EthGetTransactionReceipt, hashes},
			workload{"block, " + among.name, method.EthGetBlockByNumber, numbers})
	}
	logs := func(from uint64, blocks uint64) []string {
		return []string{fmt.Sprintf(`[{"fromBlock":"%#x","toBlock":"%#x","address":"%s","topics":["%s"]}]`, from, size-1, rareOf(blocks), transfer)}
	}
	return append(list,
		workload{"100 logs, newest 10,000", method.EthGetLogs, logs(size-min(newest, size), newest)},
		workload{"100 logs, all", method.EthGetLogs, logs(0, size)})
}

// measured is what a call took, in microseconds.
type measured struct {
	wall, cpu float64
	calls     int
}

// measure makes calls one after the other, for a while.
func measure(n *ledger.Node, w workload, lasts time.Duration) (m measured, err error) {
	trace := new(nodegate.Trace)
	ctx := nodegate.WithTrace(context.Background(), trace)
	begin, cpu := time.Now(), cpuTime()
	for time.Since(begin) < lasts {
		if _, err := n.Call(ctx, w.method, []byte(w.params[m.calls%len(w.params)])); err != nil || trace.Cache != nodegate.CacheLedger {
			return m, fmt.Errorf("%s %s is not answered from the ledger: %v", w.method, w.params[m.calls%len(w.params)], err)
		}
		m.calls++
	}
	each := 1e3 * float64(m.calls)
	m.wall, m.cpu = float64(time.Since(begin))/each, float64(cpuTime()-cpu)/each
	return m, nil
}

// cpuTime is what the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rest waits until the database has nothing to do any more, or long enough.
func rest() {
	for range 120 {
		before := cpuTime()
		time.Sleep(500 * time.Millisecond)
		if cpuTime()-before < 10*time.Millisecond {
			return
		}
	}
}

// memoryNow is what is in use after a collection, and what the process has of the machine.
func memoryNow() (heap, resident uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := os.ReadFile("/proc/self/statm")
	var all uint64
	if err == nil {
		_, err = fmt.Sscan(string(text), &all, &resident)
	}
	if err != nil {
		resident = 0
	}
	return m.HeapAlloc, resident * uint64(os.Getpagesize())
}
