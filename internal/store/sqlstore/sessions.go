package sqlstore

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// SaveSession keeps a new session.
func (s *sessionTable) SaveSession(ctx context.Context, session nodegate.Session) error {
	_, err := s.writeOne(ctx, "saveSession", "account", "INSERT INTO sessions (digest, account, created, expires, origin, agent) VALUES ($1, $2, $3, $4, $5, $6)",
		session.Digest[:], cleaned(session.AccountID), stamp{session.Created}, stamp{session.Expires}, cleaned(session.From), cleaned(session.Agent))
	return err
}

// SessionByDigest returns NotFound for a session that has ended or expired.
func (s *sessionTable) SessionByDigest(ctx context.Context, d nodegate.Digest, now time.Time) (*nodegate.Session, error) {
	list, err := s.sessions(ctx, "digest = $1 AND expires > $2", d[:], now.UnixMicro())
	if err == nil && len(list) == 0 {
		return nil, notFound("session", "session")
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// SessionsOf lists the newest sessions of an account that have not expired, newest first. A
// client that signs in again and again doesn't make the list endless.
func (s *sessionTable) SessionsOf(ctx context.Context, accountID string, now time.Time) ([]nodegate.Session, error) {
	return s.sessions(ctx, "account = $1 AND expires > $2 ORDER BY created DESC, digest LIMIT 100", cleaned(accountID), now.UnixMicro())
}

func (s *sessionTable) sessions(ctx context.Context, where string, args ...any) (list []nodegate.Session, err error) {
	err = s.each(ctx, "session", "session", "SELECT digest, account, created, expires, origin, agent FROM sessions WHERE "+where, args, func(row scan) error {
		var (
			session          nodegate.Session
			created, expires stamp
		)
		err := row(digest{&session.Digest}, &session.AccountID, &created, &expires, &session.From, &session.Agent)
		session.Created, session.Expires = created.Time, expires.Time
		list = append(list, session)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
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
