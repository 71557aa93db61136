package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
)

// SaveSession keeps a new session.
func (s *Store) SaveSession(ctx context.Context, session nodegate.Session) error {
	_, err := s.writeOne(ctx, "saveSession", "account", "INSERT INTO sessions (digest, account, created, expires) VALUES ($1, $2, $3, $4)",
		session.Digest[:], cleaned(session.AccountID), stamp{session.Created}, stamp{session.Expires})
	return err
}

// SessionByDigest returns NotFound for a session that has ended or expired.
func (s *Store) SessionByDigest(ctx context.Context, d nodegate.Digest, now time.Time) (*nodegate.Session, error) {
	var (
		created, expires stamp
		session          = nodegate.Session{Digest: d}
	)
	err := s.one(ctx, "session", "session", "SELECT account, created, expires FROM sessions WHERE digest = $1 AND expires > $2",
		[]any{d[:], now.UnixMicro()}, &session.AccountID, &created, &expires)
	if err != nil {
		return nil, err
	}
	session.Created, session.Expires = created.Time, expires.Time
	return &session, nil
}

// DeleteSession ends a session. One that is not there is no error.
func (s *Store) DeleteSession(ctx context.Context, d nodegate.Digest) error {
	_, err := s.writeOne(ctx, "deleteSession", "session", "DELETE FROM sessions WHERE digest = $1", d[:])
	return err
}

// DeleteSessions ends all sessions of an account, except keep. No session has the
// zero digest, so a zero keep keeps none.
func (s *Store) DeleteSessions(ctx context.Context, accountID string, keep nodegate.Digest) error {
	_, err := s.writeOne(ctx, "deleteSessions", "session", "DELETE FROM sessions WHERE account = $1 AND digest <> $2", cleaned(accountID), keep[:])
	return err
}

// Meta reads the value under a name.
//
// Returns NotFound where there is none.
func (s *Store) Meta(ctx context.Context, name string) (string, error) {
	var have string
	err := s.one(ctx, "meta", "value", readMeta, []any{name}, &have)
	return have, err
}

const readMeta = "SELECT value FROM meta WHERE name = $1"

// SetMeta writes a value where there is none yet, and returns what is there.
func (s *Store) SetMeta(ctx context.Context, name, value string) (string, error) {
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
func (s *Store) ReplaceMeta(ctx context.Context, name, value string) error {
	_, err := s.writeOne(ctx, "replaceMeta", "value", "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
	return err
}
