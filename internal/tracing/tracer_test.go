package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nodegate/nodegate"
)

const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestParse: what is no traceparent names no trace.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		sampled:                                "4bf92f3577b34da6a3ce929d0e0e4736 true",
		strings.TrimSuffix(sampled, "1") + "0": "4bf92f3577b34da6a3ce929d0e0e4736 false",
		"":                                     "",
		sampled[:54]:                           "",
		sampled + "-more":                      "",
		"ff" + sampled[2:]:                     "",
		sampled[:53] + "03":                    "4bf92f3577b34da6a3ce929d0e0e4736 true", // flags of later versions
		sampled[:53] + "02":                    "4bf92f3577b34da6a3ce929d0e0e4736 false",
		strings.ToUpper(sampled):               "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01":  "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01":  "",
		"00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01":  "",
		"00-4bf92f3577b34da6a3ce929d0e0e473\n-00f067aa0ba902b7-01": "",
	} {
		got := ""
		if c := parse(text); c.IsValid() {
			got = c.TraceID().String() + " " + map[bool]string{true: "true", false: "false"}[c.IsSampled()]
		}
		if got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
	if two := Parent(http.Header{"Traceparent": {sampled, sampled}}); two != "" {
		t.Errorf("two headers name %q", two)
	}
}

// open makes a tracer without a collector.
func open(t *testing.T, clients, sample int) *Tracer {
	t.Helper()
	tracer, err := Open(Config{URL: "http://127.0.0.1:1/v1/traces", Sample: sample, ClientTraces: clients, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close(context.Background()) }) // nobody takes its spans
	return tracer
}

// entered is a request of an account. One without an account is refused.
func entered(t *testing.T, tracer *Tracer, parent, account string) *Span {
	t.Helper()
	ctx, entry := tracer.Enter(t.Context(), "rpc", parent)
	if account == "" {
		return entry.Refused(nodegate.KeyInvalid)
	}
	_, span := entry.Admitted(ctx, account)
	return span
}

// TestClientsAreBounded: clients can have so many requests traced a second, and no more.
func TestClientsAreBounded(t *testing.T) {
	for _, c := range []struct {
		clients, sample, want int
		parent                string
	}{
		{3, 0, 3, sampled},
		{0, 0, 0, sampled},
		{3, 0, 0, ""},
		{3, 0, 0, strings.TrimSuffix(sampled, "1") + "0"},
		{0, 100, 10, sampled},
		{3, 100, 10, ""},
	} {
		synctest.Test(t, func(t *testing.T) { // so that no time passes
			tracer, traced := open(t, c.clients, c.sample), 0
			for i := range 10 {
				span := entered(t, tracer, c.parent, string(rune('a'+i)))
				if span == nil {
					continue
				}
				traced++
				if own := !strings.Contains(sampled, span.TraceID()); own != (c.clients == 0 || c.parent == "") {
					t.Errorf("%+v: the trace is our own: %t", c, own)
				}
			}
			if traced != c.want {
				t.Errorf("%+v: %d are traced", c, traced)
			}
		})
	}
}

// TestStrangersTakeNothing: a flood of requests that are refused, and one of a single account,
// leave other accounts their traces.
func TestStrangersTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := open(t, 10, 0)
		for range 1000 {
			if entered(t, tracer, sampled, "") != nil {
				t.Fatal("a request that was refused is traced")
			}
		}
		for account, want := range map[string]int{"greedy": 3, "modest": 3} { // a quarter, rounded up
			traced := 0
			for range 1000 {
				if entered(t, tracer, sampled, account) != nil {
					traced++
				}
			}
			if traced != want {
				t.Errorf("%d requests of %s are traced, want %d", traced, account, want)
			}
		}
	})
}

// TestSpansOfARequest: one request has so many spans, and the last word says how many it lacks.
func TestSpansOfARequest(t *testing.T) {
	kept := tracetest.NewSpanRecorder()
	tracer := open(t, 0, 100)
	tracer.provider.RegisterSpanProcessor(kept)
	ctx, root := tracer.Begin(t.Context(), "storage")
	for range 1000 {
		_, span := Client(ctx, "storage node")
		span.Outcome("ok", true)
	}
	root.End(nil)
	spans := kept.Ended()
	if len(spans) != maxSpans {
		t.Errorf("%d spans, want %d", len(spans), maxSpans)
	}
	last := spans[len(spans)-1]
	if want := attribute.Int("nodegate.spans_left_out", 1001-maxSpans); last.Name() != "storage" || !slices.Contains(last.Attributes(), want) {
		t.Errorf("%s has %v, want %v", last.Name(), last.Attributes(), want)
	}
}

// off is what the layers do for a request that is not traced.
func off(ctx context.Context, t *Tracer) {
	ctx, span := t.Begin(ctx, "rpc")
	_, step := span.Step(ctx, "admission")
	step.End(nil)
	span.Set("nodegate.network", "main")
	span.Count("nodegate.calls", 1)
	span.Outcome("ok", true)
	if span.TraceID() != "" {
		panic("a request is traced")
	}
}

// TestOffAllocatesNothing: who doesn't trace doesn't pay for it.
func TestOffAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(1000, func() { off(context.Background(), nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		off(context.Background(), nil)
	}
}
