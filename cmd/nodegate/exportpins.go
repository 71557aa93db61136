package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// eachPin hands the pins of an account to each, until it says no. With the embedded engine
// they belong to the server while it runs.
func (c *control) eachPin(accountID string, each func(nodegate.Pin) bool) error {
	if c.cfg.Storage.Engine == "embedded" {
		if err := c.askPins(accountID, each); !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
	}
	log := obs.NewLogger(c.app.stderr, c.cfg.Log.Format, max(logLevel(c.cfg.Log.Level), slog.LevelWarn))
	return server.EachPin(c.app.ctx, c.cfg, c.Control, log, accountID, each)
}

// askPins asks the running server. It names the data folder, so that a server with another one
// refuses.
func (c *control) askPins(accountID string, each func(nodegate.Pin) bool) error {
	data, err := filepath.Abs(c.cfg.Data)
	if err != nil {
		return err
	}
	query := url.Values{"account": {accountID}, "data": {data}}
	res, err := openAdmin(c.app.ctx, c.cfg, http.MethodPost, "/storage/pins?"+query.Encode())
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return refusedPins(c, res, data)
	}
	for lines := json.NewDecoder(res.Body); ; {
		var p nodegate.Pin
		if err := lines.Decode(&p); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if !each(p) {
			return nil
		}
	}
}

func refusedPins(c *control, res *http.Response, data string) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxAdminAnswer))
	text, host := safe(strings.TrimSpace(string(body))), adminHost(c.cfg.AdminListen)
	if res.StatusCode == http.StatusConflict {
		return &nodegate.Error{Code: nodegate.BadConfig, Msg: "the server at " + host + " uses the data folder " + text + ", not " + safe(data) + ": name its own server with --admin-listen, or stop this one"}
	}
	return &nodegate.Error{Code: nodegate.Busy, Msg: "the server at " + host + " answers: " + text}
}
