package blockstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble"
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"github.com/nodegate/nodegate"
)

// blocks is what the store is compared by: blocks put together and durable when put
// returns, and read back verified.
type blocks interface {
	put(cids []cid.Cid, data []byte) error
	get(c cid.Cid) ([]byte, error)
}

// ours is the store itself, with a pin for what is put.
type ours struct{ s *Store }

func (o ours) put(cids []cid.Cid, data []byte) error {
	ctx, batch := context.Background(), o.s.Begin("acc", 0)
	defer batch.Abort()
	for _, c := range cids {
		if err := batch.Put(ctx, c, data); err != nil {
			return err
		}
	}
	batch.Pin(nodegate.Pin{CID: cids[0].String(), Size: int64(len(cids) * len(data))})
	return batch.Commit(ctx)
}

func (o ours) get(c cid.Cid) ([]byte, error) { return o.s.Get(context.Background(), c) }

// inPebble keeps blocks as the values of a Pebble database.
type inPebble struct{ db *pebble.DB }

func (p inPebble) put(cids []cid.Cid, data []byte) error {
	for len(cids) > 0 { // in batches of 16 MiB: one batch is held in memory
		part := cids[:min(len(cids), 16<<20/len(data))]
		batch := p.db.NewBatch()
		for _, c := range part {
			if err := batch.Set(c.Hash(), data, nil); err != nil {
				return err
			}
		}
		if err := batch.Commit(pebble.Sync); err != nil {
			return err
		}
		cids = cids[len(part):]
	}
	return nil
}

func (p inPebble) get(c cid.Cid) ([]byte, error) {
	value, closer, err := p.db.Get(c.Hash())
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return verified(c, append([]byte(nil), value...))
}

// inFiles keeps a file for each block in folders named by the last two characters
// but one, as Kubo's flatfs does with shard/next-to-last/2.
type inFiles struct {
	dir  string
	sync bool
}

func (f inFiles) path(c cid.Cid) string {
	name := c.String()
	return filepath.Join(f.dir, name[len(name)-3:len(name)-1], name+".data")
}

func (f inFiles) put(cids []cid.Cid, data []byte) error {
	for _, c := range cids {
		if err := f.putOne(f.path(c), data); err != nil {
			return err
		}
	}
	return nil
}

func (f inFiles) putOne(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(f.dir, "put-")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err == nil && f.sync {
		err = temp.Sync()
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil || !f.sync {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (f inFiles) get(c cid.Cid) ([]byte, error) {
	data, err := os.ReadFile(f.path(c))
	if err != nil {
		return nil, err
	}
	return verified(c, data)
}

func verified(c cid.Cid, data []byte) ([]byte, error) {
	want, err := multihash.Decode(c.Hash())
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); string(got[:]) != string(want.Digest) {
		return nil, fmt.Errorf("%s is damaged", c)
	}
	return data, nil
}

// BenchmarkPeers is the work of the storage gateway on this store, on Pebble alone
// and on a file for each block, synced as our promise needs it and, as Kubo's default
// is, not.
func BenchmarkPeers(b *testing.B) {
	peers := []struct {
		name string
		open func(b *testing.B) blocks
	}{
		{"store", func(b *testing.B) blocks { return ours{open(b, benchConfig(b))} }},
		{"pebble", func(b *testing.B) blocks {
			db, err := pebble.Open(b.TempDir(), &pebble.Options{Logger: quiet{}, Cache: pebble.NewCache(indexCache)})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			return inPebble{db}
		}},
		{"flatfs", func(b *testing.B) blocks { return inFiles{dir: b.TempDir(), sync: true} }},
		{"flatfs unsynced", func(b *testing.B) blocks { return inFiles{dir: b.TempDir()} }},
	}
	for _, p := range peers {
		b.Run("put 64 MiB/"+p.name, func(b *testing.B) { benchPutLarge(b, p.open(b)) })
		b.Run("put 4 KiB/"+p.name, func(b *testing.B) { benchPutSmall(b, p.open(b)) })
		b.Run("get 256 KiB/"+p.name, func(b *testing.B) { benchGet(b, p.open(b), 256<<10) })
		b.Run("get 4 KiB/"+p.name, func(b *testing.B) { benchGet(b, p.open(b), 4<<10) })
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(f string, args ...any) {
	panic(fmt.Sprintf(f, args...))
}

// benchPutLarge puts files of 64 MiB in blocks of 256 KiB.
func benchPutLarge(b *testing.B, t blocks) {
	const size, count = 256 << 10, 256
	data, cids := randomBlock(size, 1), make([]cid.Cid, count)
	b.SetBytes(size * count)
	for n := range b.N {
		b.StopTimer()
		for i := range cids {
			cids[i] = rawCID(b, binary.LittleEndian.AppendUint64(nil, uint64(n*count+i))) // nobody reads them
		}
		b.StartTimer()
		if err := t.put(cids, data); err != nil {
			b.Fatal(err)
		}
	}
}

// benchPutSmall puts blocks of 4 KiB from eight goroutines, each durable by itself.
func benchPutSmall(b *testing.B, t blocks) {
	var next atomic.Uint64
	b.SetParallelism(4) // times two processors
	b.RunParallel(func(pb *testing.PB) {
		data := randomBlock(4096, 1)
		for pb.Next() {
			binary.LittleEndian.PutUint64(data, next.Add(1))
			if err := t.put([]cid.Cid{rawCID(b, data)}, data); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
}

func benchGet(b *testing.B, t blocks, size int) {
	cids := make([]cid.Cid, 256)
	for i := range cids {
		data := randomBlock(size, uint64(i))
		cids[i] = rawCID(b, data)
		if err := t.put(cids[i:i+1], data); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, err := t.get(cids[i%len(cids)]); err != nil {
			b.Fatal(err)
		}
	}
}
