package account

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// edit works on the database behind the service's back, as an intruder would.
func (d *desk) edit(t *testing.T, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range append([]string{"PRAGMA busy_timeout = 5000"}, statements...) {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestVerifyAudit(t *testing.T) {
	const free = "DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete"
	for _, c := range []struct {
		name   string
		edits  []string
		broken int64
	}{
		{"untouched", nil, 0},
		{"a changed detail", []string{"UPDATE audit SET detail = 'plan unlimited' WHERE number = 3"}, 3},
		{"a changed time", []string{"UPDATE audit SET at = at + 1 WHERE number = 5"}, 5},
		{"another actor", []string{"UPDATE audit SET actor = 'somebody@example.com' WHERE number = 1"}, 1},
		{"another place", []string{"UPDATE audit SET origin = '' WHERE number = 2"}, 2},
		{"another action", []string{"UPDATE audit SET action = 'key.set' WHERE number = 2"}, 2},
		{"another account", []string{"UPDATE audit SET account = 'a-1' WHERE number = 2"}, 2},
		{"another subject", []string{"UPDATE audit SET subject = 'k-1' WHERE number = 2"}, 2},
		{"a changed digest", []string{"UPDATE audit SET digest = zeroblob(32) WHERE number = 4"}, 4},
		{"words moved between fields", []string{"UPDATE audit SET actor = actor || origin, origin = '' WHERE number = 2"}, 2},
		{"deleted", []string{"DELETE FROM audit WHERE number = 3"}, 3},
		{"the first deleted", []string{"DELETE FROM audit WHERE number = 1"}, 1},
		{"deleted and moved up", []string{"DELETE FROM audit WHERE number = 3", "UPDATE audit SET number = number - 1 WHERE number > 3"}, 3},
		{"swapped", []string{"UPDATE audit SET number = -1 WHERE number = 2", "UPDATE audit SET number = 2 WHERE number = 3", "UPDATE audit SET number = 3 WHERE number = -1"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			const entries = 6
			for _, name := range strings.Split("abcdef", "") {
				d.customer(t, name+"@example.com")
			}
			d.edit(t, append([]string{free}, c.edits...)...)
			r, err := d.VerifyAudit(t.Context())
			if err != nil || r.Broken != c.broken || (r.Why != "") != (c.broken != 0) {
				t.Fatalf("got %+v, %v; want entry %d", r, err, c.broken)
			}
			if wanted := max(c.broken-1, 0); c.broken != 0 && r.Entries != wanted || c.broken == 0 && r.Entries != entries {
				t.Errorf("%d entries are good", r.Entries)
			}
		})
	}
}

// TestAuditIsAppendOnly also for whoever does it by mistake.
func TestAuditIsAppendOnly(t *testing.T) {
	d := newDesk(t)
	d.customer(t, "a@example.com")
	db, err := sql.Open("sqlite", d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range []string{"UPDATE audit SET detail = ''", "DELETE FROM audit"} {
		if _, err := db.ExecContext(t.Context(), s); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// TestCutAudit: the count of entries shows a log that was cut off at its end, and so
// does the next entry. Whoever lowers the count too is noticed by the head alone: it
// differs from the one that was noted.
func TestCutAudit(t *testing.T) {
	d := newDesk(t)
	d.customer(t, "a@example.com")
	d.customer(t, "b@example.com")
	whole, err := d.VerifyAudit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.edit(t, "DROP TRIGGER audit_no_delete", "DELETE FROM audit WHERE number = 2")
	cut, err := d.VerifyAudit(t.Context())
	if err != nil || cut.Broken != 2 || cut.Why != "the log was truncated at entry 2: the store has counted 2" || cut.Entries != 1 {
		t.Errorf("got %+v, %v; want entry 2", cut, err)
	}
	d.edit(t, "UPDATE sequences SET audit = 1")
	if both, err := d.VerifyAudit(t.Context()); err != nil || both.Broken != 0 || both.Head == whole.Head {
		t.Errorf("got %+v, %v", both, err)
	}
	d.edit(t, "UPDATE sequences SET audit = 0")
	if low, err := d.VerifyAudit(t.Context()); err != nil || low.Broken != 1 {
		t.Errorf("got %+v, %v; want entry 1", low, err)
	}
	d.edit(t, "UPDATE sequences SET audit = 2")
	d.customer(t, "c@example.com")
	if after, err := d.VerifyAudit(t.Context()); err != nil || after.Broken != 2 {
		t.Errorf("got %+v, %v; want entry 2", after, err)
	}
}

// TestAuditPages verifies more entries than are read at once.
func TestAuditPages(t *testing.T) {
	full.Slow(t)
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	k := d.key(t, a.ID).Key
	for k.Version < auditPage+5 {
		if err := d.store.Save(t.Context(), &nodegate.Change{Key: k, Audit: nodegate.AuditEntry{At: now(), Action: "key.set"}}); err != nil {
			t.Fatal(err)
		}
	}
	wanted := int64(auditPage + 6)
	if r, err := d.VerifyAudit(t.Context()); err != nil || r.Broken != 0 || r.Entries != wanted {
		t.Errorf("got %+v, %v; want %d entries", r, err, wanted)
	}
	d.edit(t, "DROP TRIGGER audit_no_update", "UPDATE audit SET detail = 'x' WHERE number = 1003")
	if r, err := d.VerifyAudit(t.Context()); err != nil || r.Broken != 1003 {
		t.Errorf("got %+v, %v; want entry 1003", r, err)
	}
}

// TestAuditLines: whatever a text holds, an entry is one line, and the chain is whole.
func TestAuditLines(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	for _, payload := range []string{
		"a\r\nb", "a\nb", "a\rb", "\r\n\r\n{\"number\":1}", "a\x00b", "a\x1b[2Jb", "a\x1b]0;title\x07b", "a\x7fb", "a\bb", "a\vb", "a\fb", "\t",
		"a\u0085b", "a\u009b31mb", "a\u2028b", "a\u2029b", "a\u202eb", "a\ufeffb", "a\xffb", "a\xc0\xafb", `","action":"account.create`, "</script>",
	} {
		before := d.auditCount(t)
		_, err := d.CreateKey(t.Context(), actor(), a.ID, payload, nodegate.KeySettings{})
		if control := strings.ContainsFunc(payload, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 || c == '\uFFFD' }); control == (err == nil) {
			t.Errorf("the name %q: %v", payload, err)
		}
		// Who acts, and from where, is not refused: a change must not depend on it.
		if _, err := d.CreateKey(t.Context(), nodegate.Actor{Name: payload, From: payload}, a.ID, "", nodegate.KeySettings{}); err != nil {
			t.Errorf("the actor %q: %v", payload, err)
		}
		entries, err := d.Audit(t.Context(), int64(before), 10)
		if err != nil || len(entries) == 0 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		for _, e := range entries {
			line, err := json.Marshal(e)
			if err != nil || strings.ContainsFunc(string(line), func(c rune) bool { return c < ' ' || c == '\u2028' || c == '\u2029' }) {
				t.Errorf("%q makes %q, %v", payload, line, err)
			}
		}
	}
	if r, err := d.VerifyAudit(t.Context()); err != nil || r.Broken != 0 {
		t.Errorf("the chain is %+v, %v", r, err)
	}
}
