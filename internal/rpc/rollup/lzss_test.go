package rollup

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/consensys/compress/lzss"

	"github.com/nodegate/nodegate/test/full"
)

// realCompressor is what the network compresses with. It takes 33 MB, so a test
// makes one for each dictionary and no more.
func realCompressor(t testing.TB, dict []byte) *lzss.Compressor {
	t.Helper()
	c, err := lzss.NewCompressor(slices.Clone(dict))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checkAgainst(t testing.TB, real *lzss.Compressor, dict *dictionary, data []byte) {
	t.Helper()
	want, err := real.CompressedSize256k(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := compressedSize(dict, data, func() {}); got != want {
		t.Fatalf("size of %d bytes = %d, the real compressor has %d: %x", len(data), got, want, data[:min(len(data), 400)])
	}
}

// seeded is a source of the same numbers in every run.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func noise(n int, seed uint64) []byte {
	r, b := seeded(seed), make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// patterned mixes what makes references interesting: copies from near and far,
// runs, markers and noise.
func patterned(n int, r *rand.Rand, dict []byte) []byte {
	var b []byte
	for len(b) < n {
		length := 1 + r.IntN(1<<r.IntN(10))
		switch kind := r.IntN(6); {
		case kind == 0 && len(b) > 0:
			from := r.IntN(len(b))
			b = append(b, b[from:min(from+length, len(b))]...)
		case kind == 1:
			b = append(b, bytes.Repeat([]byte{byte(r.IntN(3)) - 2}, length)...)
		case kind == 2 && len(dict) > 0:
			from := r.IntN(len(dict))
			b = append(b, dict[from:min(from+length, len(dict))]...)
		case kind == 3:
			b = append(b, nearMarker, farMarker, byte(r.Uint32()))
		case kind == 4:
			for range min(length, 40) {
				b = append(b, byte(r.IntN(4)))
			}
		default:
			for range min(length, 20) {
				b = append(b, byte(r.Uint32()))
			}
		}
	}
	return b[:n]
}

func TestCompressedSizeIsTheRealOne(t *testing.T) {
	dicts := map[string][]byte{
		"empty":      nil,
		"words":      []byte("the quick brown fox jumps over the lazy dog\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		"oneMarker":  {1, 2, 3, 4, 5, 6, 7, 8, 0xfe, 9},
		"twoMarkers": append(noise(3000, 7), 0xff, 0xfe, 0xff),
	}
	for name, raw := range dicts {
		t.Run(name, func(t *testing.T) {
			real, dict, r := realCompressor(t, raw), newDictionary(slices.Clone(raw)), seeded(1)
			for n := range 200 {
				checkAgainst(t, real, dict, patterned(n, r, raw))
			}
			// Past the reach of near references; slow, for the real one.
			for range 5 {
				if !testing.Short() {
					checkAgainst(t, real, dict, patterned(1+r.IntN(40_000), r, raw))
				}
			}
		})
	}
}

func FuzzCompressedSize(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(bytes.Repeat([]byte{0xff}, 400))
	f.Add(bytes.Repeat([]byte{0xfe, 0, 1}, 100))
	raw := append(noise(500, 3), "some words and zeros\x00\x00\x00\x00\x00\x00\x00\x00\xfe\xff"...)
	real, dict := realCompressor(f, raw), newDictionary(slices.Clone(raw))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8<<10 {
			return
		}
		checkAgainst(t, real, dict, data)
	})
}

// Hostile inputs make the real compressor work a hundred times as long as noise of the
// same length: its search takes quadratic time. Here every place is compared a number of
// times that grows with the logarithm of the lengths, whatever the data.
func TestCompressedSizeWorkIsBounded(t *testing.T) {
	full.Slow(t)
	descending := func(n int) []byte {
		var b []byte
		for i := n / 9; len(b) < n; i-- {
			b = append(b, 0, 0, 0, 0, 0, 0, byte(i>>16), byte(i>>8), byte(i))
		}
		return b[:n]
	}
	const dictSize = 1 << 16
	dict := newDictionary(noise(dictSize, 4))
	// Sorting compares a place 2 log n times at most, and the dictionary is searched by
	// halving for each of up to three candidates.
	perPlace := 2*bits.Len(maxEncoded) + 3*bits.Len(dictSize) + 10
	for name, data := range map[string][]byte{
		"noise":       noise(maxEncoded, 2),
		"alternating": bytes.Repeat([]byte{0, 1}, maxEncoded/2),
		"markers":     bytes.Repeat([]byte{0xfe, 0xff}, maxEncoded/2),
		"descending":  descending(maxEncoded),
		"zeros":       make([]byte, maxEncoded),
	} {
		c := count(dict, data, func() {})
		t.Logf("%s: %.1f comparisons for each byte", name, float64(c.work)/float64(len(data)))
		if c.work < len(data) || c.work > perPlace*len(data) {
			t.Errorf("%s: %d comparisons for %d bytes, want at most %d for each byte", name, c.work, len(data), perPlace)
		}
	}
}

func TestRankSet(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 4096, 4097, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			set, member, r := newRankSet(n), make([]bool, n), seeded(uint64(n))
			for range 2000 {
				x := r.IntN(n)
				if member[x] = r.IntN(3) > 0; member[x] {
					set.add(x)
				} else {
					set.remove(x)
				}
				q := r.IntN(n)
				if got, want := set.below(q), lastTrue(member[:q]); got != want {
					t.Fatalf("below(%d) = %d, want %d", q, got, want)
				}
				want := slices.Index(member[q+1:], true)
				if want >= 0 {
					want += q + 1
				}
				if got := set.above(q); got != want {
					t.Fatalf("above(%d) = %d, want %d", q, got, want)
				}
			}
		})
	}
}

func lastTrue(b []bool) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] {
			return i
		}
	}
	return -1
}

func BenchmarkCompressedSize(b *testing.B) {
	dict := newDictionary(noise(1<<16, 4))
	for _, n := range []int{51, 119, 24 << 10, 60_000} {
		data := patterned(n, seeded(5), nil)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compressedSize(dict, data, func() {})
			}
		})
	}
}
