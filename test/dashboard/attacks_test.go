package dashboard

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/test/harness"
)

var wildcard = regexp.MustCompile(`\{[a-z]+\}`)

// address is a route's path with something in the place of its ids.
func address(r dashboard.Route, id string) string { return wildcard.ReplaceAllString(r.Path, id) }

// TestPages: a client that asks for more pages than its rate is told to wait, by its
// address and by its account from whatever address; others are not.
func TestPages(t *testing.T) {
	s, _ := Start(t, func(c *config.Config) {
		c.TrustedProxies, c.Limits.PagesPerSecond = []string{"127.0.0.1"}, 1
	})
	member := Visit(t, s)
	member.SignUp("many@example.com")
	get := func(v *Visitor, path, from string) Page {
		return v.send(http.MethodGet, path, "", nil, http.Header{"X-Forwarded-For": {from}})
	}
	// refused asks until a page is refused, which may take a few more than the burst.
	refused := func(v *Visitor, path string, from func(i int) string) Page {
		for i := range 1000 {
			if p := get(v, path, from(i)); p.Status != http.StatusOK {
				return p
			}
		}
		t.Fatalf("1,000 times %s, and none was refused", path)
		return Page{}
	}
	for name, p := range map[string]Page{
		"address": refused(Visit(t, s), "/docs", func(int) string { return "192.0.2.1" }),
		"account": refused(member, "/keys", func(i int) string { return fmt.Sprintf("198.51.100.%d", i%250) }),
	} {
		if p.Status != http.StatusTooManyRequests || p.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, Retry-After %q", name, p.Status, p.Header.Get("Retry-After"))
		}
	}
	if p := get(Visit(t, s), "/docs", "192.0.2.2"); p.Status != http.StatusOK {
		t.Errorf("another client: %d", p.Status)
	}
}

// Every change, from everywhere but the site itself, is refused before it is looked at:
// the answer is the same for strangers, owners and operators.
func TestCrossSite(t *testing.T) {
	s, stranger := Start(t, nil)
	operator := Operator(t, s)
	before := contents(t, s)
	for _, r := range dashboard.Routes() {
		if r.Method != http.MethodPost {
			continue
		}
		for name, header := range map[string]http.Header{
			"cross-site":     {"Sec-Fetch-Site": {"cross-site"}},
			"same-site":      {"Sec-Fetch-Site": {"same-site"}},
			"none":           {"Sec-Fetch-Site": {"none"}},
			"foreign origin": {"Origin": {"https://evil.example"}},
			"null origin":    {"Origin": {"null"}},
			"another port":   {"Origin": {"http://127.0.0.1:1"}},
		} {
			for _, v := range []*Visitor{stranger, operator} {
				p := v.send(r.Method, address(r, "k-1"), "application/x-www-form-urlencoded", strings.NewReader("cid=x&id=k-1"), header)
				if p.Status != http.StatusForbidden {
					t.Errorf("%s %s from %s: %d", r.Method, r.Path, name, p.Status)
				}
			}
		}
	}
	if after := contents(t, s); after != before {
		t.Error("a refused change changed the store")
	}
}

// Opening pages changes nothing.
func TestReadingChangesNothing(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	before := contents(t, s)
	for _, r := range dashboard.Routes() {
		if r.Method == http.MethodGet {
			if p := v.Get(address(r, "k-a")); p.Status >= http.StatusInternalServerError {
				t.Errorf("%s: %d %s", r.Path, p.Status, p.Body)
			}
		}
	}
	if after := contents(t, s); after != before {
		t.Error("a page that was only read changed the store")
	}
	Member(t, s, "somebody@example.com")
	if after := contents(t, s); after == before {
		t.Error("a new account doesn't show in the digest")
	}
}

// contents is a digest of everything in the store that is not usage.
func contents(t *testing.T, s *harness.Service) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Dir, "nodegate.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	digest := sha256.New()
	for _, table := range column(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'usage%' AND name NOT LIKE 'sqlite%' ORDER BY name") {
		rows := column(t, db, fmt.Sprintf("SELECT hex(CAST(json_array(%s) AS BLOB)) FROM %s ORDER BY 1", columnsOf(t, db, table), table))
		fmt.Fprintln(digest, table, rows)
	}
	return hex.EncodeToString(digest.Sum(nil))
}

func columnsOf(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	names := column(t, db, "SELECT 'hex(' || name || ')' FROM pragma_table_info('"+table+"')")
	return strings.Join(names, ", ")
}

func column(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Who is not signed in, or holds a cookie that is none, sees no page but the public ones.
func TestStrangers(t *testing.T) {
	s, _ := Start(t, nil)
	real := Operator(t, s).Cookie
	flipped := []byte(real)
	flipped[0] ^= 1
	for name, cookie := range map[string]string{
		"no cookie": "", "nonsense": "nonsense", "a bit changed": string(flipped), "too long": strings.Repeat("a", 4000), "a part": real[:32], "upper case": strings.ToUpper(real),
	} {
		v := Visit(t, s)
		for _, r := range dashboard.Routes() {
			v.Cookie = cookie
			p := v.send(r.Method, address(r, "k-a"), "application/x-www-form-urlencoded", strings.NewReader(""), http.Header{"Sec-Fetch-Site": {"same-origin"}})
			if !r.Public && (p.Status != http.StatusSeeOther || !strings.HasPrefix(p.Header.Get("Location"), "/login")) {
				t.Errorf("%s, %s %s: %d", name, r.Method, r.Path, p.Status)
			}
		}
	}
}

// Members don't learn that there are pages for operators.
func TestOperatorsOnly(t *testing.T) {
	s, _ := Start(t, nil)
	v := Member(t, s, "member@example.com")
	for _, r := range dashboard.Routes() {
		if r.Operator {
			p := v.send(r.Method, address(r, "a-a"), "application/x-www-form-urlencoded", strings.NewReader(""), http.Header{"Sec-Fetch-Site": {"same-origin"}})
			if p.Status != http.StatusNotFound {
				t.Errorf("%s %s: %d", r.Method, r.Path, p.Status)
			}
		}
	}
}

// A session begins with a new token, whatever was planted, and is dead after it ended.
func TestSessions(t *testing.T) {
	s, _ := Start(t, nil)
	first := s.Server.First()
	v := Visit(t, s)
	v.Cookie = strings.Repeat("ab", 32) // planted
	p := v.Post("/login", url.Values{"email": {first.Email}, "password": {first.Password}})
	if v.Cookie == strings.Repeat("ab", 32) || len(v.Cookie) != 64 {
		t.Fatalf("the session's token is %q", v.Cookie)
	}
	if got := p.Header.Get("Set-Cookie"); !regexp.MustCompile(`^__Host-session=[0-9a-f]{64}; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax$`).MatchString(got) {
		t.Errorf("the cookie is %q", got)
	}
	planted := Visit(t, s)
	planted.Cookie = strings.Repeat("ab", 32)
	if p := planted.Get("/account"); p.Status != http.StatusSeeOther {
		t.Errorf("the planted token: %d", p.Status)
	}

	other := Operator(t, s)
	if p := v.Post("/account/password", url.Values{"old": {first.Password}, "new": {"another long password"}}); p.Status != http.StatusSeeOther {
		t.Fatalf("password: %d %s", p.Status, p.Body)
	}
	if p := other.Get("/account"); p.Status != http.StatusSeeOther {
		t.Errorf("another session after the change of the password: %d", p.Status)
	}
	if p := v.Get("/account"); p.Status != http.StatusOK {
		t.Errorf("the own session after the change of the password: %d", p.Status)
	}
	token := v.Cookie
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			twin := Visit(t, s)
			twin.Cookie = token
			if p := twin.Post("/logout", nil); p.Status != http.StatusSeeOther {
				t.Errorf("sign-out: %d", p.Status)
			}
		})
	}
	wg.Wait()
	v.Cookie = token
	if p := v.Get("/account"); p.Status != http.StatusSeeOther {
		t.Errorf("replay after the sign-out: %d", p.Status)
	}
}

// Guessing passwords gets few tries, and what is tried is never shown.
func TestGuessing(t *testing.T) {
	s, v := Start(t, nil)
	counts := map[int]int{}
	for i := range 40 {
		p := v.Post("/login", url.Values{"email": {s.Server.First().Email}, "password": {fmt.Sprint("canary-guess-", i)}})
		counts[p.Status]++
		if strings.Contains(p.Body, "canary-guess") {
			t.Fatal("the page repeats the password")
		}
		if p.Status == http.StatusTooManyRequests && p.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if counts[http.StatusUnauthorized] > 10 || counts[http.StatusTooManyRequests] < 30 {
		t.Errorf("statuses: %v", counts)
	}
	if strings.Contains(s.Logs.String(), "canary-guess") {
		t.Error("the log has a password")
	}
}

// On plain HTTP from another machine nobody can sign in, and the page says why.
func TestPlainHTTP(t *testing.T) {
	s, _ := Start(t, func(c *config.Config) { c.TrustedProxies = []string{"127.0.0.1"} })
	form := url.Values{"email": {s.Server.First().Email}, "password": {s.Server.First().Password}}.Encode()
	for _, c := range []struct {
		name   string
		header http.Header
		want   int
	}{
		{"a proxy without TLS", http.Header{"X-Forwarded-For": {"192.0.2.7"}}, http.StatusForbidden},
		{"a proxy that says http", http.Header{"X-Forwarded-For": {"192.0.2.7"}, "X-Forwarded-Proto": {"http"}}, http.StatusForbidden},
		{"a proxy with TLS", http.Header{"X-Forwarded-For": {"192.0.2.7"}, "X-Forwarded-Proto": {"https"}}, http.StatusSeeOther},
		{"the machine itself", http.Header{}, http.StatusSeeOther},
	} {
		c.header.Set("Sec-Fetch-Site", "same-origin")
		p := Visit(t, s).send(http.MethodPost, "/login", "application/x-www-form-urlencoded", strings.NewReader(form), c.header)
		if p.Status != c.want || c.want == http.StatusForbidden && !strings.Contains(p.Body, "HTTPS") {
			t.Errorf("%s: %d", c.name, p.Status)
		}
	}
}

// Where sign-up is closed, nobody signs up; accounts that are there sign in.
func TestSignUpClosed(t *testing.T) {
	s, v := Start(t, func(c *config.Config) { c.Dashboard.SignUp = false })
	if p := v.Post("/signup", url.Values{"email": {"x@example.com"}, "password": {"a long password"}}); p.Status != http.StatusForbidden {
		t.Errorf("%d", p.Status)
	}
	if p := v.Get("/login"); strings.Contains(p.Body, "/signup") {
		t.Error("the page offers what is closed")
	}
	Operator(t, s)
}

// Every page carries the headers that keep others out.
func TestHeaders(t *testing.T) {
	s, stranger := Start(t, nil)
	v := Operator(t, s)
	pages := []Page{stranger.Get("/login"), stranger.Get("/nothing/here"), stranger.Get("/static/nothing")}
	for _, r := range dashboard.Routes() {
		if r.Method == http.MethodGet {
			pages = append(pages, v.Get(address(r, "k-a")))
		}
	}
	for _, p := range pages {
		policy := p.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
			p.Header.Get("Referrer-Policy") != "no-referrer" || p.Header.Get("X-Content-Type-Options") != "nosniff" || p.Header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%v", p.Header)
		}
		if slices.ContainsFunc([]string{" style=", "<style", " onclick=", `="javascript:`, "='javascript:", "=javascript:"}, func(s string) bool { return strings.Contains(p.Body, s) }) {
			t.Errorf("a page has something inline, which its own policy forbids: %s", p.Body)
		}
	}
}

// Odd addresses and bodies are refused with a status that says why, and no address is
// sent back: it could hold a key.
func TestOddRequests(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	for path, want := range map[string]int{"/docs?q=%zz": 422, "//keys": 404, "/devnet//v3/0123": 404, "/keys/../keys": 404, "/keys/": 404} {
		if p := v.Get(path); p.Status != want || p.Location != "" {
			t.Errorf("%s: %d to %q", path, p.Status, p.Location)
		}
	}
	same := http.Header{"Sec-Fetch-Site": {"same-origin"}}
	if p := v.send(http.MethodPost, "/keys", "application/json", strings.NewReader(`{"name":"x"}`), same); p.Status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d", p.Status)
	}
	if p := v.Post("/keys", url.Values{"name": {strings.Repeat("x", 1<<20)}}); p.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge form: %d", p.Status)
	}
}
