package account

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// Export is all that is kept about an account, without what would let anybody in.
type Export struct {
	Exported time.Time         `json:"exported"`
	Account  ExportedAccount   `json:"account"`
	Card     *ExportedCard     `json:"card"`
	Keys     []ExportedKey     `json:"keys"`
	Sessions []ExportedSession `json:"sessions"`
	Usage    []ExportedDay     `json:"usage"`
	Audit    []ExportedEntry   `json:"audit"`
}

// ExportedAccount is the account itself.
type ExportedAccount struct {
	ID          string    `json:"id"`
	Email       string    `json:"email"`
	Verified    bool      `json:"verified"`
	Plan        string    `json:"plan"`
	Operator    bool      `json:"operator"`
	Development bool      `json:"development"`
	Created     time.Time `json:"created"`
}

// ExportedCard is what is kept of a billing card.
type ExportedCard struct {
	Brand    string `json:"brand"`
	LastFour string `json:"last_four"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
}

// ExportedKey is a key by its first four digits.
type ExportedKey struct {
	ID       string               `json:"id"`
	Name     string               `json:"name"`
	Prefix   string               `json:"prefix"`
	Settings nodegate.KeySettings `json:"settings"`
	Created  time.Time            `json:"created"`
	Revoked  *time.Time           `json:"revoked"`
}

// ExportedSession is one place where somebody is signed in.
type ExportedSession struct {
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	From    string    `json:"from"`
	Agent   string    `json:"user_agent"`
}

// ExportedDay is the usage of a day.
type ExportedDay struct {
	Day      string `json:"day"`
	Requests int64  `json:"requests"`
	Credits  int64  `json:"credits"`
}

// ExportedEntry is an entry of the audit log about the account.
type ExportedEntry struct {
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	From    string    `json:"from"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	Detail  string    `json:"detail"`
}

// ExportedPin is a pin of the account.
type ExportedPin struct {
	CID       string    `json:"cid"`
	Name      string    `json:"name"`
	Recursive bool      `json:"recursive"`
	Size      int64     `json:"size"`
	Created   time.Time `json:"created"`
}

// exports tell accounts what is kept about them.
type exports struct{ store Store }

// Export collects all that is kept about an account. Its pins are not in the account store:
// see WriteExport.
//
// Returns NotFound.
func (s *exports) Export(ctx context.Context, accountID string) (*Export, error) {
	a, err := s.store.Account(ctx, accountID)
	if err != nil {
		return nil, err
	}
	e := &Export{Exported: now(), Account: ExportedAccount{a.ID, a.Email, !a.Unverified, a.Plan, a.Operator, a.Development, a.Created}}
	if c := a.Card; c != nil {
		e.Card = &ExportedCard{c.Brand, c.LastFour, c.ExpMonth, c.ExpYear}
	}
	for _, add := range []func(context.Context, *Export) error{s.addKeys, s.addSessions, s.addUsage, s.addAudit} {
		if err := add(ctx, e); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (s *exports) addKeys(ctx context.Context, e *Export) error {
	keys, err := s.store.KeysOf(ctx, e.Account.ID)
	for _, k := range keys {
		one := ExportedKey{ID: k.ID, Name: k.Name, Settings: k.Settings, Created: k.Created}
		if len(k.Values) > 0 {
			one.Prefix = k.Values[0].Prefix
		}
		if !k.Live() {
			one.Revoked = &k.Revoked
		}
		e.Keys = append(e.Keys, one)
	}
	return err
}

func (s *exports) addSessions(ctx context.Context, e *Export) error {
	list, err := s.store.SessionsOf(ctx, e.Account.ID, now())
	for _, one := range list {
		e.Sessions = append(e.Sessions, ExportedSession{one.Created, one.Expires, one.From, one.Agent})
	}
	return err
}

func (s *exports) addUsage(ctx context.Context, e *Export) error {
	days, err := s.store.UsageByDay(ctx, e.Account.ID, time.Unix(0, 0), now().Add(nodegate.ByDay.Length()))
	for _, d := range days {
		e.Usage = append(e.Usage, ExportedDay{d.Day.Format(time.DateOnly), d.Requests, d.Credits})
	}
	return err
}

// addAudit lists what happened to the account, newest first.
func (s *exports) addAudit(ctx context.Context, e *Export) error {
	self := e.Account.Email
	for before := int64(0); ; {
		entries, err := s.store.AuditBefore(ctx, e.Account.ID, before, auditPage)
		if err != nil {
			return err
		}
		for _, one := range entries {
			e.Audit = append(e.Audit, exportedEntry(&one, self))
			before = one.Number
			if old, _, moved := strings.Cut(one.Detail, movedTo); moved && one.Action == emailAction {
				self = old // in all entries before this one
			}
		}
		if len(entries) < auditPage {
			return nil
		}
	}
}

// exportedEntry leaves out who and where others are: that is not the account's to know.
func exportedEntry(one *nodegate.AuditEntry, self string) ExportedEntry {
	e := ExportedEntry{one.At, one.Actor, one.From, one.Action, one.Subject, one.Detail}
	switch one.Actor {
	case self:
	case stranger:
		e.From = ""
	default:
		e.Actor, e.From = "operator", ""
	}
	return e
}

// WriteExport writes an export as JSON, with the pins that list hands out one by one: an
// account may have more than fit into memory. list is nil without a storage gateway.
func WriteExport(w io.Writer, e *Export, list func(each func(nodegate.Pin) bool) error) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(text[:len(text)-1], `,"pins":[`...)); err != nil {
		return err
	}
	if list != nil {
		if err := writePins(w, list); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "]}\n")
	return err
}

func writePins(w io.Writer, list func(each func(nodegate.Pin) bool) error) (err error) {
	separator := ""
	listing := list(func(p nodegate.Pin) bool {
		text, marshalling := json.Marshal(ExportedPin{p.CID, p.Name, p.Recursive, p.Size, p.Created})
		if err = marshalling; err == nil {
			_, err = io.WriteString(w, separator+string(text))
		}
		separator = ","
		return err == nil
	})
	if err == nil {
		err = listing
	}
	return err
}
