package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// maxAdminAnswer bounds what is read of the admin listener's answer.
const maxAdminAnswer = 1 << 20

// askAdmin sends a request without a body to the admin listener of the running server.
func askAdmin(ctx context.Context, cfg *config.Config, verb, path string) (status int, body []byte, err error) {
	res, err := openAdmin(ctx, cfg, verb, path)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAdminAnswer))
	return res.StatusCode, body, err
}

// openAdmin is askAdmin for an answer that is read as it comes.
func openAdmin(ctx context.Context, cfg *config.Config, verb, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, verb, "http://"+adminHost(cfg.AdminListen)+path, nil)
	if err != nil {
		return nil, err
	}
	if cfg.Admin.Token != "" {
		req.Header.Set("Authorization", "Bearer "+string(cfg.Admin.Token))
	}
	return http.DefaultClient.Do(req)
}

// needAdmin is askAdmin for what only a running server can do.
func needAdmin(ctx context.Context, cfg *config.Config, verb, path string) ([]byte, error) {
	status, body, err := askAdmin(ctx, cfg, verb, path)
	text := safe(strings.TrimSpace(string(body)))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, &nodegate.Error{Code: nodegate.NotFound, Msg: "no server runs at " + adminHost(cfg.AdminListen) + ": start it, or name its admin listener with --admin-listen"}
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return nil, &nodegate.Error{Code: nodegate.NotFound, Msg: text}
	case status != http.StatusOK:
		return nil, &nodegate.Error{Code: nodegate.Busy, Msg: "the server answers: " + text}
	}
	return body, nil
}

// showAdmin asks the running server for a page of JSON and shows it, or prints it as it is.
func showAdmin[T any](a *app, path string, asJSON bool, show func(T) error) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	body, err := needAdmin(a.ctx, cfg, http.MethodGet, path)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, json.RawMessage(body))
	}
	var page T
	if err := json.Unmarshal(body, &page); err != nil {
		return err
	}
	return show(page)
}

// adminHost is the admin listener as this machine reaches it: an address without a host
// listens everywhere.
func adminHost(listen string) string {
	if host, port, err := net.SplitHostPort(listen); err == nil && host == "" {
		return net.JoinHostPort("localhost", port)
	}
	return listen
}
