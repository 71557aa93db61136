package edge

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/obs"
)

// The log of requests holds no parameters and no keys: what a client could put
// into a line are names that we know.

// logAnswer writes the line of an answered body. A WebSocket's messages have
// neither a status nor an id.
func (x *exchange) logAnswer(id string, status int, err error) {
	if !x.edge.cfg.LogRequests {
		return
	}
	attrs := append(make([]slog.Attr, 0, 13), slog.String("network", x.network.Name), slog.String("method", methodLabel(x)))
	if x.scan.Batch {
		attrs = append(attrs, slog.Int("calls", len(x.calls)), slog.Int("failed", x.failed))
	}
	attrs = append(attrs, slog.String("outcome", outcomeLabel(x, err)))
	if x.socket == nil {
		attrs = append(attrs, slog.Int("status", status), slog.String("id", id))
	}
	if len(x.traces) > 0 {
		attrs = append(attrs, slog.String("cache", string(appendCache(nil, x))))
		if text := appendVerified(nil, x); len(text) > 0 {
			attrs = append(attrs, slog.String("verified", string(text)))
		}
		if !x.scan.Batch {
			attrs = append(attrs, slog.String("node", x.traces[0].Node), slog.Duration("waited", x.traces[0].Waited.Round(time.Microsecond)))
		}
	}
	attrs = append(attrs, slog.Duration("took", x.took.Round(time.Microsecond)))
	if x.span != nil {
		attrs = append(attrs, slog.String("trace", "0x"+x.span.TraceID())) // bare it would look like a key
	}
	x.edge.cfg.Log.LogAttrs(context.Background(), slog.LevelInfo, "request", attrs...)
}

func methodLabel(x *exchange) string {
	switch {
	case x.scan.Batch:
		return "batch"
	case len(x.calls) == 1:
		return x.calls[0].method.counted
	}
	return obs.Other
}

// outcomeLabel is ok or the name of the error; a batch is ok as a whole when it
// was admitted.
func outcomeLabel(x *exchange, err error) string {
	switch {
	case err != nil:
		return nodegate.AsError(err).Code.String()
	case x.failed > 0 && (!x.scan.Batch || len(x.calls) == 0):
		return nodegate.InvalidRequest.String()
	}
	return "ok"
}

// logRefusal writes the line of what was not admitted.
func (e *Edge) logRefusal(r route, id string, status int, err error) {
	if !e.cfg.LogRequests {
		return
	}
	name := ""
	if n, ok := e.site.Load().networks[r.network]; ok {
		name = n.Name
	}
	e.cfg.Log.LogAttrs(context.Background(), slog.LevelInfo, "request",
		slog.String("network", name), slog.String("outcome", nodegate.AsError(err).Code.String()),
		slog.String("status", strconv.Itoa(status)), slog.String("id", id))
}
