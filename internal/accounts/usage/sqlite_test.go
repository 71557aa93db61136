package usage_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

// TestSQLite: what is recorded, by two servers at once, is in a real store.
func TestSQLite(t *testing.T) {
	store, err := sqlstore.OpenSQLite(t.Context(), sqlitetest.New(t), []byte("audit key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	begin := time.Now()
	var servers sync.WaitGroup
	for range 2 {
		servers.Go(func() { record(t, store) })
	}
	servers.Wait()

	var requests, credits int64
	for _, span := range []nodegate.Resolution{nodegate.ByMinute, nodegate.ByHour, nodegate.ByDay} {
		requests, credits = 0, 0
		rows, err := store.Usage(t.Context(), nodegate.UsageQuery{AccountID: "a", From: begin.Add(-25 * time.Hour), To: begin.Add(25 * time.Hour), By: span})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range rows {
			requests, credits = requests+u.Requests, credits+u.Credits
		}
		if requests != 2000 || credits != 160_000 {
			t.Errorf("%v: %d requests and %d credits, want 2000 and 160000", span, requests, credits)
		}
	}
	f, err := store.Figures(t.Context(), "a", time.Now())
	if err != nil || f.Moved != 20 || f.Stored != 14 {
		t.Errorf("got %+v, %v", f, err)
	}
}

func record(t *testing.T, store nodegate.UsageWriter) {
	r := usage.New(usage.Config{Store: store, Every: 5 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	for i := range 1000 {
		g, _ := nodegate.NewGrant("a", fmt.Sprint("k", i%7), new(atomic.Pointer[nodegate.Policy]))
		r.Record(g, usage.Event{Network: "devnet", Method: "eth_call", Outcome: "ok", Credits: 80, Took: time.Millisecond})
	}
	r.Moved("a", 10)
	r.Stored("a", 7)
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
