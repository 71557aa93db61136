package blockstore

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/nodegate/nodegate"
)

// benchConfig is what a server runs with.
func benchConfig(b *testing.B) Config {
	return Config{Dir: b.TempDir(), Reserve: 1 << 20, Links: links, ScrubRate: -1}
}

func randomBlock(size int, seed uint64) []byte {
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	_, _ = r.Read(data)
	return data
}

// BenchmarkPut stores 512 MiB in blocks of 256 KiB in one batch and commits: a
// durable add without the hashing.
func BenchmarkPut(b *testing.B) {
	const size, count = 256 << 10, 2048
	s := open(b, benchConfig(b))
	data := randomBlock(size, 1)
	cids := make([]cid.Cid, count)
	b.SetBytes(size * count)
	for n := range b.N {
		b.StopTimer()
		for i := range cids {
			var name [16]byte
			binary.LittleEndian.PutUint64(name[:], uint64(n*count+i))
			cids[i] = rawCID(b, name[:]) // Put trusts its caller
		}
		b.StartTimer()
		batch := s.Begin("acc", 0)
		for _, c := range cids {
			if err := batch.Put(b.Context(), c, data); err != nil {
				b.Fatal(err)
			}
		}
		batch.Pin(nodegate.Pin{CID: cids[0].String(), Size: size * count})
		if err := batch.Commit(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit8 adds and pins 4 KiB blocks from eight goroutines, each alone.
func BenchmarkCommit8(b *testing.B) {
	s := open(b, benchConfig(b))
	var next atomic.Uint64
	b.SetParallelism(4) // times two processors
	b.RunParallel(func(pb *testing.PB) {
		data := randomBlock(4096, 1)
		for pb.Next() {
			binary.LittleEndian.PutUint64(data, next.Add(1))
			if err := add(s, "acc", rawCID(b, data), data); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// BenchmarkGet reads blocks of 256 KiB into one buffer, verified.
func BenchmarkGet(b *testing.B) {
	const size, count = 256 << 10, 512
	s := open(b, benchConfig(b))
	var cids []cid.Cid
	for i := range count {
		cids = append(cids, mustAdd(b, s, randomBlock(size, uint64(i))))
	}
	b.SetBytes(size)
	b.ResetTimer()
	var buf []byte
	for i := range b.N {
		var err error
		if buf, err = s.GetTo(b.Context(), cids[i%count], buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenMillion opens a store of a million blocks: as it was closed, and
// after its index was lost.
func BenchmarkOpenMillion(b *testing.B) {
	count := 1_000_000
	if testing.Short() {
		count = 50_000
	}
	s := open(b, benchConfig(b))
	fill(b, s, count)
	b.Run("closed", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			s = open(b, s.cfg)
		}
	})
	b.Run("lost", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			if err := s.cfg.index.RemoveAll(s.files.indexDir()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			s = open(b, s.cfg)
		}
	})
}

// fill stores small blocks, a thousand in a batch.
func fill(b *testing.B, s *Store, count int) {
	b.Helper()
	data := make([]byte, 64)
	for i := 0; i < count; {
		batch := s.Begin("acc", 0)
		var first cid.Cid
		for range 1000 {
			binary.LittleEndian.PutUint64(data, uint64(i))
			first = rawCID(b, data)
			if err := batch.Put(context.Background(), first, data); err != nil {
				b.Fatal(err)
			}
			i++
		}
		batch.Pin(nodegate.Pin{CID: first.String(), Size: 64000, Created: time.Now()})
		if err := batch.Commit(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPutAgain puts blocks of 4 KiB that are stored already and pins them, 1,000 in
// a batch.
func BenchmarkPutAgain(b *testing.B) {
	const size, count = 4 << 10, 1000
	s := open(b, benchConfig(b))
	var cids []cid.Cid
	var blocks [][]byte
	for i := range count {
		blocks = append(blocks, randomBlock(size, uint64(i)))
		cids = append(cids, rawCID(b, blocks[i]))
	}
	put := func() {
		batch := s.Begin("acc", 0)
		for i, c := range cids {
			must(b, batch.Put(b.Context(), c, blocks[i]))
		}
		batch.Pin(nodegate.Pin{CID: cids[0].String(), Size: size * count})
		must(b, batch.Commit(b.Context()))
	}
	put()
	b.SetBytes(size * count)
	b.ResetTimer()
	for range b.N {
		put()
	}
}

// BenchmarkWalk reads the blocks of BenchmarkPutAgain in a batch, as a pin of them does.
func BenchmarkWalk(b *testing.B) {
	const size, count = 4 << 10, 1000
	s := open(b, benchConfig(b))
	var cids []cid.Cid
	for i := range count {
		cids = append(cids, mustAdd(b, s, randomBlock(size, uint64(i))))
	}
	b.SetBytes(size * count)
	b.ResetTimer()
	for range b.N {
		batch := s.Begin("acc", 0)
		for _, c := range cids {
			must(b, errOf(batch.Get(b.Context(), c)))
		}
		batch.Abort()
	}
}
