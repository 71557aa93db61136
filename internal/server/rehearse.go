package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// RehearsalReport says what the first start of this version would change.
type RehearsalReport struct {
	Data     string `json:"data"`
	Format   int    `json:"format"`     // of the data folder
	FormatTo int    `json:"new_format"` // after a start
	Database string `json:"database"`
	Tables   int    `json:"tables"` // the number of the account store's tables
	TablesTo int    `json:"new_tables"`
	// Tried tells that the tables of a copy were brought up to date.
	Tried   bool     `json:"tried"`
	Bytes   int64    `json:"bytes"`
	Seconds float64  `json:"seconds"`
	Notes   []string `json:"notes"`
}

// Changes tells whether a start would change the format of anything.
func (r *RehearsalReport) Changes() bool { return r.Tables != r.TablesTo || r.Format != r.FormatTo }

// Rehearse does what a start would do to the data's format, on a copy, and changes
// nothing. A server may run.
//
// Returns BadConfig where a start would be refused.
func Rehearse(ctx context.Context, cfg *config.Config, log *slog.Logger) (*RehearsalReport, error) {
	if err := checkFolder(cfg); err != nil {
		return nil, err
	}
	r := &RehearsalReport{Data: cfg.Data, FormatTo: folderFormat, Notes: []string{}}
	var err error
	if r.Format, err = readFormat(cfg.Data); err != nil {
		return nil, err
	}
	if cfg.Store.Postgres != "" {
		return r, r.postgres(ctx, cfg)
	}
	return r, r.sqlite(ctx, cfg, log)
}

// sqlite rehearses on a copy.
func (r *RehearsalReport) sqlite(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	r.Database = "sqlite"
	path := filepath.Join(cfg.Data, storeFile)
	if !has(cfg.Data, storeFile) {
		r.Notes = append(r.Notes, "there is no database yet: a start creates it")
		return nil
	}
	tried, err := sqlstore.RehearseSQLite(ctx, path, log)
	r.Tables, r.TablesTo, r.Tried, r.Bytes, r.Seconds = tried.Have, tried.Newest, tried.Tried, tried.Bytes, tried.Took.Seconds()
	return err
}

// postgres only looks: steps that were tried in a transaction would lock the tables of
// servers that run.
func (r *RehearsalReport) postgres(ctx context.Context, cfg *config.Config) error {
	r.Database = "postgres"
	i, err := sqlstore.InspectPostgres(ctx, string(cfg.Store.Postgres))
	if err != nil {
		return err
	}
	if r.Tables, r.TablesTo = i.Tables, i.Newest; i.Tables > i.Newest {
		return &nodegate.Error{Op: "server.rehearse", Code: nodegate.BadConfig, Msg: fmt.Sprintf("the database is of a newer nodegate: its tables have number %d and this one knows %d", i.Tables, i.Newest)}
	}
	if i.Tables < i.Newest {
		r.Notes = append(r.Notes, "the steps were not tried, because that would lock the tables: restore a dump into another database and start this version on it")
	}
	return nil
}
