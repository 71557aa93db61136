package usage

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// refused is a call of a batch that the rate limit refuses: it costs nothing.
func refused(network, method string) Event {
	return Event{Network: network, Method: method, Outcome: "rate limited", BytesIn: 1}
}

// flood is what one account can do for free in a minute: a batch of some methods for each of
// its 1,000 keys and two networks.
func flood(r *Recorder, account string) (requests int64) {
	for k := range 1000 {
		g := grant(account, fmt.Sprintf("%s-%03d", account, k))
		for m := range 4 {
			for _, network := range []string{"mainnet", "devnet"} {
				r.Record(g, refused(network, fmt.Sprint("eth_", m)))
				requests++
			}
		}
	}
	return requests
}

// spanRows counts the rows that a resolution keeps of an account, in its fullest span.
func spanRows(s *memory, account string, by nodegate.Resolution) int {
	spans := map[time.Time]map[nodegate.UsageKey]bool{}
	most := 0
	for _, u := range s.rows() {
		if u.AccountID != account {
			continue
		}
		at := by.Start(u.At)
		if spans[at] == nil {
			spans[at] = map[nodegate.UsageKey]bool{}
		}
		spans[at][u.UsageKey] = true
		most = max(most, len(spans[at]))
	}
	return most
}

// TestBudget: an account that calls everything with every key gets a bounded number of rows,
// and they add up to what it did. Another account keeps its detail.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		r := New(Config{Store: store, Log: slog.New(slog.DiscardHandler)})
		requests := flood(r, "greedy")
		for k := range 20 {
			r.Record(grant("modest", fmt.Sprint(k)), event("eth_call"))
		}
		must(t, r.Close(t.Context()))
		if n := spanRows(store, "greedy", nodegate.ByMinute); n > 1510 {
			t.Errorf("%d rows of one account and minute", n)
		}
		if n := spanRows(store, "modest", nodegate.ByMinute); n != 20 {
			t.Errorf("%d rows of the other account, want 20", n)
		}
		sum := store.total()
		if sum.Requests != requests+20 || sum.BytesIn != requests+20*100 {
			t.Errorf("%d requests and %d bytes, want %d requests", sum.Requests, sum.BytesIn, requests+20)
		}
	})
}

// TestBudgetOrder: the first cells keep all their detail, then the method goes, then the key.
// What goes on keeps its detail, and the network and the outcome never go.
func TestBudgetOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		r := New(Config{Store: store, Log: slog.New(slog.DiscardHandler)})
		first := grant("a", "first")
		for m := range 10 {
			r.Record(first, event(fmt.Sprint("eth_", m)))
		}
		flood(r, "a")
		for m := range 10 {
			r.Record(first, event(fmt.Sprint("eth_", m)))
		}
		late := grant("a", "late")
		for range 3 {
			r.Record(late, event("eth_call"))
		}
		must(t, r.Close(t.Context()))
		got := map[nodegate.UsageKey]int64{}
		for _, u := range store.rows() {
			got[u.UsageKey] += u.Requests
		}
		for m := range 10 {
			if n := got[nodegate.UsageKey{AccountID: "a", KeyID: "first", Network: "mainnet", Method: fmt.Sprint("eth_", m), Outcome: "ok"}]; n != 2 {
				t.Errorf("%d requests of a cell from before, want 2", n)
			}
		}
		if n := got[nodegate.UsageKey{AccountID: "a", Network: "mainnet", Method: "other", Outcome: "ok"}]; n != 3 {
			t.Errorf("%d requests of a late key, want 3 under no key", n)
		}
		if n := got[nodegate.UsageKey{AccountID: "a", KeyID: "a-100", Network: "devnet", Method: "other", Outcome: "rate limited"}]; n != 4 {
			t.Errorf("%d requests under the method other, want 4", n)
		}
	})
}

// TestBudgetOfDay: an account that calls something else every minute has bounded rows by the
// hour and by the day too; those by the day stay permanently.
func TestBudgetOfDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		r := New(Config{Store: store, Every: time.Minute, Log: slog.New(slog.DiscardHandler)})
		var requests int64
		for minute := range 3 * hour {
			for i := range 400 {
				n := minute*400 + i
				r.Record(grant("a", fmt.Sprint(n/40%1000)), refused(fmt.Sprint("net", n/40_000), fmt.Sprint("eth_", n%40)))
				requests++
			}
			time.Sleep(time.Minute)
		}
		must(t, r.Close(t.Context()))
		if n := spanRows(store, "a", nodegate.ByHour); n > 3020 {
			t.Errorf("%d rows of one account and hour", n)
		}
		if n := spanRows(store, "a", nodegate.ByDay); n > 6020 {
			t.Errorf("%d rows of one account and day", n)
		}
		if n := store.total().Requests; n != requests {
			t.Errorf("%d requests, want %d", n, requests)
		}
	})
}

// TestBudgetBeginsAgain: the detail is back in the next minute, and a new day has a new budget.
func TestBudgetBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(t)
		r := New(Config{Store: store, Log: slog.New(slog.DiscardHandler)})
		exact := func(key string) bool {
			r.Record(grant("a", key), event("eth_call"))
			must(t, r.Flush(t.Context()))
			for _, u := range store.rows() {
				if u.KeyID == key && u.Method == "eth_call" {
					return true
				}
			}
			return false
		}
		flood(r, "a")
		if exact("now") {
			t.Error("a cell keeps its detail beyond the budget")
		}
		time.Sleep(time.Minute + time.Second)
		if !exact("next minute") {
			t.Error("no detail in the next minute")
		}
		r.Record(grant("a", "steady"), event("eth_call"))
		for range 23 {
			time.Sleep(time.Hour)
			r.Record(grant("a", "steady"), event("eth_call"))
		}
		must(t, r.Flush(t.Context()))
		for _, u := range store.rows() {
			if u.KeyID == "steady" && u.Method != "eth_call" {
				t.Errorf("a cell that goes on has lost its detail: %+v", u.UsageKey)
			}
		}
		time.Sleep(2 * time.Hour)
		flood(r, "b")
		must(t, r.Flush(t.Context()))
		if n := r.cells.budgets.count(); n != 1 {
			t.Errorf("budgets of %d accounts are kept, want that of this day", n)
		}
		if !exact("next day") {
			t.Error("no detail on the next day")
		}
		must(t, r.Close(t.Context()))
	})
}

func TestOverBudgetAllocatesNothing(t *testing.T) {
	r := New(Config{Store: newMemory(t), Every: time.Hour, Log: slog.New(slog.DiscardHandler)})
	flood(r, "a")
	g, e := grant("a", "late"), event("eth_call")
	if n := testing.AllocsPerRun(1000, func() { r.Record(g, e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	must(t, r.Close(t.Context()))
}

// BenchmarkRecordOverBudget records what an account does beyond its budget: the dearest way.
func BenchmarkRecordOverBudget(b *testing.B) {
	r := New(Config{Store: discard{}, Log: slog.New(slog.DiscardHandler)})
	flood(r, "a")
	g, e := grant("a", "late"), event("eth_call")
	b.ReportAllocs()
	for b.Loop() {
		r.Record(g, e)
	}
	b.StopTimer()
	_ = r.Close(b.Context())
}
