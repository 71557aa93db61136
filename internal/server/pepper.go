package server

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
)

// pepperMeta is the name under which the store keeps what identifies its pepper.
const pepperMeta = "pepper"

// hasPepper tells whether there is a pepper to read.
func hasPepper(cfg *config.Config) bool {
	return cfg.Pepper != "" || credential.HasPepper(cfg.Data)
}

// openVault reads the pepper and checks that it is the one the store was made with: with
// another one no key would work, and new ones would work on this server only. Where there
// is none and the store was made with one, it makes none: a new one would fit nothing in
// that store, and it would stand where the old one has to be restored.
//
// Returns BadConfig.
func openVault(ctx context.Context, cfg *config.Config, store nodegate.MetaStore) (*credential.Vault, error) {
	known, err := store.Meta(ctx, pepperMeta)
	if err != nil && !errors.Is(err, nodegate.NotFound) {
		return nil, err
	}
	if known != "" && !hasPepper(cfg) {
		return nil, &nodegate.Error{Op: "server.control", Code: nodegate.BadConfig, Msg: "the file " + filepath.Join(cfg.Data, "pepper") + " is missing, and the account store was made with it: restore it from a backup or copy it from another server of the same store (or set NODEGATE_PEPPER); without it no API key works"}
	}
	text, err := credential.Pepper(cfg.Data, string(cfg.Pepper))
	if err != nil {
		return nil, err
	}
	if known == "" {
		first, err := credential.Unlock(text, "")
		if err != nil {
			return nil, err
		}
		if known, err = store.SetMeta(ctx, pepperMeta, first.Check()); err != nil { // another server may be first
			return nil, err
		}
	}
	v, err := credential.Unlock(text, known)
	if err == nil && v.Check() != known {
		err = &nodegate.Error{Op: "server.control", Code: nodegate.BadConfig, Msg: "the pepper is not the one that the account store was made with: use the same on all servers (the file pepper in the data folder, or its 64 hex digits in NODEGATE_PEPPER)"}
	}
	return v, err
}
