package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/nodegate/nodegate"
)

// SetAuditKey gives the audit log's chain its HMAC key, where it was not known when the
// store was opened. Nothing may be using the store yet.
func (s *Store) SetAuditKey(key []byte) { s.auditKey = key }

// addAudit appends an entry that has its number to the chain. Triggers keep
// entries from being changed or deleted by accident, the chain shows who did so
// with intent.
func (t *tx) addAudit(e *nodegate.AuditEntry, key []byte) error {
	var before nodegate.Digest // zero before the first, or where somebody took the last away
	err := t.queryRow("SELECT digest FROM audit WHERE number = $1", []any{e.Number - 1}, digest{&before})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	e.Digest = e.Chain(key, before)
	_, err = t.exec(`INSERT INTO audit (number, at, actor, origin, action, account, subject, detail, digest)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		e.Number, stamp{e.At}, e.Actor, e.From, e.Action, e.AccountID, e.Subject, e.Detail, e.Digest[:])
	return err
}

// Audit lists entries after a number.
func (s *auditTable) Audit(ctx context.Context, after int64, limit int) ([]nodegate.AuditEntry, error) {
	return s.audit(ctx, "number > $1 ORDER BY number LIMIT $2", after, max(limit, 0))
}

// LastAudit is the number of the newest entry that was written, by the table that
// numbers them: it shows entries that were cut off at the end.
func (s *auditTable) LastAudit(ctx context.Context) (int64, error) {
	var last int64
	err := s.one(ctx, "lastAudit", "audit entry", "SELECT audit FROM sequences", nil, &last)
	return last, err
}

// AuditBefore lists the latest entries before a number, newest first.
func (s *auditTable) AuditBefore(ctx context.Context, accountID string, before int64, limit int) ([]nodegate.AuditEntry, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	if accountID == "" {
		return s.audit(ctx, "number < $1 ORDER BY number DESC LIMIT $2", before, max(limit, 0))
	}
	return s.audit(ctx, "account = $1 AND number < $2 ORDER BY number DESC LIMIT $3", cleaned(accountID), before, max(limit, 0))
}

func (s *auditTable) audit(ctx context.Context, where string, args ...any) ([]nodegate.AuditEntry, error) {
	var list []nodegate.AuditEntry
	err := s.each(ctx, "audit", "audit entry", `SELECT number, at, actor, origin, action, account, subject, detail, digest
		FROM audit WHERE `+where, args, func(row scan) error {
		var (
			e  nodegate.AuditEntry
			at stamp
		)
		err := row(&e.Number, &at, &e.Actor, &e.From, &e.Action, &e.AccountID, &e.Subject, &e.Detail, digest{&e.Digest})
		e.At = at.Time
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
