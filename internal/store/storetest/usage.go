package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// usageRow has a different figure in each field, n of each.
func usageRow(account, key string, at time.Time, n int64) nodegate.Usage {
	u := nodegate.Usage{
		UsageKey: nodegate.UsageKey{AccountID: account, KeyID: key, Network: "devnet", Method: "eth_call", Outcome: "ok"},
		At:       at.UTC(), Requests: n, Credits: 80 * n, BytesIn: 100 * n, BytesOut: 1000 * n,
	}
	for i := range u.Latency {
		u.Latency[i] = n * int64(i+1)
	}
	return u
}

// add adds rows as the next batch of a server.
func add(t *testing.T, s Store, number int64, rows ...nodegate.Usage) {
	t.Helper()
	if err := s.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "server", Number: number, Rows: rows}); err != nil {
		t.Fatal(err)
	}
}

func usageOf(t *testing.T, s Store, account string, by nodegate.Resolution) []nodegate.Usage {
	t.Helper()
	return must[[]nodegate.Usage](t)(s.Usage(t.Context(), nodegate.UsageQuery{AccountID: account, From: noon().AddDate(-1, 0, 0), To: noon().AddDate(1, 0, 0), By: by}))
}

func usageAddsUp(t *testing.T, s Store) {
	at := func(r nodegate.Resolution, d time.Duration) time.Time { return r.Start(noon().Add(d)) }
	minute := at(nodegate.ByMinute, 0)
	add(t, s, 1, usageRow("a", "k", minute, 1), usageRow("a", "k", minute, 2), usageRow("a", "k", minute.Add(time.Minute), 4))
	add(t, s, 2, usageRow("a", "k", minute, 8), usageRow("a", "k", minute.Add(time.Hour), 16), usageRow("a", "k", minute.Add(24*time.Hour), 32))
	for _, c := range []struct {
		by   nodegate.Resolution
		want []nodegate.Usage
	}{
		{nodegate.ByMinute, []nodegate.Usage{
			usageRow("a", "k", minute, 11), usageRow("a", "k", minute.Add(time.Minute), 4),
			usageRow("a", "k", minute.Add(time.Hour), 16), usageRow("a", "k", minute.Add(24*time.Hour), 32),
		}},
		{nodegate.ByHour, []nodegate.Usage{
			usageRow("a", "k", at(nodegate.ByHour, 0), 15), usageRow("a", "k", at(nodegate.ByHour, time.Hour), 16), usageRow("a", "k", at(nodegate.ByHour, 24*time.Hour), 32),
		}},
		{nodegate.ByDay, []nodegate.Usage{usageRow("a", "k", at(nodegate.ByDay, 0), 31), usageRow("a", "k", at(nodegate.ByDay, 24*time.Hour), 32)}},
	} {
		same(t, fmt.Sprint("resolution ", c.by), usageOf(t, s, "a", c.by), c.want)
	}
}

func usageSelected(t *testing.T, s Store) {
	start := nodegate.ByMinute.Start(noon())
	var rows, ofA []nodegate.Usage
	for minute := range 3 {
		for _, account := range []string{"a", "b"} {
			for _, key := range []string{"k1", "k2"} {
				for _, outcome := range []string{"ok", "rate limited"} {
					u := usageRow(account, account+key, start.Add(time.Duration(minute)*time.Minute), int64(len(rows)+1))
					u.Outcome = outcome
					rows = append(rows, u)
					if account == "a" {
						ofA = append(ofA, u)
					}
				}
			}
		}
	}
	add(t, s, 1, rows...)
	for _, c := range []struct {
		name string
		q    nodegate.UsageQuery
		want []nodegate.Usage
	}{
		{"one account", nodegate.UsageQuery{AccountID: "a", From: start, To: start.Add(time.Hour)}, ofA},
		{"all accounts", nodegate.UsageQuery{AccountID: "*", From: start, To: start.Add(time.Hour)}, rows},
		{"one key", nodegate.UsageQuery{AccountID: "a", KeyID: "ak1", From: start, To: start.Add(time.Minute)}, ofA[:2]},
		{"the key of another account", nodegate.UsageQuery{AccountID: "a", KeyID: "bk1", From: start, To: start.Add(time.Hour)}, nil},
		{"from a minute", nodegate.UsageQuery{AccountID: "a", From: start.Add(time.Minute), To: start.Add(time.Hour)}, ofA[4:]},
		{"before a minute", nodegate.UsageQuery{AccountID: "a", From: start, To: start.Add(time.Minute)}, ofA[:4]},
		{"no account", nodegate.UsageQuery{From: start, To: start.Add(time.Hour)}, nil},
		{"nothing", nodegate.UsageQuery{AccountID: "a", From: start, To: start}, nil},
	} {
		same(t, c.name, must[[]nodegate.Usage](t)(s.Usage(t.Context(), c.q)), c.want)
	}
}

func batchesOnce(t *testing.T, s Store) {
	b := &nodegate.UsageBatch{
		Server: "one", Number: 7, Rows: []nodegate.Usage{usageRow("a", "k", noon(), 1)},
		Figures: []nodegate.Figures{{AccountID: "a", Month: noon(), Moved: 5, Stored: 3}},
	}
	offer := func(server string, number int64, want int64) {
		t.Helper()
		b.Server, b.Number = server, number
		if err := s.AddUsage(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		for _, by := range []nodegate.Resolution{nodegate.ByMinute, nodegate.ByHour, nodegate.ByDay} {
			same(t, fmt.Sprint(server, number, " by ", by), usageOf(t, s, "a", by)[0].Requests, want)
		}
		same(t, "moved", must[nodegate.Figures](t)(s.Figures(t.Context(), "a", noon())).Moved, 5*want)
	}
	offer("one", 7, 1)
	offer("one", 7, 1)
	offer("one", 6, 2) // an older one that was never taken
	offer("two", 7, 3)
	offer("one", 6, 3)
}

// manyServers add to the same rows at the same time, each batch offered twice.
func manyServers(t *testing.T, s Store) {
	const servers, batches = 6, 4
	var all sync.WaitGroup
	for n := range servers {
		all.Go(func() {
			for i := range 2 * batches {
				b := &nodegate.UsageBatch{Server: fmt.Sprint("server ", n), Number: int64(i / 2)}
				for key := range 120 {
					// Each server in another order.
					b.Rows = append(b.Rows, usageRow("a", fmt.Sprintf("k%03d", (key+40*n)%120), noon(), 1))
				}
				b.Figures = []nodegate.Figures{{AccountID: "b", Month: noon(), Stored: 1}, {AccountID: "a", Month: noon(), Stored: 1}}
				err := s.AddUsage(t.Context(), b)
				for range 10 { // they wait for each other; one that waited too long offers its batch again
					if !errors.Is(err, nodegate.Busy) {
						break
					}
					err = s.AddUsage(t.Context(), b)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	rows := usageOf(t, s, "a", nodegate.ByDay)
	same(t, "rows", len(rows), 120)
	for _, u := range rows {
		same(t, "a sum", u, usageRow("a", u.KeyID, nodegate.ByDay.Start(noon()), servers*batches))
	}
	same(t, "stored", must[nodegate.Figures](t)(s.Figures(t.Context(), "a", noon())).Stored, int64(servers*batches))
}

func spentCredits(t *testing.T, s Store) {
	day := nodegate.ByDay.Start(noon())
	free := usageRow("c", "c1", day, 1)
	free.Credits = 0
	add(t, s, 1, usageRow("a", "a1", day, 1), usageRow("a", "a2", day.Add(23*time.Hour+59*time.Minute), 2), usageRow("b", "b1", day.Add(time.Hour), 4),
		usageRow("a", "a1", day.Add(24*time.Hour), 100), usageRow("a", "a1", day.Add(-time.Minute), 1000), free)
	want := &nodegate.Spent{Accounts: map[string]int64{"a": 240, "b": 320}, Keys: map[string]int64{"a1": 80, "a2": 160, "b1": 320}}
	same(t, "the day", must[*nodegate.Spent](t)(s.Spent(t.Context(), day.Add(5*time.Hour))), want)
	same(t, "a day without any", must[*nodegate.Spent](t)(s.Spent(t.Context(), day.AddDate(0, 0, 5))), &nodegate.Spent{Accounts: map[string]int64{}, Keys: map[string]int64{}})
}

func storageFigures(t *testing.T, s Store) {
	ctx := t.Context()
	march, april := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	for i, list := range [][]nodegate.Figures{
		{{AccountID: "a", Month: march, Moved: 100, Stored: 70}, {AccountID: "b", Month: march, Moved: 1, Stored: 1}},
		{{AccountID: "a", Month: march.AddDate(0, 0, 30), Moved: 10, Stored: -20}, {AccountID: "a", Month: april, Moved: 7}},
		nil,
	} {
		if err := s.AddUsage(ctx, &nodegate.UsageBatch{Server: "server", Number: int64(i), Figures: list}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []nodegate.Figures{
		{AccountID: "a", Month: march, Moved: 110, Stored: 50}, {AccountID: "a", Month: april, Moved: 7, Stored: 50},
		{AccountID: "a", Month: april.AddDate(0, 1, 0), Stored: 50}, {AccountID: "b", Month: march, Moved: 1, Stored: 1}, {AccountID: "c", Month: march},
	} {
		same(t, "the figures", must[nodegate.Figures](t)(s.Figures(ctx, want.AccountID, want.Month.AddDate(0, 0, 9))), want)
	}
}

// oldUsageGoes checks each resolution just before and just after its time.
func oldUsageGoes(t *testing.T, s Store) {
	start := nodegate.ByDay.Start(noon())
	add(t, s, 1, usageRow("a", "k", start, 1), usageRow("a", "k", start.Add(time.Minute), 1))
	for _, c := range []struct {
		now            time.Time
		minutes, hours int
		purged         int64
		name           string
	}{
		{start.Add(48 * time.Hour), 2, 1, 0, "all"},
		{start.Add(48*time.Hour + time.Minute), 1, 1, 1, "one minute went"},
		{start.Add(48*time.Hour + 2*time.Minute), 0, 1, 1, "both minutes went"},
		{start.Add(90 * 24 * time.Hour), 0, 1, 0, "hours stay 90 days"},
		{start.Add(90*24*time.Hour + time.Hour), 0, 0, 1, "the hour went"},
		{start.Add(9000 * 24 * time.Hour), 0, 0, -1, "days stay permanently"},
	} {
		n := must[int64](t)(s.PurgeUsage(t.Context(), c.now))
		if c.purged >= 0 { // later ones also forget the batch, whose age is today's
			same(t, c.name+": purged", n, c.purged)
		}
		same(t, c.name+": minutes", len(usageOf(t, s, "a", nodegate.ByMinute)), c.minutes)
		same(t, c.name+": hours", len(usageOf(t, s, "a", nodegate.ByHour)), c.hours)
		same(t, c.name+": days", len(usageOf(t, s, "a", nodegate.ByDay)), 1)
	}
}

func purgeForgets(t *testing.T, s Store) {
	ctx := t.Context()
	now := time.Now()
	saveAccount(t, s, newAccount("a"))
	for name, expires := range map[string]time.Time{"old": now.Add(-time.Hour), "live": now.Add(24 * time.Hour)} {
		if err := s.SaveSession(ctx, newSession(name, "a", expires)); err != nil {
			t.Fatal(err)
		}
		saveLink(t, s, nodegate.Link{Digest: digestOf(name), Purpose: nodegate.LinkPurpose(name), AccountID: "a", Expires: expires})
	}
	row := usageRow("a", "k", nodegate.ByDay.Start(noon()), 1)
	add(t, s, 1, row)
	must[int64](t)(s.PurgeUsage(ctx, now))
	long := now.Add(-10 * time.Hour) // when both sessions were good
	_, err := s.SessionByDigest(ctx, digestOf("old"), long)
	is(t, "the expired session", err, nodegate.NotFound)
	must[*nodegate.Session](t)(s.SessionByDigest(ctx, digestOf("live"), long))
	_, err = s.LinkByDigest(ctx, digestOf("old"), long)
	is(t, "the expired link", err, nodegate.NotFound)
	must[*nodegate.Link](t)(s.LinkByDigest(ctx, digestOf("live"), long))
	counted := func() int64 { return usageOf(t, s, "a", nodegate.ByDay)[0].Requests }
	add(t, s, 1, row)
	same(t, "a batch offered again", counted(), int64(1))
	must[int64](t)(s.PurgeUsage(ctx, now.Add(47*time.Hour)))
	add(t, s, 1, row)
	same(t, "a batch offered again after 47 hours", counted(), int64(1))
	must[int64](t)(s.PurgeUsage(ctx, now.Add(49*time.Hour)))
	add(t, s, 1, row)
	same(t, "a batch that is forgotten", counted(), int64(2))
}
