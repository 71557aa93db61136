package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard"
)

// Every route that takes an id of something is asked for somebody else's: it is not
// there, and nothing changes. A route that is in neither table fails the test.
func TestForeignIDs(t *testing.T) {
	s, _ := Start(t, nil)
	Operator(t, s)
	owner, other := Operator(t, s), Member(t, s, "other@example.com")
	other.Post("/keys", url.Values{"name": {"a key of my own"}})
	key, cid := s.Server.FirstKey().Key.ID, stored(t, owner, "mine.txt", "mine")

	// How routes without an id in their path are asked for one.
	asked := map[string]url.Values{
		"GET /try": {"key": {key}}, "POST /try": {"key": {key}, "method": {"eth_chainId"}}, "POST /try/faucet": {"key": {key}}, "POST /try/socket": {"key": {key}},
		"GET /requests": {"key": {key}}, "GET /files": {"key": {key}}, "POST /files": {"key": {key}}, "GET /files/download": {"key": {key}, "cid": {cid}},
		"GET /usage": {"key": {key}}, "GET /usage.csv": {"key": {key}},
		"POST /account/sessions": {"session": {sessionOf(t, owner)}},
		"POST /files/unpin":      {"cid": {cid}}, "POST /files/undo": {"cid": {cid}}, "POST /files/rename": {"cid": {cid}, "name": {"taken over"}},
		"GET /files/open": {"cid": {cid}}, "GET /files/preview": {"cid": {cid}},
		"GET /files/folder": {"key": {key}}, "POST /files/folder": {"name": {"taken over"}, "cid": {cid}}, "GET /files/pin": {"key": {key}}, "POST /files/pin": {"key": {key}, "cid": {cid}},
	}
	none := []string{
		"GET /login", "POST /login", "GET /signup", "POST /signup", "POST /logout", "GET /account", "POST /account/password", "GET /", "GET /status", "GET /login/reset", "POST /login/reset", "GET /login/link/{token}", "POST /login/link/{token}",
		"POST /account/email", "POST /account/verify", "GET /account/export", "GET /account/delete", "POST /account/delete", "GET /first-request", "GET /keys", "POST /keys",
		"GET /billing", "POST /billing/card", "POST /billing/card/begin", "POST /billing/card/remove", "POST /billing/plan",
		"GET /docs", "GET /docs/types", "GET /docs/{method}", "GET /openrpc.json", "GET /palette.json", "POST /files/uploads",
	}
	before := contents(t, s)
	walked := 0
	for _, r := range dashboard.Routes() {
		name := r.Method + " " + r.Path
		values, byForm := asked[name]
		if r.Operator || r.Landing || slices.Contains(none, name) {
			continue // members find no operator's page at all: see TestOperatorsOnly; for landings see TestLandings
		}
		if !byForm && !strings.Contains(r.Path, "{id}") {
			t.Errorf("%s: say here how it is asked for an id, or that it takes none", name)
			continue
		}
		walked++
		path := address(r, key)
		var p Page
		if r.Method == http.MethodGet || name == "POST /files" {
			path += "?" + values.Encode()
		}
		switch {
		case name == "POST /files":
			p = other.Upload(path, "x.txt", "x")
		case r.Method == http.MethodGet:
			p = other.Get(path)
		default:
			p = other.Post(path, values)
		}
		if p.Status != http.StatusNotFound {
			t.Errorf("%s: %d", name, p.Status)
		}
	}
	if walked < 12 {
		t.Errorf("only %d routes were walked", walked)
	}
	if after := contents(t, s); after != before {
		t.Error("somebody else's things were changed")
	}
}
