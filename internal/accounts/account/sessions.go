package account

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/nodegate/nodegate"
)

// SessionInfo is one place where somebody is signed in.
type SessionInfo struct {
	ID               string // names the session without being its token
	Created, Expires time.Time
	From, Agent      string // the client's address and its User-Agent header, at the sign-in
	Here             bool   // it is the session that asks
}

// sessionID is a part of what the store knows a session by. Nobody gets in with it.
func sessionID(d nodegate.Digest) string { return hex.EncodeToString(d[:8]) }

// Sessions lists the sessions of the account that a token belongs to, newest first.
//
// Returns NotFound for a token that has ended.
func (s *signIns) Sessions(ctx context.Context, token string) ([]SessionInfo, error) {
	a, err := s.Session(ctx, token)
	if err != nil {
		return nil, err
	}
	sessions, err := s.store.SessionsOf(ctx, a.ID, now())
	here := s.vault.TokenDigest(token)
	var list []SessionInfo
	for _, one := range sessions {
		list = append(list, SessionInfo{ID: sessionID(one.Digest), Created: one.Created, Expires: one.Expires, From: one.From, Agent: one.Agent, Here: one.Digest == here})
	}
	return list, err
}

// EndSession ends one session of the account that a token belongs to.
//
// Returns NotFound for a token or a session that has ended, and for a session of another
// account.
func (s *signIns) EndSession(ctx context.Context, actor nodegate.Actor, token, id string) error {
	a, err := s.Session(ctx, token)
	if err != nil {
		return err
	}
	sessions, err := s.store.SessionsOf(ctx, a.ID, now())
	if err != nil {
		return err
	}
	for _, one := range sessions {
		if sessionID(one.Digest) != id {
			continue
		}
		if err := s.recordEnd(ctx, actor, a.ID, "one session"); err != nil {
			return err
		}
		return s.store.DeleteSession(ctx, one.Digest)
	}
	return &nodegate.Error{Op: "account.session", Code: nodegate.NotFound, Msg: "there is no such session: it may have ended already"}
}

// EndSessions ends all sessions of an account.
//
// Returns NotFound.
func (s *signIns) EndSessions(ctx context.Context, actor nodegate.Actor, accountID string) error {
	if _, err := s.store.Account(ctx, accountID); err != nil {
		return err
	}
	if err := s.recordEnd(ctx, actor, accountID, "all sessions"); err != nil {
		return err
	}
	return s.store.DeleteSessions(context.WithoutCancel(ctx), accountID, nodegate.Digest{})
}

func (s *signIns) recordEnd(ctx context.Context, actor nodegate.Actor, accountID, what string) error {
	return s.saver.save(ctx, actor, func() (*nodegate.Change, error) {
		return &nodegate.Change{Audit: nodegate.AuditEntry{Action: "account.signout", AccountID: accountID, Subject: accountID, Detail: what}}, nil
	})
}
