package account

import (
	"context"
	"fmt"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// AuditReport is what a check of the audit log found.
type AuditReport struct {
	Entries int64
	Head    nodegate.Digest // of the last entry: note it elsewhere, to notice a log that was cut off
	Broken  int64           // the first entry that is not as it was written; 0 when all are
	Why     string
}

const auditPage = 1000

// auditLog reads and verifies the audit log.
type auditLog struct {
	store nodegate.AuditStore
	saver *saver
	vault *credential.Vault
}

// Record writes an entry about something that is not in the account store, such as a remote
// node. Who changes it records that first: what can't be recorded isn't done.
func (l *auditLog) Record(ctx context.Context, actor nodegate.Actor, action, subject string) error {
	return l.saver.save(ctx, actor, func() (*nodegate.Change, error) {
		return &nodegate.Change{Audit: nodegate.AuditEntry{Action: action, Subject: subject}}, nil
	})
}

// Audit lists entries after a number.
func (l *auditLog) Audit(ctx context.Context, after int64, limit int) ([]nodegate.AuditEntry, error) {
	return l.store.Audit(ctx, after, limit)
}

// AuditBefore lists the latest entries before a number, newest first; 0 begins with
// the last one. An account's id selects the entries about it, "" is all.
func (l *auditLog) AuditBefore(ctx context.Context, accountID string, before int64, limit int) ([]nodegate.AuditEntry, error) {
	return l.store.AuditBefore(ctx, accountID, before, limit)
}

// VerifyAudit recomputes the chain of the audit log from its start, and compares its
// length with the number of entries that the store has counted. The log may grow
// meanwhile: it has at least the entries counted before, and at most those counted after.
func (l *auditLog) VerifyAudit(ctx context.Context) (r AuditReport, err error) {
	least, err := l.store.LastAudit(ctx)
	if err != nil {
		return r, err
	}
	if err := l.verifyChain(ctx, &r); err != nil || r.Broken != 0 {
		return r, err
	}
	most, err := l.store.LastAudit(ctx)
	switch {
	case err != nil:
	case r.Entries < least:
		r.Broken, r.Why = r.Entries+1, fmt.Sprintf("the log was truncated at entry %d: the store has counted %d", r.Entries+1, least)
	case r.Entries > most:
		r.Broken, r.Why = most+1, fmt.Sprintf("the log has %d entries, but the store has counted %d", r.Entries, most)
	}
	return r, err
}

// verifyChain reads the log page by page, up to the first entry that is broken.
func (l *auditLog) verifyChain(ctx context.Context, r *AuditReport) error {
	for {
		entries, err := l.store.Audit(ctx, r.Entries, auditPage)
		if err != nil {
			return err
		}
		for i := range entries {
			if r.verify(l.vault, &entries[i]); r.Broken != 0 {
				return nil
			}
		}
		if len(entries) < auditPage {
			return nil
		}
	}
}

func (r *AuditReport) verify(v *credential.Vault, e *nodegate.AuditEntry) {
	if e.Number != r.Entries+1 {
		r.Broken, r.Why = r.Entries+1, fmt.Sprintf("entry %d is missing", r.Entries+1)
		return
	}
	if digest := e.Chain(v.AuditKey(), r.Head); !credential.Equal(digest, e.Digest) {
		r.Broken, r.Why = e.Number, fmt.Sprintf("entry %d, or the one before it, was changed", e.Number)
		return
	}
	r.Entries, r.Head = e.Number, e.Digest
}
