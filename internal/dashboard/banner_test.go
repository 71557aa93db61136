package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// TestWarning: from 90 % on there is a warning, of the limit that is nearest, with the time
// of its reset.
func TestWarning(t *testing.T) {
	midnight, month := time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	share := func(used int64) report.Share { return report.Share{Used: used, Limit: 1000} }
	for _, c := range []struct {
		credits, stored, moved int64
		want                   string
	}{
		{899, 0, 0, ""}, {900, 0, 0, "You have used 90 % of your daily credits. They reset at 2026-11-18 00:00 UTC."},
		{1000, 950, 0, "full: You have used all of your daily credits. Requests that need more are refused. They reset at 2026-11-18 00:00 UTC."},
		{910, 0, 955, "You have used 95.5 % of your storage transfer this month. It resets at 2026-12-01 00:00 UTC."},
		{0, 1200, 0, "full: You have used all of your storage. Requests that need more are refused. Unpin files to free space."},
	} {
		got := ""
		if b := warning(&report.Standing{Credits: share(c.credits), Stored: share(c.stored), Moved: share(c.moved), ResetsAt: midnight, Month: month}); b != nil {
			got = b.Title + " " + b.Text
			if b.Full {
				got = "full: " + got
			}
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if warning(&report.Standing{Credits: report.Share{Used: 1 << 40}}) != nil {
		t.Error("a warning without a limit")
	}
}

// used records credits of a key, and before midnight for the next day too: the test may end
// after it.
func used(t *testing.T, d *booth, number, credits int64, k *nodegate.Key) {
	t.Helper()
	row := nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: k.AccountID, KeyID: k.ID, Network: "devnet", Method: "eth_call", Outcome: nodegate.OutcomeOK}, At: time.Now(), Requests: 1, Credits: credits}
	rows := []nodegate.Usage{row}
	if soon := row.At.Add(10 * time.Minute); !nodegate.ByDay.Start(soon).Equal(nodegate.ByDay.Start(row.At)) {
		row.At = soon
		rows = append(rows, row)
	}
	if err := d.store.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "test", Number: number, Rows: rows}); err != nil {
		t.Fatal(err)
	}
}

// TestLimitsAreVisible: every page warns of used-up credits, the list of keys has what each
// used and may use, and plans can be compared.
func TestLimitsAreVisible(t *testing.T) {
	d := newBooth(t, nil)
	a, member := d.person(t, "member@example.com", false)
	keys := make([]*nodegate.Key, 2)
	for i, name := range []string{"limited", "plain"} {
		settings := nodegate.KeySettings{CreditsPerDay: int64(1-i) * 800}
		issued, err := d.cfg.Accounts.CreateKey(t.Context(), nodegate.Actor{Name: "test"}, a.ID, name, settings)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = issued.Key
	}
	page := func(path string) string { return d.ask(http.MethodGet, path, member, nil).Body.String() }
	if text := page("/keys"); strings.Contains(text, "You have used") || strings.Count(text, "not in 30 days") != 2 {
		t.Errorf("before any use: %s", text)
	}
	used(t, d, 1, 760, keys[0])
	used(t, d, 2, 190, keys[1])
	for _, path := range []string{"/", "/keys", "/usage", "/requests", "/billing", "/account", "/docs", "/nothing/here"} {
		if text := page(path); !strings.Contains(text, `class="notice banner warn" role="status"`) || !strings.Contains(text, "<b>You have used 95 % of your daily credits.</b> They reset at ") {
			t.Errorf("%s has no warning: %s", path, text)
		}
	}
	text := page("/keys")
	for _, want := range []string{
		`760 <span class="muted small">(80 % of all)</span>`, `190 <span class="muted small">(20 % of all)</span>`, `<progress max="800" value="760" class="high" aria-label="95 % of the limit">`,
		"95 % of its limit, 800", " ago</time>", `href="/usage?range=24h&amp;by=key"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the list of keys lacks %q: %s", want, text)
		}
	}
	used(t, d, 3, 50, keys[0])
	if text := page("/account"); !strings.Contains(text, `class="notice banner bad" role="alert"`) || !strings.Contains(text, "used all of your daily credits") {
		t.Errorf("at the limit: %s", text)
	}
	if text := page("/billing"); !strings.Contains(text, `<td>free <span class="tag good">yours</span></td>`) || !strings.Contains(text, `<td>unlimited</td>`) {
		t.Errorf("the plans are not compared: %s", text)
	}
	if strings.Contains(d.ask(http.MethodGet, "/login", "", nil).Body.String(), "You have used") {
		t.Error("a stranger is warned")
	}
}
