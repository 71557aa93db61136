package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// EachPin hands the pins of an account to each, until it says no. Pins of the embedded engine
// belong to the server while it runs: ask its admin listener then.
func EachPin(ctx context.Context, cfg *config.Config, c *Control, log *slog.Logger, accountID string, each func(nodegate.Pin) bool) (err error) {
	if cfg.Storage.Engine == "off" || cfg.Storage.Engine == "embedded" && !has(cfg.Data, "storage") {
		return nil
	}
	e, err := openEngine(ctx, cfg, c.Store, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Pins(ctx, accountID, each)
}

// pinsNow is the admin listener's POST /storage/pins: the pins of an account, a line of JSON
// each. It is a POST because it shows what belongs to a user.
func (s *storageSide) pinsNow(w http.ResponseWriter, req *http.Request) {
	if s.engine == nil {
		http.Error(w, "the storage gateway is off", http.StatusMethodNotAllowed)
		return
	}
	query := req.URL.Query()
	if data := query.Get("data"); !sameFolder(data, s.cfg.Data) {
		own, _ := filepath.Abs(s.cfg.Data)
		http.Error(w, own, http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	var sending error
	err := s.engine.Pins(req.Context(), query.Get("account"), func(p nodegate.Pin) bool {
		sending = lines.Encode(p)
		return sending == nil
	})
	if err != nil || sending != nil {
		panic(http.ErrAbortHandler) // a part must not pass for the whole
	}
}
