package server

import (
	"errors"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// checkFolder refuses a used data folder of which a part is missing. Each part would be
// created again, empty, beside others that belong to the old one.
func checkFolder(cfg *config.Config) error {
	if err := errors.Join(checkRestored(cfg), checkFormat(cfg)); err != nil {
		return err
	}
	have := func(name string) bool { return has(cfg.Data, name) }
	sqlite := cfg.Store.Postgres == ""
	switch {
	case sqlite && !have(storeFile) && (have("networks") || have("storage") || have(storeFile+"-wal")):
		return missingPart(filepath.Join(cfg.Data, storeFile), "it holds the accounts and keys. If they were in Postgres, set store.postgres again")
	case !have("ca.pem") && have("ca-key.pem"):
		return missingPart(filepath.Join(cfg.Data, "ca.pem"), "clients trust this certificate. To create a new one, remove ca-key.pem too")
	}
	return nil
}

func missingPart(path, why string) error {
	return &nodegate.Error{Op: "server.folder", Code: nodegate.BadConfig,
		Msg: path + " is missing although the data folder was used before: restore it from a backup, or choose an empty folder with --data; " + why}
}
