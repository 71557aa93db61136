package edge

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/fastpath"
	"github.com/nodegate/nodegate/internal/tracing"
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
		e.plainResponse(context.Background(), answer, r, x, err)
		x.release()
	}
}

// BenchmarkTracing is the fast path without a tracer, with one that doesn't choose the request,
// and with one that does. The first two allocate as much.
func BenchmarkTracing(b *testing.B) {
	for _, c := range []struct {
		name string
		on   bool
		rate int
	}{{"off", false, 0}, {"not sampled", true, 0}, {"sampled", true, 100}} {
		b.Run(c.name, func(b *testing.B) {
			serve := servePlain(b, c.on, c.rate)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}

// TestUntracedAllocations: a request that isn't traced allocates as if there were no tracer.
func TestUntracedAllocations(t *testing.T) {
	if raced {
		t.Skip("the race detector makes pools forget things at random, so allocations can't be counted")
	}
	const runs = 2000 // a pool that is emptied meanwhile is less than one of them each
	off := testing.AllocsPerRun(runs, servePlain(t, false, 0))
	if untraced := testing.AllocsPerRun(runs, servePlain(t, true, 0)); untraced > off {
		t.Errorf("%v allocations, and %v without a tracer", untraced, off)
	}
}

// servePlain serves one request on the fast path, again and again. The collector doesn't exist.
func servePlain(t testing.TB, traced bool, sample int) func() {
	e := benchEdge(t)
	if traced {
		tracer, err := tracing.Open(tracing.Config{URL: "http://127.0.0.1:1/v1/traces", Sample: sample, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tracer.Close(context.Background()) }) // its spans are dropped
		e.cfg.Tracer = tracer
	}
	c := &fastpath.Conn{}
	r := &fastpath.Request{Path: []byte("/alpha/v3/key1"), Host: []byte("localhost"), Body: []byte(okCall)}
	out, grant := make([]byte, 0, 8<<10), NewTestGrant("key1", nodegate.Policy{})
	return func() {
		ctx, span := e.cfg.Tracer.Begin(context.Background(), "rpc")
		if _, err := e.plainCall(ctx, c, r, e.addressOf(c, r).network, grant, span, out[:0]); err != nil {
			t.Fatal(err)
		}
	}
}
