package ledger

import (
	"context"
	"sync"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/internal/rpc/signer"
)

// Blocks of the benchmark: as many transactions as a block of mainnet has, with two logs each.
const (
	ingestBlocks = 64
	ingestSize   = 200
)

// ingestion stores the blocks of a chain, in an empty store again when it has them all.
type ingestion struct {
	b     *testing.B
	chain *chain
	fetch *fetcher
	store *store.Store
	next  uint64
}

func newIngestion(b *testing.B, c *chain) *ingestion {
	r := newRig(nil, c, b.TempDir(), 10_000)
	return &ingestion{b: b, chain: c, fetch: &newFollower(r.Node).fetch, next: ingestBlocks + 1}
}

// number is the next block's. A store that has them all is replaced meanwhile.
func (i *ingestion) number() uint64 {
	if i.next > ingestBlocks {
		i.b.StopTimer()
		i.close()
		s, err := store.Open(store.Config{Dir: i.b.TempDir(), Genesis: [32]byte(i.chain.at(0).Hash()), Memory: 32 << 20, Log: i.fetch.log})
		if err != nil {
			i.b.Fatal(err)
		}
		i.store, i.next = s, 1
		i.b.StartTimer()
	}
	i.next++
	return i.next - 1
}

func (i *ingestion) close() {
	if i.store == nil {
		return
	}
	if err := i.store.Close(); err != nil {
		i.b.Error(err)
	}
}

func (i *ingestion) proven(number uint64) *store.Block {
	block, err := i.fetch.next(context.Background(), number)
	if err != nil {
		i.b.Fatal(err)
	}
	return block
}

func (i *ingestion) stored(block *store.Block) {
	if err := i.store.Append(block); err != nil {
		i.b.Fatal(err)
	}
}

// BenchmarkIngest measures what a block of 200 transactions costs: proven, from a node that
// answers from memory, and stored with a sync. The recovery of senders is a part of proving, the
// index of logs of storing. One run has clients that read receipts without a pause.
func BenchmarkIngest(b *testing.B) {
	c := newChain()
	c.size = ingestSize
	c.grow(ingestBlocks)
	warm := newIngestion(b, c)
	var blocks []*store.Block
	for n := range uint64(ingestBlocks) { // the node's answers are made when they are first asked for
		blocks = append(blocks, warm.proven(n+1))
	}
	for name, one := range map[string]func(i *ingestion, n uint64){
		"whole":   func(i *ingestion, n uint64) { i.stored(i.proven(n)) },
		"proven":  func(i *ingestion, n uint64) { i.proven(n) },
		"senders": func(_ *ingestion, n uint64) { recoverSenders(b, blocks[n-1]) },
		"stored":  func(i *ingestion, n uint64) { i.stored(blocks[n-1]) },
	} {
		b.Run(name, func(b *testing.B) { measureIngest(b, c, one) })
	}
	b.Run("whole, beside lookups", func(b *testing.B) {
		stop := askOn(b)
		defer stop()
		measureIngest(b, c, func(i *ingestion, n uint64) { i.stored(i.proven(n)) })
	})
}

func measureIngest(b *testing.B, c *chain, one func(i *ingestion, n uint64)) {
	i := newIngestion(b, c)
	defer i.close()
	for b.Loop() {
		one(i, i.number())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "blocks/s")
}

func recoverSenders(b *testing.B, block *store.Block) {
	for i := range block.Txs {
		if _, ok := signer.Sender(block.Txs[i].Data); !ok {
			b.Fatal("a transaction has no sender")
		}
	}
}

// askOn reads receipts of another ledger in this process until it is stopped.
func askOn(b *testing.B) (stop func()) {
	n, c := startBench(b)
	call := hit(b, n, "eth_getTransactionReceipt", []byte(lookups(c)["receipt"][1]))
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			call()
		}
	})
	return func() { cancel(); done.Wait() }
}
