package jsonrpc

import (
	"fmt"
	"strings"
	"testing"
)

const (
	smallCall = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`
	noLimit   = 1 << 30
)

// ethCall is a call of about 700 bytes, as a library sends it.
func ethCall() string {
	return `{"jsonrpc":"2.0","id":42,"method":"eth_call","params":[{"from":"0x` + strings.Repeat("1f", 20) +
		`","to":"0x` + strings.Repeat("a0", 20) + `","data":"0x70a08231` + strings.Repeat("00f1", 122) + `"},"latest"]}`
}

func batchOf(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(smallCall+",", n), ",") + "]"
}

// wideObject has n members, none like another.
func wideObject(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, `,"%x":0`, uint32(i)*2654435761)
	}
	return "{" + s.String()[1:] + "}"
}

func BenchmarkScan(b *testing.B) {
	for _, bm := range []struct{ name, body string }{
		{"small", smallCall}, {"eth_call", ethCall()}, {"batch1000", batchOf(1000)},
		{"spaced", strings.ReplaceAll(strings.ReplaceAll(smallCall, ":", " : "), ",", ",\n  ")},
		{"bomb5MiB", strings.Repeat("[", 5<<20)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			data := []byte(bm.body)
			var body Body
			body.Scan(data, noLimit)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				body.Scan(data, noLimit)
			}
		})
	}
}

func BenchmarkElements(b *testing.B) {
	var body Body
	body.Scan([]byte(ethCall()), 1)
	params := body.Requests[0].Params
	buf := make([][]byte, 0, 4)
	b.ReportAllocs()
	for b.Loop() {
		Elements(buf, params)
	}
}

func BenchmarkCompact(b *testing.B) {
	var body Body
	body.Scan([]byte(ethCall()), 1)
	for _, bm := range []struct{ name, raw string }{
		{"eth_call", string(body.Requests[0].Params)}, {"wide400k", wideObject(400_000)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			raw, buf := []byte(bm.raw), make([]byte, 0, len(bm.raw))
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				Compact(buf, raw)
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	buf, id := make([]byte, 0, 1024), []byte("42")
	b.Run("result", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendResult(buf, id, []byte(`"0x10d4f"`))
		}
	})
	b.Run("error", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendError(buf, id, -32601, "the method eth_nope does not exist/is not available", nil)
		}
	})
}
