package dashboard

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

var (
	keyText    = regexp.MustCompile(`<dt>API key</dt><dd><span class="copyable"><code>([0-9a-f]{32})</code>`)
	secretText = regexp.MustCompile(`<dt>Secret</dt><dd><span class="copyable"><code>([0-9a-f]{40})</code>`)
	keyLink    = regexp.MustCompile(`href="(/keys/k[^"/?#]+)`)
)

// issued is a key as the page that made it shows it.
type issued struct {
	page               Page
	path, text, secret string
}

func (v *Visitor) makeKey(t *testing.T, name string) issued {
	t.Helper()
	return readIssued(t, v.Follow(v.Post("/keys", url.Values{"name": {name}})))
}

func readIssued(t *testing.T, p Page) issued {
	t.Helper()
	p.Is(t, http.StatusOK)
	return issued{page: p, path: first(keyLink, p.Body), text: first(keyText, p.Body), secret: first(secretText, p.Body)}
}

func first(pattern *regexp.Regexp, text string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// call asks for the chain id with a key and, where it isn't "", its secret.
func call(t *testing.T, s *harness.Service, key, secret string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("devnet", key), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.SetBasicAuth("", secret)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// TestKeyStory makes a key, uses it, changes it, rotates it and ends it, by forms alone.
func TestKeyStory(t *testing.T) {
	s := harness.Start(t, nil)
	v := Member(t, s, "kim@example.com")
	v.Get("/keys").Is(t, http.StatusOK).Has(t, "No keys yet", `action="/keys"`, `<a href="/keys" aria-current="page">`)

	k := v.makeKey(t, "for the app")
	if k.path == "" || k.text == "" || k.secret == "" {
		t.Fatalf("no key on the page:\n%s", k.page.Body)
	}
	k.page.Has(t, "for the app", s.URL("devnet", k.text), s.WS("rollup", k.text), "data-copy=\""+k.secret+"\"", "tool-ethers", "curl "+s.URL("devnet", k.text))
	if got := call(t, s, k.text, ""); got != http.StatusOK {
		t.Errorf("the new key is answered with %d", got)
	}
	page := v.Get(k.path).Is(t, http.StatusOK).Has(t, k.text, s.URL("rollup", k.text), s.WS("devnet", k.text), s.Server.Addresses().Storage).Lacks(t, k.secret)
	for header, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
		if got := page.Header.Get(header); got != want || k.page.Header.Get(header) != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	v.Get("/keys").Has(t, "for the app", k.text[:4]+"…", "active").Lacks(t, k.text, k.secret)

	p := v.Post(k.path+"/settings", url.Values{"name": {"renamed"}, "secret_required": {"on"}})
	if to := p.Is(t, http.StatusSeeOther).Header.Get("Location"); to != k.path+"/settings?done=key-settings" {
		t.Errorf("after the change: %s", to)
	}
	if without, with := call(t, s, k.text, ""), call(t, s, k.text, k.secret); without != http.StatusUnauthorized || with != http.StatusOK {
		t.Errorf("a key that requires its secret: %d without, %d with it", without, with)
	}
	v.Get(k.path).Has(t, "renamed", "export SECRET=").Has(t, html.EscapeString(`-u ":$SECRET"`))

	next := readIssued(t, v.Follow(v.Post(k.path+"/rotate", url.Values{"value": {"on"}, "secret": {"on"}, "overlap": {"1h"}})))
	if next.text == "" || next.secret == "" || next.text == k.text || next.secret == k.secret {
		t.Fatalf("rotation made %+v", next)
	}
	for _, pair := range []issued{k, next} {
		if got := call(t, s, pair.text, pair.secret); got != http.StatusOK {
			t.Errorf("during the overlap a key is answered with %d", got)
		}
	}
	v.Get(k.path).Has(t, next.text, "works until").Lacks(t, k.text, next.secret)
	revoke(t, s, v, k, next)
	logs := s.Logs.String()
	for _, text := range []string{k.text, k.secret, next.text, next.secret} {
		if strings.Contains(logs, text) {
			t.Errorf("the log has a key or secret in it")
		}
	}
}

func revoke(t *testing.T, s *harness.Service, v *Visitor, old, k issued) {
	t.Helper()
	v.Post(k.path+"/revoke", nil).Is(t, http.StatusUnprocessableEntity).Has(t, "Check the box")
	if got := call(t, s, k.text, k.secret); got != http.StatusOK {
		t.Errorf("nobody was sure, and the key is answered with %d", got)
	}
	if to := v.Post(k.path+"/revoke", url.Values{"sure": {"on"}}).Is(t, http.StatusSeeOther).Header.Get("Location"); to != "/keys?done=revoked" {
		t.Errorf("after the revocation: %s", to)
	}
	for _, pair := range []issued{old, k} {
		if got := call(t, s, pair.text, pair.secret); got != http.StatusUnauthorized {
			t.Errorf("a revoked key is answered with %d", got)
		}
	}
	v.Get("/keys?done=revoked").Has(t, "Key revoked", "1 revoked")
	v.Get(k.path).Is(t, http.StatusOK).Has(t, "no longer works").Lacks(t, k.text, "/rotate")
	for _, page := range []string{"/settings", "/rotate"} {
		if to := v.Get(k.path+page).Is(t, http.StatusSeeOther).Header.Get("Location"); to != k.path {
			t.Errorf("%s of a revoked key goes to %s", page, to)
		}
	}
	v.Post(k.path+"/settings", url.Values{"name": {"back"}}).Is(t, http.StatusNotFound)
	v.Post(k.path+"/rotate", url.Values{"value": {"on"}, "overlap": {"0s"}}).Is(t, http.StatusNotFound)
	v.Post(k.path+"/revoke", url.Values{"sure": {"on"}}).Is(t, http.StatusSeeOther)
}

// TestRotateParts rotates one of the two, without overlap.
func TestRotateParts(t *testing.T) {
	s := harness.Start(t, nil)
	v := Member(t, s, "kim@example.com")
	k := v.makeKey(t, "")
	v.Post(k.path+"/settings", url.Values{"secret_required": {"on"}}).Is(t, http.StatusSeeOther)
	value := readIssued(t, v.Follow(v.Post(k.path+"/rotate", url.Values{"value": {"on"}, "overlap": {"0s"}})))
	if value.text == "" || value.secret != "" {
		t.Fatalf("a rotation of the key shows %q and %q", value.text, value.secret)
	}
	secret := readIssued(t, v.Follow(v.Post(k.path+"/rotate", url.Values{"secret": {"on"}, "overlap": {"0s"}})))
	if secret.secret == "" || secret.text != "" {
		t.Fatalf("a rotation of the secret shows %q and %q", secret.text, secret.secret)
	}
	secret.page.Has(t, s.URL("devnet", value.text))
	for _, c := range []struct {
		key, secret string
		want        int
	}{
		{value.text, secret.secret, http.StatusOK},
		{value.text, k.secret, http.StatusUnauthorized},
		{k.text, secret.secret, http.StatusUnauthorized},
	} {
		if got := call(t, s, c.key, c.secret); got != c.want {
			t.Errorf("status %d, want %d", got, c.want)
		}
	}
}

// TestWrongForms shows each form again, with what is wrong and what was typed.
func TestWrongForms(t *testing.T) {
	s := harness.Start(t, nil)
	v := Member(t, s, "kim@example.com")
	k := v.makeKey(t, "good")
	long := strings.Repeat("ü", 65)
	many := strings.Repeat("eth_call\n", 31)
	for name, c := range map[string]struct {
		path  string
		form  url.Values
		wants []string
	}{
		"a long name":       {"/keys", url.Values{"name": {long}}, []string{"at most 64 printable characters", long}},
		"a control":         {"/keys", url.Values{"name": {"a\x07b"}}, []string{"printable"}},
		"not UTF-8":         {"/keys", url.Values{"name": {"a\xff"}}, []string{"printable"}},
		"renamed too long":  {k.path + "/settings", url.Values{"name": {long}}, []string{"at most 64", long}},
		"no method":         {k.path + "/settings", url.Values{"methods": {"eth_call\r\nnonsense"}}, []string{"nonsense", "is not a method name", "eth_call\r\nnonsense"}},
		"no address":        {k.path + "/settings", url.Values{"addresses": {"0x12"}, "name": {"kept"}, "secret_required": {"on"}}, []string{"0x12", "40 hex digits", `value="kept"`, `value="on" checked`}},
		"no origin":         {k.path + "/settings", url.Values{"origins": {"example.com/x"}}, []string{"example.com/x", "a scheme and a host"}},
		"markup in a list":  {k.path + "/settings", url.Values{"user_agents": {"</textarea><script>x\x01"}}, []string{"&lt;/textarea&gt;&lt;script&gt;"}},
		"too many":          {k.path + "/settings", url.Values{"methods": {many}}, []string{"Too many methods: at most 30"}},
		"a limit in words":  {k.path + "/settings", url.Values{"credits_per_second": {"ten"}}, []string{"a whole number of credits", `value="ten"`}},
		"a negative limit":  {k.path + "/settings", url.Values{"credits_per_day": {"-1"}}, []string{"be negative", `value="-1"`}},
		"above the plan":    {k.path + "/settings", url.Values{"credits_per_second": {"2001"}}, []string{"exceed the plan", `value="2001"`}},
		"no day":            {k.path + "/settings", url.Values{"expires": {"31.1."}}, []string{"a day like", `value="31.1."`}},
		"a day in the past": {k.path + "/settings", url.Values{"expires": {"2020-01-31"}}, []string{"only expire in the future", `value="2020-01-31"`}},
		"nothing to rotate": {k.path + "/rotate", url.Values{"overlap": {"1h"}}, []string{"Choose what to rotate"}},
		"no overlap":        {k.path + "/rotate", url.Values{"value": {"on"}}, []string{"hoose how long"}},
		"a long overlap":    {k.path + "/rotate", url.Values{"value": {"on"}, "overlap": {"9000h"}}, []string{"between 0 and"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := v.Post(c.path, c.form).Is(t, http.StatusUnprocessableEntity).Lacks(t, "<script>x")
			p.Has(t, `role="alert"`)
			for _, w := range c.wants {
				if !strings.Contains(html.UnescapeString(p.Body), html.UnescapeString(w)) {
					t.Errorf("the page lacks %q:\n%s", w, p.Body)
				}
			}
		})
	}
	v.Post("/keys", url.Values{"name": {strings.Repeat("x", 1<<20)}}).Is(t, http.StatusRequestEntityTooLarge)
	v.Get(k.path+"/settings").Has(t, `value="good"`) // nothing of all that was saved
	if got := call(t, s, k.text, ""); got != http.StatusOK {
		t.Errorf("after all that the key is answered with %d", got)
	}
}

// TestSettingsKept fills every setting in and finds it again, in its stored form.
func TestSettingsKept(t *testing.T) {
	s := harness.Start(t, nil)
	v := Member(t, s, "kim@example.com")
	k := v.makeKey(t, "x")
	v.Post(k.path+"/settings", url.Values{
		"name": {"all"}, "methods": {" eth_call \r\n\r\neth_chainId\r\n"}, "addresses": {"0x" + strings.Repeat("AB", 20)},
		"origins": {"https://App.example.com/"}, "user_agents": {"my app"}, "credits_per_second": {"100"}, "credits_per_day": {" 2000 "}, "keep_params": {"on"}, "keep_responses": {"on"}, "expires": {"2031-12-31"},
	}).Is(t, http.StatusSeeOther)
	v.Get(k.path+"/settings?done=key-settings").Has(t, "settings saved", `value="all"`, ">eth_call\neth_chainId</textarea>", ">0x"+strings.Repeat("ab", 20)+"</textarea>",
		">https://app.example.com</textarea>", ">my app</textarea>", `name="keep_params" value="on" checked`, `name="keep_responses" value="on" checked`, `value="100"`, `value="2000"`, `value="2031-12-31"`)
	v.Get(k.path).Has(t, "may refuse these examples", "This key expires")
	v.Get("/keys").Has(t, ">methods<", ">contracts<", ">origins<", ">clients<", ">key limits<").Lacks(t, ">secret required<")
	keys, err := s.Server.Control().Accounts.Keys(context.Background(), accountOf(t, s, "kim@example.com"))
	if err != nil || len(keys) != 1 || keys[0].Settings.CreditsPerDay != 2000 || !keys[0].Settings.KeepParams || !keys[0].Settings.KeepResponses || len(keys[0].Settings.Methods) != 2 ||
		!keys[0].Settings.Expires.Equal(time.Date(2032, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("stored are %+v (%v)", keys, err)
	}
}

func accountOf(t *testing.T, s *harness.Service, email string) string {
	t.Helper()
	a, err := s.Server.Control().Store.AccountByEmail(context.Background(), email)
	if err != nil {
		t.Fatal(err)
	}
	return a.ID
}

// TestForeignKeys: what belongs to another account is not there, and strangers are sent
// to the sign-in without learning more.
func TestForeignKeys(t *testing.T) {
	s := harness.Start(t, nil)
	owner, other, stranger := Member(t, s, "owner@example.com"), Member(t, s, "other@example.com"), Visit(t, s)
	k := owner.makeKey(t, "mine alone")
	posts := map[string]url.Values{
		"/settings": {"name": {"stolen"}}, "/rotate": {"value": {"on"}, "secret": {"on"}, "overlap": {"0s"}}, "/revoke": {"sure": {"on"}},
	}
	for _, id := range []string{k.path, "/keys/k-nothing", "/keys/%2e%2e", "/keys/'or''='", "/keys/" + strings.Repeat("k", 2000)} {
		for _, page := range []string{"", "/settings", "/rotate"} {
			other.Get(id+page).Is(t, http.StatusNotFound).Lacks(t, "mine alone", k.text)
		}
		for page, form := range posts {
			other.Post(id+page, form).Is(t, http.StatusNotFound).Lacks(t, "mine alone", k.text)
		}
	}
	for page, form := range posts {
		if to := stranger.Post(k.path+page, form).Is(t, http.StatusSeeOther).Header.Get("Location"); to != "/login" {
			t.Errorf("a stranger is sent to %s", to)
		}
	}
	stranger.Get(k.path).Is(t, http.StatusSeeOther)
	owner.Get("/keys").Has(t, "mine alone", "1 active")
	if got := call(t, s, k.text, ""); got != http.StatusOK {
		t.Errorf("the owner's key is answered with %d", got)
	}
}

// TestHostileNames: a name is text wherever it stands, and can't turn what is beside it.
func TestHostileNames(t *testing.T) {
	s := harness.Start(t, nil)
	v := Member(t, s, "kim@example.com")
	for _, name := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `{{.Account.Password}}`, `</title><b>`,
		"\u202egnp.exe", "\u2066\u2067\u05d0", strings.Repeat("🔑", 64), "&lt;b&gt;", "javascript:alert(1)",
	} {
		k := v.makeKey(t, name)
		shown := `<bdi class="name">` + html.EscapeString(name) + `</bdi>`
		for _, p := range []Page{k.page, v.Get("/keys"), v.Get(k.path), v.Get(k.path + "/settings"), v.Get(k.path + "/rotate")} {
			body := strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&#43;", "+").Replace(p.Body)
			want := strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(shown)
			if !strings.Contains(body, want) {
				t.Errorf("%q is not shown as %s:\n%s", name, shown, p.Body)
			}
			p.Lacks(t, "<script>alert", "<img src=x", "</title><b>", "argon2")
		}
	}
}

// TestAddresses: the pages say how the service is reached from where the reader is.
func TestAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Config)
		host   string
		header string // X-Forwarded-Proto
		wants  []string
	}{
		"as the browser":   {nil, "node.example.com:8080", "", []string{"http://node.example.com:8080/devnet/v3/", "ws://node.example.com:8080/devnet/ws/v3/", "https://node.example.com:"}},
		"IPv6":             {nil, "[::1]:8545", "", []string{"http://[::1]:8545/devnet/v3/", "https://[::1]:"}},
		"a proxy with TLS": {func(c *config.Config) { c.TrustedProxies = []string{"127.0.0.1/32"} }, "node.example.com", "https", []string{"https://node.example.com/devnet/v3/", "wss://node.example.com/devnet/ws/v3/"}},
		"not a proxy":      {nil, "node.example.com", "https", []string{"http://node.example.com/devnet/v3/"}},
		"configured": {func(c *config.Config) {
			c.Dashboard.URL, c.Dashboard.StorageURL = "https://rpc.example.com", "https://files.example.com"
		}, "inner", "", []string{"https://rpc.example.com/devnet/v3/", "wss://rpc.example.com/rollup/ws/v3/", "https://files.example.com<"}},
		"a shell as a host": {nil, "x'$(id)", "", []string{"http://localhost/devnet/v3/"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.Start(t, c.change)
			v := Member(t, s, "kim@example.com")
			k := v.makeKey(t, "x")
			v.Host = c.host
			v.send(http.MethodGet, k.path, "", nil, http.Header{"X-Forwarded-Proto": {c.header}}).Is(t, http.StatusOK).Has(t, c.wants...).Lacks(t, "$(id)")
			storage := v.Get(k.path+"?storage=1").Has(t, "storage-kubo", "billing card")
			if local := strings.Contains(storage.Body, "nodegate ca"); local == (name == "configured") {
				t.Errorf("the local authority is spoken of: %v", local)
			}
		})
	}
}

// TestTabs: the address chooses the network and the tool, without a script.
func TestTabs(t *testing.T) {
	s := harness.Start(t, nil)
	v := Member(t, s, "kim@example.com")
	k := v.makeKey(t, "x")
	for query, wants := range map[string][]string{
		"":                             {`id="tool-curl" checked`, "curl " + s.URL("devnet", k.text)},
		"?network=rollup&tab=cast":     {`id="tool-cast" checked`, "--rpc-url " + s.URL("rollup", k.text)},
		"?tab=geth":                    {`id="tool-geth" checked`, "ethclient.DialContext"},
		"?storage=1&tab=storage-go":    {`id="tool-storage-go" checked`, "ca.pem"},
		"?network=nowhere&tab=nothing": {`id="tool-curl" checked`, "curl " + s.URL("devnet", k.text)},
	} {
		p := v.Get(k.path+query).Is(t, http.StatusOK)
		for _, w := range wants {
			if !strings.Contains(html.UnescapeString(p.Body), w) {
				t.Errorf("%s lacks %q:\n%s", query, w, p.Body)
			}
		}
		if n := strings.Count(p.Body, " checked"); n != 1 {
			t.Errorf("%s has %d tools chosen", query, n)
		}
	}
}

// TestManyKeys pages through more keys than fit.
func TestManyKeys(t *testing.T) {
	s := harness.Start(t, nil)
	v := Member(t, s, "kim@example.com")
	id := accountOf(t, s, "kim@example.com")
	for i := range 101 {
		if _, err := s.Server.Control().Accounts.CreateKey(context.Background(), nodegate.Actor{Name: "test"}, id, "number "+strconv.Itoa(i)+" ", nodegate.KeySettings{}); err != nil {
			t.Fatal(err)
		}
	}
	v.Get("/keys").Has(t, "101 active", "number 100 ", "number 51 ", "page 1 of 3", "/keys?page=2").Lacks(t, "number 50 ", "Newer")
	v.Get("/keys?page=2").Has(t, "number 50 ", "number 1 ", "Newer", "Older").Lacks(t, "number 51 ", "number 0 ")
	v.Get("/keys?page=3").Has(t, "number 0 ", "Newer").Lacks(t, "number 1 ", "Older")
	for _, odd := range []string{"0", "-1", "99", "x", "9999999999999999999"} {
		v.Get("/keys?page="+odd).Is(t, http.StatusOK)
	}
}
