package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// traffic is what a test sent with one key, and how it was answered.
type traffic struct {
	*process
	id, key, secret  string
	requests, failed int64
}

// send posts a body that holds so many requests and counts the answer.
func (r *traffic) send(t *testing.T, address, body string, holds int64) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth(r.key, r.secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.requests += holds
	if res.StatusCode != http.StatusOK || strings.Contains(string(text), `"error"`) {
		r.failed += holds
	}
}

// sendAll sends what succeeds and what fails in every way that is counted.
func (r *traffic) sendAll(t *testing.T) {
	t.Helper()
	rpc := r.rpc + "/devnet/v3/" + r.key
	one := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	}
	for range 8 {
		r.send(t, rpc, one("eth_chainId", "[]"), 1)
	}
	for range 3 {
		r.send(t, rpc, one("eth_getBalance", `["no address"]`), 1)
		r.send(t, rpc, one("eth_unknown", "[]"), 1)
	}
	r.send(t, rpc, "no JSON", 1)
	_, rest, _ := strings.Cut(firstStart(t, r.data), "-F file=@- https")
	storage, _, _ := strings.Cut(rest, "/api")
	for range 2 {
		r.send(t, "http"+storage+"/api/v0/version", "", 1)
	}
	r.send(t, rpc, "["+strings.TrimSuffix(strings.Repeat(one("eth_chainId", "[]")+",", 90), ",")+"]", 90)
	if r.failed != 3+3+1+90 {
		t.Fatalf("%d of %d requests failed, want 97: the batch must be refused", r.failed, r.requests)
	}
}

// sums are the figures of the key as one place shows them.
type sums struct{ Requests, Errors, Credits int64 }

// commandSums are the figures of the command line, once all that was sent is in the store.
func (r *traffic) commandSums(t *testing.T) sums {
	t.Helper()
	var got struct {
		Rows  []sums
		Total sums
	}
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, out, stderr := r.command(t, "", "usage", "--account", "dev@localhost", "--key", r.id, "--from", "1h", "--json")
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v: %s%s", err, out, stderr)
		}
		if got.Total.Requests == r.requests {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d requests were sent, and after a minute the store has %+v", r.requests, got)
		}
	}
	total := sums{}
	for _, row := range got.Rows {
		total = sums{total.Requests + row.Requests, total.Errors + row.Errors, total.Credits + row.Credits}
	}
	if total != got.Total {
		t.Errorf("the rows of the command add up to %+v, and the total is %+v", total, got.Total)
	}
	return got.Total
}

// signIn returns the cookie of the first account's session.
func (p *process) signIn(t *testing.T) *http.Cookie {
	t.Helper()
	_, rest, _ := strings.Cut(firstStart(t, p.data), "  password  ")
	password, _, _ := strings.Cut(rest, "\n")
	form := url.Values{"email": {"dev@localhost"}, "password": {password}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.rpc+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for _, c := range res.Cookies() {
		if c.Name == "__Host-session" {
			return c
		}
	}
	t.Fatalf("no session: %d", res.StatusCode)
	return nil
}

// page opens a page of the dashboard.
func (p *process) page(t *testing.T, session *http.Cookie, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.rpc+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(&http.Cookie{Name: session.Name, Value: session.Value})
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return string(text)
}

// csvSums adds up the lines of one kind.
func csvSums(t *testing.T, text, kind string) (total sums) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%v in %q", err, text)
	}
	number := func(line []string, column string) int64 {
		n, err := strconv.ParseInt(line[slices.Index(lines[0], column)], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, line := range lines[1:] {
		if line[0] == kind {
			total = sums{total.Requests + number(line, "requests"), total.Errors + number(line, "errors"), total.Credits + number(line, "credits")}
		}
	}
	return total
}

var cells = regexp.MustCompile(`data-label="(Requests|Failed|Credits)">([0-9,]+)<`)

// tableSums adds up the rows of the Usage page.
func tableSums(text string) (total sums) {
	for _, m := range cells.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseInt(strings.ReplaceAll(m[2], ",", ""), 10, 64)
		switch m[1] {
		case "Requests":
			total.Requests += n
		case "Failed":
			total.Errors += n
		default:
			total.Credits += n
		}
	}
	return total
}

// TestNumbersAgree sends requests that succeed and that fail in every way, and finds the same
// figures on every page, in the CSV file and on the command line.
func TestNumbersAgree(t *testing.T) {
	full.Slow(t)
	today := nodegate.ByDay.Start(time.Now())
	r := &traffic{process: startProcess(t, "NODEGATE_USAGE_FLUSH=1s")}
	r.id, r.key, r.secret = r.makeKey(t, "--credits-per-day", "400")
	r.becomes(t, http.StatusOK, r.key, "", "eth_chainId")
	r.requests = 1
	r.sendAll(t)
	want := r.commandSums(t)
	if want.Errors != r.failed || want.Credits == 0 || want.Credits > 400 {
		t.Errorf("%d requests failed, and the command says %+v", r.failed, want)
	}
	session := r.signIn(t)
	file := r.page(t, session, "/usage.csv?range=1h&by=method&key="+r.id)
	for place, got := range map[string]sums{
		"the file's total": csvSums(t, file, "total"), "the file's steps": csvSums(t, file, "step"), "the file's groups": csvSums(t, file, "group"),
		"usage by method": tableSums(r.page(t, session, "/usage?range=1h&by=method&key="+r.id)), "usage by outcome": tableSums(r.page(t, session, "/usage?range=24h&by=outcome")),
		"usage by network": tableSums(r.page(t, session, "/usage?range=7d&by=network")), "usage by key": tableSums(r.page(t, session, "/usage?range=30d&by=key")),
	} {
		if got != want {
			t.Errorf("%s: %+v, want %+v", place, got, want)
		}
	}
	failed, share := fmt.Sprint(want.Errors, " failed"), fmt.Sprintf(">%.1f %%<", 100*float64(want.Requests-want.Errors)/float64(want.Requests))
	figure := func(n int64) string { return fmt.Sprintf(`<p class="figure">%d</p>`, n) }
	owner := "/operator/accounts/" + r.owner(t)
	for _, c := range []struct {
		path  string
		texts []string
		daily []string // hold for the day that the requests were sent on
	}{
		{"/", []string{figure(want.Requests), failed, share}, []string{figure(want.Credits)}},
		{"/usage?range=1h&key=" + r.id, []string{figure(want.Requests), failed, figure(want.Credits)}, nil},
		{"/usage?by=network&network=none", nil, []string{figure(want.Credits)}},
		{"/requests?key=" + r.id, []string{fmt.Sprintf("%d in the last hour, %s<", want.Requests, failed), fmt.Sprintf("(%s)", failed), fmt.Sprintf("1 to 50 of %d<", want.Requests)}, nil},
		{"/requests?outcome=failed", []string{fmt.Sprintf("1 to 50 of %d<", want.Errors)}, nil},
		{"/billing", nil, []string{figure(want.Credits), fmt.Sprintf("%d credits in %d requests", want.Credits, want.Requests)}},
		{owner, nil, []string{figure(want.Credits)}},
	} {
		page := r.page(t, session, c.path)
		if today.Equal(nodegate.ByDay.Start(time.Now())) {
			c.texts = append(c.texts, c.daily...)
		}
		for _, text := range c.texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q of %+v:\n%s", c.path, text, want, page)
			}
		}
	}
}

// owner is the id of the first account.
func (p *process) owner(t *testing.T) string {
	t.Helper()
	return p.must(t, "account", "show", "dev@localhost")["id"].(string)
}
