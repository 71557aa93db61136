package server

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
)

// pepperMeta is the name under which the store keeps what identifies its pepper.
const pepperMeta = "pepper"

// mayMakePepper refuses where the pepper is missing but the store was made with one.
// A new pepper would fit nothing in that store, and it would stand where the old one
// has to be restored.
//
// Returns BadConfig.
func mayMakePepper(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	if cfg.Pepper != "" || credential.HasPepper(cfg.Data) {
		return nil
	}
	if cfg.Store.Postgres == "" && !has(cfg.Data, storeFile) {
		return nil
	}
	store, err := openStore(ctx, cfg, nil, log) // without a key: nothing is written with it
	if err != nil {
		return err
	}
	_, err = store.Meta(ctx, pepperMeta)
	if err = errors.Join(err, store.Close()); errors.Is(err, nodegate.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &nodegate.Error{Op: "server.control", Code: nodegate.BadConfig, Msg: "the file " + filepath.Join(cfg.Data, "pepper") + " is missing, and the account store was made with it: restore it from a backup or copy it from another server of the same store (or set NODEGATE_PEPPER); without it no API key works"}
}
