package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
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
			tracer, err := Open(Config{URL: "http://127.0.0.1:1/v1/traces", Sample: c.sample, ClientTraces: c.clients, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			traced := 0
			for range 10 {
				_, span := tracer.Begin(t.Context(), "rpc", c.parent)
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
			if err := tracer.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// off is what the layers do for a request that is not traced.
func off(ctx context.Context, t *Tracer) {
	ctx, span := t.Begin(ctx, "rpc", "")
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
