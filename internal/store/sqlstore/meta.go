package sqlstore

import (
	"context"
	"errors"

	"github.com/nodegate/nodegate"
)

// Meta reads the value under a name.
//
// Returns NotFound where there is none.
func (s *metaTable) Meta(ctx context.Context, name string) (string, error) {
	var have string
	err := s.one(ctx, "meta", "value", readMeta, []any{name}, &have)
	return have, err
}

const readMeta = "SELECT value FROM meta WHERE name = $1"

// SetMeta writes a value where there is none yet, and returns what is there.
func (s *metaTable) SetMeta(ctx context.Context, name, value string) (string, error) {
	var have string
	err := s.one(ctx, "setMeta", "value", readMeta, []any{name}, &have)
	if !errors.Is(err, nodegate.NotFound) {
		return have, err
	}
	err = s.write(ctx, "setMeta", "value", func(t *tx) error {
		if _, err := t.exec("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, value); err != nil {
			return err
		}
		return t.queryRow(readMeta, []any{name}, &have)
	})
	return have, err
}

// ReplaceMeta writes a value under a name, whatever was there.
func (s *metaTable) ReplaceMeta(ctx context.Context, name, value string) error {
	_, err := s.writeOne(ctx, "replaceMeta", "value", "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
	return err
}

// DeleteMeta removes what is under a name. Nothing there is no error.
func (s *metaTable) DeleteMeta(ctx context.Context, name string) error {
	_, err := s.writeOne(ctx, "deleteMeta", "value", "DELETE FROM meta WHERE name = $1", name)
	return err
}
