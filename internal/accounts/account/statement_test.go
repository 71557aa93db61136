package account

import (
	"slices"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

func TestStatement(t *testing.T) {
	d := newDesk(t)
	a, b := d.customer(t, "a@example.com"), d.customer(t, "b@example.com")
	at := time.Date(2026, 3, 14, 23, 59, 0, 0, time.UTC)
	row := func(account string, at time.Time, credits int64) nodegate.Usage {
		return nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: account, KeyID: "k", Method: "eth_call", Outcome: "ok"}, At: at, Requests: 1, Credits: credits}
	}
	err := d.store.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "s", Number: 1,
		Rows: []nodegate.Usage{
			row(a.ID, at, 80), row(a.ID, at.Add(-23*time.Hour), 1), row(a.ID, at.AddDate(0, 0, -13), 300), row(b.ID, at, 5000),
			row(a.ID, at.AddDate(0, 0, -14), 7000), row(a.ID, at.Add(time.Minute), 9000), // the month before, the day after
		},
		Figures: []nodegate.Figures{{AccountID: a.ID, Month: at, Moved: 70}, {AccountID: a.ID, Month: at.AddDate(0, -1, 0), Moved: 900}, {AccountID: b.ID, Month: at, Moved: 4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.stored = func(id string) int64 { return map[string]int64{a.ID: 11, b.ID: 12}[id] }
	got, err := d.Statement(t.Context(), a.ID, at)
	if err != nil {
		t.Fatal(err)
	}
	first, today := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	if got.Plan.Name != "free" || !got.Month.Equal(first) || !got.Resets.Equal(today.AddDate(0, 0, 1)) {
		t.Errorf("plan %q, month %v, resets %v", got.Plan.Name, got.Month, got.Resets)
	}
	if got.Stored != 11 || got.Moved != 70 || got.Today != 81 || got.Credits != 381 || got.Requests != 3 {
		t.Errorf("got %+v", got)
	}
	if want := []nodegate.DayUsage{{Day: first, Requests: 1, Credits: 300}, {Day: today, Requests: 2, Credits: 81}}; !slices.Equal(got.Days, want) {
		t.Errorf("the days are %+v", got.Days)
	}
	_, err = d.Statement(t.Context(), "a-nobody", at)
	want(t, err, nodegate.NotFound, "")
}

// TestStatementOfUnknownPlan: the account has what its requests have.
func TestStatementOfUnknownPlan(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	if err := d.SetPlan(t.Context(), actor(), a.ID, "unlimited"); err != nil {
		t.Fatal(err)
	}
	delete(d.now.Load().byName, "unlimited")
	if got, err := d.Statement(t.Context(), a.ID, time.Now()); err != nil || got.Plan.Name != "free" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSearch(t *testing.T) {
	d := newDesk(t)
	for _, email := range []string{"ann@example.com", "bob@example.org", "joann@example.org"} {
		d.customer(t, email)
	}
	for _, c := range []struct {
		part, after string
		want        []string
	}{
		{"", "", []string{"ann@example.com", "bob@example.org", "joann@example.org"}},
		{" ANN ", "", []string{"ann@example.com", "joann@example.org"}},
		{"ann", "ann@example.com", []string{"joann@example.org"}},
	} {
		list, err := d.Search(t.Context(), c.part, c.after, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range list {
			got = append(got, a.Email)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q after %q: %v", c.part, c.after, got)
		}
	}
}
