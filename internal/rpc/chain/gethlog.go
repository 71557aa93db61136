package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/ethereum/go-ethereum/log"
)

// RouteLogs sends go-ethereum's warnings and errors to our log. What it calls critical
// would end the process inside go-ethereum: here it stops the network whose folder it
// names, or all embedded networks where it names none. Before a network is served it ends
// the process, with the exit code of unusable data.
func RouteLogs(to *slog.Logger) {
	before := slog.Default() // SetDefault takes the standard logger along
	log.SetDefault(log.NewLogger(&gethHandler{to: to}))
	slog.SetDefault(before)
}

// exitUnusable is the exit code of a configuration or data folder that can't be used.
const exitUnusable = 2

type gethHandler struct {
	to    *slog.Logger
	attrs []slog.Attr
}

func (h *gethHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= log.LevelWarn
}

func (h *gethHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= log.LevelCrit {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool { text += fmt.Sprintf(" %s=%v", a.Key, a.Value); return true })
		if faults.stop(text, errors.New(text)) {
			park()
		}
		fmt.Fprintln(os.Stderr, "nodegate: the chain database can't be used:", text)
		os.Exit(exitUnusable)
	}
	level := slog.LevelDebug // its warnings are about peers and sync, which there are none of
	if r.Level >= log.LevelError {
		level = slog.LevelWarn
	}
	attrs := append([]slog.Attr{}, h.attrs...)
	r.Attrs(func(a slog.Attr) bool { attrs = append(attrs, a); return true })
	h.to.LogAttrs(ctx, level, "go-ethereum: "+r.Message, attrs...)
	return nil
}

func (h *gethHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &gethHandler{to: h.to, attrs: append(append([]slog.Attr{}, h.attrs...), attrs...)}
}

func (h *gethHandler) WithGroup(string) slog.Handler { return h }
