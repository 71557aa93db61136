package unixfs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

// discard takes blocks and forgets them.
type discard struct{}

func (discard) Put(context.Context, cid.Cid, []byte) error         { return nil }
func (discard) Get(_ context.Context, c cid.Cid) ([]byte, error)   { return nil, notFound(c, nil) }
func (discard) Small(context.Context, cid.Cid, int) ([]byte, bool) { return nil, false }
func (discard) Pin(nodegate.Pin)                                   {}
func (discard) Loose(int64)                                        {}
func (discard) Unpin(string)                                       {}
func (discard) Commit(context.Context) error                       { return nil }
func (discard) Abort()                                             {}

// cpuTime is what the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs one round b.N times and reports the processor time of each.
func measure(b *testing.B, round func()) {
	b.ReportAllocs()
	start := cpuTime(b)
	for b.Loop() {
		round()
	}
	b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N)/1e6, "cpu-ms/op")
}

func BenchmarkAdd64MiB(b *testing.B) {
	body := bodyOf(file("f", noise(64<<20)))
	for _, query := range []string{"", "cid-version=1&chunker=size-1048576", "trickle=true", "chunker=buzhash", "chunker=rabin"} {
		opts := optionsOf(b, query)
		b.Run("options="+query, func(b *testing.B) {
			b.SetBytes(64 << 20)
			o := New(newMemory(nil))
			measure(b, func() {
				if _, err := o.Add(b.Context(), discard{}, bytes.NewReader(body), boundary, opts, nil); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkAddSmall(b *testing.B) {
	const files = 2000
	var parts []upload
	content := noise(4096 + files)
	for i := range files {
		parts = append(parts, file(fmt.Sprintf("f%d", i), content[i:i+4096]))
	}
	body := bodyOf(parts...)
	for _, query := range []string{"", "wrap-with-directory=true"} {
		opts := optionsOf(b, query)
		b.Run("options="+query, func(b *testing.B) {
			o := New(newMemory(nil))
			start := time.Now()
			measure(b, func() {
				if _, err := o.Add(b.Context(), discard{}, bytes.NewReader(body), boundary, opts, nil); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportMetric(files*float64(b.N)/time.Since(start).Seconds(), "files/s")
		})
	}
}

func BenchmarkCat64MiB(b *testing.B) {
	for _, query := range []string{"", "cid-version=1&chunker=size-1048576"} {
		b.Run("options="+query, func(b *testing.B) {
			m, out := added(b, query, file("f", noise(64<<20)))
			o := New(checking{m})
			b.SetBytes(64 << 20)
			measure(b, func() {
				c, err := o.Cat(b.Context(), []string{out.Roots[0].CID.String()}, Span{ToEnd: true})
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				if n, err := io.Copy(io.Discard, c); err != nil || n != 64<<20 {
					b.Fatal(n, err)
				}
			})
		})
	}
}

// checking verifies what it reads, as the store on disk does.
type checking struct{ *memory }

func (c checking) Get(ctx context.Context, id cid.Cid) ([]byte, error) {
	data, err := c.memory.Get(ctx, id)
	if err == nil {
		err = verify(id, data)
	}
	return data, err
}

// BenchmarkDisk is the same over the store on disk, with its sync.
func BenchmarkDisk(b *testing.B) {
	for _, query := range []string{"", "cid-version=1&chunker=size-1048576"} {
		s := openDisk(b, b.TempDir())
		o, opts := New(s), optionsOf(b, query)
		body := bodyOf(file("f", noise(64<<20)))
		var root string
		b.Run("add/options="+query, func(b *testing.B) {
			b.SetBytes(64 << 20)
			measure(b, func() {
				for at := 1000; at < len(body)-1000; at += 10_000 { // new content each time
					body[at]++
				}
				batch := s.Begin("account", 0)
				out, err := o.Add(b.Context(), batch, bytes.NewReader(body), boundary, opts, nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := batch.Commit(b.Context()); err != nil {
					b.Fatal(err)
				}
				root = out.Roots[0].CID.String()
			})
		})
		b.Run("cat/options="+query, func(b *testing.B) {
			b.SetBytes(64 << 20)
			measure(b, func() {
				c, err := o.Cat(b.Context(), []string{root}, Span{ToEnd: true})
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				if n, err := io.Copy(io.Discard, c); err != nil || n != 64<<20 {
					b.Fatal(n, err)
				}
			})
		})
	}
}
