package kubo_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/tracing"
)

// TestTraceparent: a node gets the trace of a request that is traced, if it may.
func TestTraceparent(t *testing.T) {
	tracer, err := tracing.Open(tracing.Config{URL: "http://127.0.0.1:1/v1/traces", Sample: 100, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close(t.Context()) }) // nobody takes its spans
	const content = "what was stored"
	for _, c := range []struct{ shown, traced bool }{{true, true}, {false, true}, {true, false}} {
		node := newRogue(t)
		node.endpoint.Traceparent = c.shown
		engine := open(t, nil, node.endpoint)
		id := mustStore(t, engine, "a", content)
		got := make(chan string, 100)
		node.on("block/get", func(w http.ResponseWriter, req *http.Request) {
			got <- req.Header.Get("Traceparent")
			says(http.StatusOK, "application/vnd.ipld.raw", content)(w, req)
		})
		ctx, trace := t.Context(), "nothing"
		if c.traced {
			begun, span := tracer.Begin(ctx, "storage")
			ctx, trace = begun, span.TraceID()
		}
		if _, err := engine.Get(ctx, id); err != nil {
			t.Fatal(err)
		}
		if parent := <-got; strings.HasPrefix(parent, "00-"+trace+"-") != (c.shown && c.traced) || (parent != "") != (c.shown && c.traced) {
			t.Errorf("%+v: the node got %q, the trace is %s", c, parent, trace)
		}
	}
}
