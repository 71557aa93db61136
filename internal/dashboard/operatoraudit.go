package dashboard

import (
	"context"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

// auditData is a page of the audit log, newest first.
type auditData struct {
	Entries []nodegate.AuditEntry
	Before  int64                // the number that the next page begins before; 0 on the last page
	Report  *account.AuditReport // of a check that was asked for
	Head    string               // of the report
}

func auditPage(v *visit) error { return showAudit(v, nil) }

func showAudit(v *visit, r *account.AuditReport) error {
	before, err := strconv.ParseInt(v.req.FormValue("before"), 10, 64)
	if err != nil || before < 0 {
		before = 0
	}
	list, err := v.cfg.Accounts.AuditBefore(v.req.Context(), "", before, pageSize+1)
	if err != nil {
		return err
	}
	d := auditData{Entries: list, Report: r}
	if len(list) > pageSize {
		d.Entries = list[:pageSize]
		d.Before = d.Entries[pageSize-1].Number
	}
	if r != nil {
		d.Head = hex.EncodeToString(r.Head[:])
	}
	return v.show("operator-audit", d)
}

// verifyTime bounds the check: it reads the whole log.
const verifyTime = time.Minute

// verifyAudit is a POST though it changes nothing: nobody should start it by a link.
func verifyAudit(v *visit) error {
	ctx, cancel := context.WithTimeout(v.req.Context(), verifyTime)
	defer cancel()
	r, err := v.cfg.Accounts.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	return showAudit(v, &r)
}
