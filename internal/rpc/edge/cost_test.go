package edge

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/fastpath"
)

// idleNode answers its parameters.
type idleNode struct{}

func (idleNode) Call(_ context.Context, _ string, params []byte) ([]byte, error) { return params, nil }

func (idleNode) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{}, nil }

// BenchmarkPlain is the edge alone, on the short way, over a node that costs nothing.
func BenchmarkPlain(b *testing.B) {
	networks := map[string]nodegate.Network{
		"embedded": {Name: "alpha", Node: idleNode{}},
		"traced":   {Name: "alpha", Node: idleNode{}, Traced: true, Parallel: 8},
	}
	for _, body := range []struct{ name, text string }{{"single", okCall}, {"batch of 8", batch(slices.Repeat([]string{okCall}, 8)...)}} {
		for name, n := range networks {
			b.Run(body.name+"/"+name, func(b *testing.B) { benchPlain(b, n, body.text) })
		}
	}
}

func benchPlain(b *testing.B, n nodegate.Network, body string) {
	cfg := Config{
		Networks: []nodegate.Network{n}, DefaultNetwork: "alpha", Auth: namedKeys{}, Methods: []string{"echo"},
		BodyBytes: bodyLimit, BatchItems: 10, ResponseBytes: 30_000,
		Log: slog.New(slog.DiscardHandler), Metrics: obs.NewMetrics(), Ready: func(string) error { return nil },
	}
	Bill(b, &cfg)
	e, c := New(cfg), &fastpath.Conn{}
	r := &fastpath.Request{Path: []byte("/alpha/v3/key1"), Host: []byte("localhost"), Body: []byte(body)}
	out := make([]byte, 0, 8<<10)
	b.ReportAllocs()
	for b.Loop() {
		e.addressOf(c, r)
		x := e.newExchange(c.Memo.(*address).network, NewTestGrant("key1", nodegate.Policy{}), nil)
		x.body = append(x.body, r.Body...)
		x.answer = append(out[:0], make([]byte, headRoom)...)
		err := x.respond(context.Background())
		answer := x.answer
		x.answer = nil
		e.plainResponse(answer, r, x, err)
		x.release()
	}
}
