package account

import (
	"context"
	"fmt"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/vault"
)

// AuditReport is what a check of the audit log found.
type AuditReport struct {
	Entries int64
	Head    nodegate.Digest // of the last entry: note it elsewhere, to notice a log that was cut off
	Broken  int64           // the first entry that is not as it was written; 0 when all are
	Why     string
}

const auditPage = 1000

// Audit lists entries after a number.
func (s *Service) Audit(ctx context.Context, after int64, limit int) ([]nodegate.AuditEntry, error) {
	return s.cfg.Store.Audit(ctx, after, limit)
}

// AuditBefore lists the latest entries before a number, newest first; 0 begins with
// the last one. An account's id selects the entries about it, "" is all.
func (s *Service) AuditBefore(ctx context.Context, accountID string, before int64, limit int) ([]nodegate.AuditEntry, error) {
	return s.cfg.Store.AuditBefore(ctx, accountID, before, limit)
}

// VerifyAudit recomputes the chain of the audit log from its begin.
func (s *Service) VerifyAudit(ctx context.Context) (r AuditReport, err error) {
	for {
		entries, err := s.cfg.Store.Audit(ctx, r.Entries, auditPage)
		if err != nil {
			return r, err
		}
		for i := range entries {
			if r.verify(s.cfg.Vault, &entries[i]); r.Broken != 0 {
				return r, nil
			}
		}
		if len(entries) < auditPage {
			return r, nil
		}
	}
}

func (r *AuditReport) verify(v *vault.Vault, e *nodegate.AuditEntry) {
	if e.Number != r.Entries+1 {
		r.Broken, r.Why = r.Entries+1, fmt.Sprintf("entry %d is missing", r.Entries+1)
		return
	}
	if digest := e.Chain(v.AuditKey(), r.Head); !vault.Equal(digest, e.Digest) {
		r.Broken, r.Why = e.Number, fmt.Sprintf("entry %d, or the one before it, was changed", e.Number)
		return
	}
	r.Entries, r.Head = e.Number, e.Digest
}
