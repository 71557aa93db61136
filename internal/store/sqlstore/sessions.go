package sqlstore

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// SaveSession keeps a new session.
func (s *sessionTable) SaveSession(ctx context.Context, session nodegate.Session) error {
	_, err := s.writeOne(ctx, "saveSession", "account", "INSERT INTO sessions (digest, account, created, expires) VALUES ($1, $2, $3, $4)",
		session.Digest[:], cleaned(session.AccountID), stamp{session.Created}, stamp{session.Expires})
	return err
}

// SessionByDigest returns NotFound for a session that has ended or expired.
func (s *sessionTable) SessionByDigest(ctx context.Context, d nodegate.Digest, now time.Time) (*nodegate.Session, error) {
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
func (s *sessionTable) DeleteSession(ctx context.Context, d nodegate.Digest) error {
	_, err := s.writeOne(ctx, "deleteSession", "session", "DELETE FROM sessions WHERE digest = $1", d[:])
	return err
}

// DeleteSessions ends all sessions of an account, except keep. No session has the
// zero digest, so a zero keep keeps none.
func (s *sessionTable) DeleteSessions(ctx context.Context, accountID string, keep nodegate.Digest) error {
	_, err := s.writeOne(ctx, "deleteSessions", "session", "DELETE FROM sessions WHERE account = $1 AND digest <> $2", cleaned(accountID), keep[:])
	return err
}
