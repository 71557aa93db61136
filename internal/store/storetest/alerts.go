package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

func auditBefore(t *testing.T, s Store) {
	for _, account := range []string{"a", "b", "a", "a", "b"} {
		save(t, s, &nodegate.Change{Audit: entry("session.create", account, account)})
	}
	for _, c := range []struct {
		account string
		before  int64
		limit   int
		want    []int64
	}{
		{"", 0, 3, []int64{5, 4, 3}}, {"", 3, 9, []int64{2, 1}}, {"", 1, 9, nil}, {"", 0, 0, nil},
		{"a", 0, 9, []int64{4, 3, 1}}, {"a", 4, 1, []int64{3}}, {"c", 0, 9, nil}, {"a\x00", 0, 9, nil},
	} {
		var got []int64
		for _, e := range must[[]nodegate.AuditEntry](t)(s.AuditBefore(t.Context(), c.account, c.before, c.limit)) {
			got = append(got, e.Number)
		}
		same(t, c.account, got, c.want)
	}
	all := must[[]nodegate.AuditEntry](t)(s.Audit(t.Context(), 0, 9))
	same(t, "an entry", must[[]nodegate.AuditEntry](t)(s.AuditBefore(t.Context(), "", 3, 1))[0], all[1])
}

func usageByDay(t *testing.T, s Store) {
	day := nodegate.ByDay.Start(noon())
	add(t, s, 1, usageRow("a", "k1", day, 1), usageRow("a", "k2", day.Add(23*time.Hour), 2), usageRow("a", "k1", day.AddDate(0, 0, 2), 4),
		usageRow("b", "k3", day, 8), usageRow("a", "k1", day.AddDate(0, 0, 3), 16))
	one := must[[]nodegate.Usage](t)(s.Usage(t.Context(), nodegate.UsageQuery{AccountID: "b", From: day, To: day.Add(time.Hour), By: nodegate.ByDay}))[0]
	same(t, "the days", must[[]nodegate.DayUsage](t)(s.UsageByDay(t.Context(), "a", day, day.AddDate(0, 0, 3))), []nodegate.DayUsage{
		{Day: day, Requests: one.Requests * 3 / 8, Credits: one.Credits * 3 / 8},
		{Day: day.AddDate(0, 0, 2), Requests: one.Requests / 2, Credits: one.Credits / 2},
	})
	same(t, "of nobody", len(must[[]nodegate.DayUsage](t)(s.UsageByDay(t.Context(), "c", day, day.AddDate(1, 0, 0)))), 0)
}

// alertsOnce lets one of many have an alert, and another one when its lease ends.
func alertsOnce(t *testing.T, s Store) {
	now := noon()
	a := nodegate.Alert{AccountID: "a", Day: now, Percent: 75}
	claim := func(a nodegate.Alert, at time.Time) nodegate.AlertClaim {
		t.Helper()
		return must[nodegate.AlertClaim](t)(s.ClaimAlert(t.Context(), a, at, time.Minute))
	}
	for round, at := range []time.Time{now, now.Add(time.Minute), now.Add(2 * time.Minute)} {
		var (
			all sync.WaitGroup
			won atomic.Int64
		)
		for range 8 {
			all.Go(func() {
				if c, err := s.ClaimAlert(t.Context(), a, at, time.Minute); err != nil {
					t.Error(err)
				} else if c == nodegate.AlertYours {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("round %d: %d of 8 have the alert", round, won.Load())
		}
		same(t, "within the lease", claim(a, at.Add(59*time.Second)), nodegate.AlertTaken)
	}
	for _, other := range []nodegate.Alert{{AccountID: "b", Day: now, Percent: 75}, {AccountID: "a", Day: now, Percent: 90}, {AccountID: "a", Day: now.AddDate(0, 0, 1), Percent: 75}} {
		same(t, "another alert", claim(other, now), nodegate.AlertYours)
	}
	for range 2 {
		if err := s.AlertSent(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		same(t, "sent, later that day", claim(nodegate.Alert{AccountID: "a", Day: now.Add(time.Hour), Percent: 75}, now.Add(time.Hour)), nodegate.AlertDone)
	}
}

func alertsGo(t *testing.T, s Store) {
	now := noon()
	a := nodegate.Alert{AccountID: "a", Day: now, Percent: 100}
	if err := s.AlertSent(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after  int // days
		purged int64
		want   nodegate.AlertClaim
	}{{0, 0, nodegate.AlertDone}, {1, 0, nodegate.AlertDone}, {2, 1, nodegate.AlertYours}} {
		same(t, "purged", must[int64](t)(s.PurgeUsage(t.Context(), now.AddDate(0, 0, c.after))), c.purged)
		same(t, "the claim", must[nodegate.AlertClaim](t)(s.ClaimAlert(t.Context(), a, now, time.Minute)), c.want)
	}
}
