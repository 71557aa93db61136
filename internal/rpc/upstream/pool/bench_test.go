package pool

import (
	"testing"
	"time"
)

// BenchmarkCall is what the pool itself costs: three nodes that answer at once.
func BenchmarkCall(b *testing.B) {
	p, _ := openFakes(b, nil, newFake("a", 100), newFake("b", 100), newFake("c", 100))
	for p.Ready() != nil {
		time.Sleep(10 * time.Millisecond)
	}
	for _, hedged := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "hedged"}[hedged]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 { // the pool sets it again every second
					p.reader.delays[runs].Store(map[bool]int64{false: 0, true: int64(hedgeFloor)}[hedged])
				}
				if _, err := p.Call(b.Context(), "eth_getBalance", []byte(balance)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
