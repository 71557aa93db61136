package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// usedKeys is a dashboard with usage of two keys, two networks and seven methods, in the last
// hour and on the days before.
func usedKeys(t *testing.T) (d *booth, cookie string, keys []*nodegate.Key) {
	t.Helper()
	d, cookie, keys = crowded(t, 0, 2)
	batch, now := &nodegate.UsageBatch{Server: "test", Number: 1}, time.Now().UTC()
	for day := range 40 {
		for i, method := range []string{"eth_a", "eth_b", "eth_c", "eth_d", "eth_e", "eth_f", "eth_g"} {
			k := nodegate.UsageKey{AccountID: keys[0].AccountID, KeyID: keys[i%2].ID, Network: []string{"devnet", "main"}[i%2], Method: method, Outcome: "ok"}
			batch.Rows = append(batch.Rows, nodegate.Usage{UsageKey: k, At: nodegate.ByMinute.Start(now.AddDate(0, 0, -day)), Requests: int64(100 - i), Credits: 10})
		}
	}
	if err := d.store.AddUsage(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return d, cookie, keys
}

// TestUsageViews: charts can be stacked, the time chosen, and a key or a network has a page;
// links and the file keep what is chosen.
func TestUsageViews(t *testing.T) {
	d, cookie, keys := usedKeys(t)
	today := time.Now().UTC()
	date := func(ago int) string { return today.AddDate(0, 0, -ago).Format(time.DateOnly) }
	for _, c := range []struct {
		query       string
		status      int
		has, hasNot []string
	}{
		{"", 200, []string{"<h1>Usage</h1>", ">ok</span>", ">failed</span>", `<span class="change"`, `data-refresh="30"`}, []string{"all others"}},
		{"stack=method&range=7d", 200, []string{">eth_a</span>", ">eth_d</span>", ">all others</span>", "stack=method", "range=7d&amp;stack=network"}, []string{">failed</span>", ">eth_e</span>"}},
		{"stack=network", 200, []string{">devnet</span>", ">main</span>"}, []string{"all others"}},
		{"stack=key", 200, []string{">number 0.</span>", ">number 1.</span>"}, []string{keys[0].ID + "</span>"}},
		{"stack=nonsense", 422, nil, nil},
		{"key=" + keys[1].ID, 200, []string{"<h1>Usage of number 1.</h1>", "key: number 1. ×"}, nil},
		{"network=main", 200, []string{"<h1>Usage of main</h1>"}, []string{"eth_a"}},
		{"range=custom&from=" + date(3) + "&to=" + date(1) + "&by=network", 200, []string{date(3) + " to " + date(1), `value="` + date(3) + `"`, "from=" + date(3), "to=" + date(1), `name="by" value="network"`}, nil},
		{"range=custom&from=" + date(1) + "&to=" + date(3), 422, []string{"The last day is before the first."}, nil},
		{"range=custom", 422, []string{"A custom range needs a first and a last day."}, nil},
		{"range=custom&from=x&to=" + url.QueryEscape("<b>"), 422, nil, []string{"<b>"}},
	} {
		got := d.ask(http.MethodGet, "/usage?"+c.query, cookie, nil)
		if got.Code != c.status {
			t.Errorf("%s: %d", c.query, got.Code)
		}
		for _, text := range c.has {
			if !strings.Contains(got.Body.String(), text) {
				t.Errorf("%s lacks %q", c.query, text)
			}
		}
		for _, text := range c.hasNot {
			if strings.Contains(got.Body.String(), text) {
				t.Errorf("%s has %q", c.query, text)
			}
		}
	}
	file := d.ask(http.MethodGet, "/usage.csv?range=custom&from="+date(3)+"&to="+date(1), cookie, nil)
	if n := strings.Count(file.Body.String(), "step,"); file.Code != 200 || n != 72 {
		t.Errorf("the file of three days: %d, %d steps", file.Code, n)
	}
}

// TestChange: a figure is compared with the one before, if there is one.
func TestChange(t *testing.T) {
	for _, c := range []struct {
		now, before int64
		want        string
	}{{5, 0, ""}, {10, 10, "same as before"}, {1000, 1004, "same as before"}, {15, 10, "50 % more"}, {5, 10, "50 % less"}, {0, 10, "100 % less"}, {1000, 10, "over 10 times"}} {
		if got := string(change(c.now, c.before)); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%d after %d: %q", c.now, c.before, got)
		}
	}
}

// TestOtherKeys: usage that is counted without a key has a name, and no page of its own.
func TestOtherKeys(t *testing.T) {
	d, cookie, keys := usedKeys(t)
	k := nodegate.UsageKey{AccountID: keys[0].AccountID, Network: "devnet", Method: "other", Outcome: "ok"}
	batch := &nodegate.UsageBatch{Server: "test", Number: 2, Rows: []nodegate.Usage{{UsageKey: k, At: nodegate.ByMinute.Start(time.Now()), Requests: 1000, Credits: 10}}}
	if err := d.store.AddUsage(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	page := d.ask(http.MethodGet, "/usage?by=key&stack=key", cookie, nil).Body.String()
	if !strings.Contains(page, "<td>other keys</td>") || !strings.Contains(page, ">other keys</span>") || strings.Contains(page, "no name") {
		t.Errorf("the page doesn't name usage without a key: %s", page)
	}
	if page := d.ask(http.MethodGet, "/", cookie, nil).Body.String(); !strings.Contains(page, "others") || strings.Contains(page, `"/usage?key="`) {
		t.Error("the overview links to usage without a key")
	}
}
