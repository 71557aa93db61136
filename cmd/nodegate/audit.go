package main

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/nodegate/nodegate"
)

// auditCmd are the commands about the audit log.
type auditCmd struct {
	List   auditList   `cmd:"" help:"List the entries: who changed what."`
	Verify auditVerify `cmd:"" help:"Check that no entry was changed or removed."`
}

type auditList struct {
	After int64 `placeholder:"N" help:"Start after this entry number."`
	JSON  bool  `name:"json" help:"Print JSON."`
}

// Run prints one entry a line.
func (cmd *auditList) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		list := newLister(a.stdout, cmd.JSON, "NUMBER", "AT", "ACTOR", "FROM", "ACTION", "ACCOUNT", "SUBJECT", "DETAIL")
		for after := cmd.After; ; {
			entries, err := c.Accounts.Audit(a.ctx, after, page)
			if err != nil {
				return err
			}
			for _, e := range entries {
				after = e.Number
				if err := list.add(auditView{e, hex.EncodeToString(e.Digest[:])}, strconv.FormatInt(e.Number, 10), at(e.At), e.Actor, e.From, e.Action, e.AccountID, e.Subject, e.Detail); err != nil {
					return err
				}
			}
			if len(entries) < page {
				return list.end()
			}
			if err := list.flush(); err != nil {
				return err
			}
		}
	})
}

// auditView is an entry in JSON, with its digest.
type auditView struct {
	nodegate.AuditEntry
	Hex string `json:"digest"`
}

type auditVerify struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints what is whole, and fails where something is not.
func (cmd *auditVerify) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		r, err := c.Accounts.VerifyAudit(a.ctx)
		if err != nil {
			return err
		}
		head := hex.EncodeToString(r.Head[:])
		if cmd.JSON {
			err = writeJSON(a.stdout, struct {
				Whole   bool   `json:"whole"`
				Entries int64  `json:"entries"` // that are whole
				Head    string `json:"head"`
				Broken  int64  `json:"broken,omitempty"`
				Why     string `json:"why,omitempty"`
			}{r.Broken == 0, r.Entries, head, r.Broken, r.Why})
		} else {
			verdict := "OK"
			if r.Broken != 0 {
				verdict = "MODIFIED"
			}
			_, err = fmt.Fprintf(a.stdout, "%s: %d entries verified\nlast digest: %s\n", verdict, r.Entries, head)
		}
		if err == nil && r.Broken != 0 {
			err = fmt.Errorf("the audit log was modified: %s; compare it with a backup", r.Why)
		}
		return err
	})
}
