package obs

import (
	"errors"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/nodegate/nodegate"
)

// AdminHandler serves metrics, health and profiles. It belongs on a listener that
// is never public.
func AdminHandler(m *Metrics, ready func(part string) error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.Handle("GET /readyz", Ready(ready))
	mux.Handle("GET /readyz/{part}", Ready(ready))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// Ready answers /readyz, which is about the whole server, and /readyz/<part>, which is
// about one network or storage: `ok`, or 503 with the reason. A part that doesn't exist,
// which ready says by NotFound, is 404.
func Ready(ready func(part string) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		part := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, "/readyz"), "/")
		err := ready(part)
		switch {
		case errors.Is(err, nodegate.NotFound):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			_, _ = io.WriteString(w, "ok")
		}
	})
}
