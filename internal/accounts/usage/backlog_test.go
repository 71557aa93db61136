package usage

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestBacklog: what the store has not taken is counted, offered rows too, and has an age from
// the first refusal on.
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		r := New(Config{Store: store, Every: time.Hour, Log: slog.New(slog.DiscardHandler)})
		wants := func(what string, rows int, age time.Duration) {
			t.Helper()
			if n, a := r.Backlog(); n != rows || a != age {
				t.Errorf("%s: %d rows wait for %s, want %d and %s", what, n, a, rows, age)
			}
		}
		wants("at the start", 0, 0)
		store.set(true, false)
		r.Record(grant("a", "k"), event("m"))
		r.Record(grant("a", "k2"), event("m"))
		if r.Flush(t.Context()) == nil {
			t.Fatal("the store is down")
		}
		wants("refused", 2, 0)
		time.Sleep(time.Minute)
		r.Record(grant("a", "k"), event("m"))
		_ = r.Flush(t.Context())
		wants("a minute later", 3, time.Minute)
		store.set(false, false)
		must(t, r.Flush(t.Context()))
		wants("saved", 0, 0)
		must(t, r.Close(t.Context()))
	})
}
