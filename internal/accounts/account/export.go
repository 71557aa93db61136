package account

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

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
type exports struct {
	store   Store
	mu      sync.Mutex
	running map[string]bool // accounts whose export is being written
}

// exportPage is how many keys are read at once. One may have 8 KiB of settings.
const exportPage = 50

// exportBuffer is what is collected before it is written. Until then an error leaves w untouched.
const exportBuffer = 32 << 10

// WriteExport writes all that is kept about an account as JSON, without what would let anybody
// in. It reads and writes piece by piece: an account may have more than fits into memory. Its
// pins are not in the account store: list hands them out one by one, and is nil without a
// storage gateway. One export of an account is written at a time.
//
// Returns NotFound and AccountBusy, and what list and w return.
func (s *exports) WriteExport(ctx context.Context, w io.Writer, accountID string, list func(each func(nodegate.Pin) bool) error) error {
	if !s.begin(accountID) {
		return &nodegate.Error{Op: "account.export", Code: nodegate.AccountBusy, RetryAfter: exportRetry, Msg: "another export of this account is in progress: wait for it, then try again"}
	}
	defer s.end(accountID)
	a, err := s.store.Account(ctx, accountID)
	if err != nil {
		return err
	}
	e := &exporter{exports: s, ctx: ctx, account: a, w: bufio.NewWriterSize(w, exportBuffer)}
	if err := e.write(list); err != nil {
		return err
	}
	return e.w.Flush()
}

const exportRetry = 5 * time.Second

func (s *exports) begin(accountID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[accountID] {
		return false
	}
	if s.running == nil {
		s.running = map[string]bool{}
	}
	s.running[accountID] = true
	return true
}

func (s *exports) end(accountID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, accountID)
}

// exporter writes one export.
type exporter struct {
	*exports
	ctx     context.Context
	account *nodegate.Account
	w       *bufio.Writer
	filled  bool // the list that is being written has an element
}

func (e *exporter) write(pins func(each func(nodegate.Pin) bool) error) error {
	if err := e.head(); err != nil {
		return err
	}
	for _, part := range []struct {
		name  string
		write func() error
	}{
		{"keys", e.keys}, {"sessions", e.sessions}, {"usage", e.usage}, {"audit", e.audit}, {"pins", func() error { return e.pins(pins) }},
	} {
		e.filled = false
		if _, err := e.w.WriteString(`,"` + part.name + `":[`); err != nil {
			return err
		}
		if err := part.write(); err != nil {
			return err
		}
		if err := e.w.WriteByte(']'); err != nil {
			return err
		}
	}
	_, err := e.w.WriteString("}\n")
	return err
}

// head begins the object with what is there once.
func (e *exporter) head() error {
	a := e.account
	head := struct {
		Exported time.Time       `json:"exported"`
		Account  ExportedAccount `json:"account"`
		Card     *ExportedCard   `json:"card"`
	}{Exported: now(), Account: ExportedAccount{a.ID, a.Email, !a.Unverified, a.Plan, a.Operator, a.Development, a.Created}}
	if c := a.Card; c != nil {
		head.Card = &ExportedCard{c.Brand, c.LastFour, c.ExpMonth, c.ExpYear}
	}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	_, err = e.w.Write(text[:len(text)-1])
	return err
}

// add writes an element of a list.
func (e *exporter) add(element any) error {
	text, err := json.Marshal(element)
	if err == nil && e.filled {
		err = e.w.WriteByte(',')
	}
	if err != nil {
		return err
	}
	e.filled = true
	_, err = e.w.Write(text)
	return err
}

func (e *exporter) keys() error {
	for after := (*nodegate.Key)(nil); ; {
		keys, err := e.store.KeysAfter(e.ctx, e.account.ID, after, exportPage)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := e.add(exportedKey(k)); err != nil {
				return err
			}
			after = k
		}
		if len(keys) < exportPage {
			return nil
		}
	}
}

func exportedKey(k *nodegate.Key) ExportedKey {
	one := ExportedKey{ID: k.ID, Name: k.Name, Settings: k.Settings, Created: k.Created}
	if len(k.Values) > 0 {
		one.Prefix = k.Values[0].Prefix
	}
	if !k.Live() {
		one.Revoked = &k.Revoked
	}
	return one
}

func (e *exporter) sessions() error {
	list, err := e.store.SessionsOf(e.ctx, e.account.ID, now())
	for _, one := range list {
		if err := e.add(ExportedSession{one.Created, one.Expires, one.From, one.Agent}); err != nil {
			return err
		}
	}
	return err
}

func (e *exporter) usage() error {
	days, err := e.store.UsageByDay(e.ctx, e.account.ID, time.Unix(0, 0), now().Add(nodegate.ByDay.Length()))
	for _, d := range days {
		if err := e.add(ExportedDay{d.Day.Format(time.DateOnly), d.Requests, d.Credits}); err != nil {
			return err
		}
	}
	return err
}

// audit lists what happened to the account, newest first.
func (e *exporter) audit() error {
	self := e.account.Email
	for before := int64(0); ; {
		entries, err := e.store.AuditBefore(e.ctx, e.account.ID, before, auditPage)
		if err != nil {
			return err
		}
		for _, one := range entries {
			if err := e.add(exportedEntry(&one, self)); err != nil {
				return err
			}
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

func (e *exporter) pins(list func(each func(nodegate.Pin) bool) error) (err error) {
	if list == nil {
		return nil
	}
	listing := list(func(p nodegate.Pin) bool {
		err = e.add(ExportedPin{p.CID, p.Name, p.Recursive, p.Size, p.Created})
		return err == nil
	})
	if err == nil {
		err = listing
	}
	return err
}
