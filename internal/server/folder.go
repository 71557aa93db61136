package server

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
)

// HasData tells whether a server has ever used the configured data folder. Commands
// that only read or maintain data refuse any other folder, so that a wrong --data is
// an error and not a new, empty folder.
func HasData(cfg *config.Config) bool {
	return has(cfg.Data, storeFile) || has(cfg.Data, lockFile) || credential.HasPepper(cfg.Data)
}

// HasStore tells whether the account store can be opened without making anything:
// the SQLite file is there, or for Postgres the pepper is.
func HasStore(cfg *config.Config) bool {
	if cfg.Store.Postgres != "" {
		return cfg.Pepper != "" || credential.HasPepper(cfg.Data)
	}
	return has(cfg.Data, storeFile)
}

// has counts a file that can't be looked at: whoever opens it says why.
func has(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return !errors.Is(err, os.ErrNotExist)
}

// sameFolder tells whether two names are of the same folder. One that doesn't exist is
// no other's.
func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
