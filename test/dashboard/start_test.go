package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A new account finds a checklist: a key in one click, a command with the key in it, and
// what to do next. It is gone after the first request.
func TestFirstMinute(t *testing.T) {
	s, _ := Start(t, nil)
	v := Member(t, s, "new@example.com")
	v.Get("/").Is(t, http.StatusOK).Has(t, "Get started", "0 of 3", `action="/keys"`, "Create key").Lacks(t, "data-wait=")
	k := readIssued(t, v.Follow(v.Post("/keys", url.Values{"name": {"First key"}})))
	k.page.Has(t, "Waiting for your first request")
	v.Get("/").Has(t, "1 of 3", "curl "+s.URL("devnet", k.text), `data-wait="/first-request"`, k.path+"#tools", k.path+"#wallet", `href="/try"`, `href="/files"`).Lacks(t, k.secret)
	v.Get("/?network=rollup").Has(t, "curl "+s.URL("rollup", k.text))
	waiting := func(want string) {
		t.Helper()
		if p := v.Get("/first-request").Is(t, http.StatusOK); strings.TrimSpace(p.Body) != want {
			t.Errorf("the page that waits gets %s", p.Body)
		}
	}
	waiting(`{"arrived":false}`)
	if got := call(t, s, k.text, ""); got != http.StatusOK {
		t.Fatal(got)
	}
	waiting(`{"arrived":true}`)
	v.Get("/").Has(t, "New key").Lacks(t, "Get started", k.text)

	other := Member(t, s, "other@example.com")
	if p := other.Get("/first-request"); !strings.Contains(p.Body, "false") {
		t.Errorf("another account's request counts: %s", p.Body)
	}
	locked := other.makeKey(t, "with a secret")
	other.Post(locked.path+"/settings", url.Values{"secret_required": {"on"}}).Is(t, http.StatusSeeOther)
	other.Get("/").Has(t, "export SECRET=", html.EscapeString(`-u ":$SECRET"`))
}
