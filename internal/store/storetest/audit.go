package storetest

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// FirstBroken returns the number of the first audit entry that does not follow
// from the one before it, or 0 when the chain is whole.
func FirstBroken(entries []nodegate.AuditEntry) int64 {
	var before nodegate.Digest
	for i, e := range entries {
		if e.Number != int64(i+1) || e.Digest != e.Chain([]byte(AuditKey), before) {
			return int64(i + 1)
		}
		before = e.Digest
	}
	return 0
}

func checkChain(t *testing.T, entries []nodegate.AuditEntry, want int) {
	t.Helper()
	if n := FirstBroken(entries); n != 0 || len(entries) != want {
		t.Errorf("%d audit entries, want %d; the chain breaks at %d", len(entries), want, n)
	}
}

func auditChain(t *testing.T, s Store) {
	var want []nodegate.AuditEntry
	for i := range 10 {
		e := entry("session.create", "a", "a")
		e.At = noon().Add(time.Duration(i) * 1001) // more digits than are kept
		if i == 3 {
			e = nodegate.AuditEntry{} // nothing at all
		}
		c := &nodegate.Change{Audit: e}
		save(t, s, c)
		want = append(want, c.Audit)
	}
	got := must[[]nodegate.AuditEntry](t)(s.Audit(t.Context(), 0, 100))
	same(t, "the entries", got, want)
	checkChain(t, got, 10)
	same(t, "the last entry", must[int64](t)(s.LastAudit(t.Context())), int64(10))
	same(t, "a page", must[[]nodegate.AuditEntry](t)(s.Audit(t.Context(), 4, 3)), want[4:7])
	same(t, "after the end", len(must[[]nodegate.AuditEntry](t)(s.Audit(t.Context(), 10, 3))), 0)
	for name, edit := range map[string]func(*nodegate.AuditEntry){
		"time":    func(e *nodegate.AuditEntry) { e.At = e.At.Add(time.Microsecond) },
		"actor":   func(e *nodegate.AuditEntry) { e.Actor = "bob@example.com" },
		"from":    func(e *nodegate.AuditEntry) { e.From = "" },
		"action":  func(e *nodegate.AuditEntry) { e.Action = "session.end" },
		"account": func(e *nodegate.AuditEntry) { e.AccountID = "b" },
		"subject": func(e *nodegate.AuditEntry) { e.Subject = "b" },
		"detail":  func(e *nodegate.AuditEntry) { e.Detail += "." },
		"digest":  func(e *nodegate.AuditEntry) { e.Digest[31] ^= 1 },
	} {
		edited := append([]nodegate.AuditEntry(nil), got...)
		edit(&edited[6])
		if n := FirstBroken(edited); n != 7 {
			t.Errorf("with another %s in entry 7 the chain breaks at %d", name, n)
		}
	}
	if n := FirstBroken(append(append([]nodegate.AuditEntry(nil), got[:4]...), got[5:]...)); n != 5 {
		t.Errorf("without entry 5 the chain breaks at %d", n)
	}
}

// oddTexts tries what clients may bring along: every database stores it, or
// refuses it in the same way.
func oddTexts(t *testing.T, s Store) {
	ctx := t.Context()
	a := newAccount("a")
	a.Email = "o'brien+\"x\"$1?;--@example.com"
	saveAccount(t, s, a)
	same(t, "by e-mail", must[*nodegate.Account](t)(s.AccountByEmail(ctx, a.Email)), a)
	for _, bad := range []string{"zero\x00byte", "not UTF-8 \xff"} {
		k := newKey("a", "k")
		k.Name = bad
		is(t, "a key's name", s.Save(ctx, &nodegate.Change{Key: k, Audit: entry("key.create", "a", "k")}), nodegate.InvalidInput)
		e := entry("session.create", "a", "a")
		e.From = bad
		save(t, s, &nodegate.Change{Audit: e})
	}
	checkChain(t, must[[]nodegate.AuditEntry](t)(s.Audit(ctx, 0, 10)), 3)
}
