package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard"
)

// Reloading the page of a new key shows it again and creates nothing. The page is the
// owner's alone, and other pages of the key don't have the secret.
func TestReloadKeyCreated(t *testing.T) {
	s, _ := Start(t, nil)
	v := Member(t, s, "kim@example.com")
	p := v.Post("/keys", url.Values{"name": {"only one"}}).Is(t, http.StatusSeeOther)
	if strings.Contains(p.Location, "secret") || !strings.HasSuffix(p.Location, "/issued") {
		t.Fatalf("leads to %s", p.Location)
	}
	cookie := p.Header.Get("Set-Cookie")
	for _, want := range []string{"Path=" + p.Location, "HttpOnly", "Secure", "SameSite=Strict", "Max-Age=300"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q lacks %q", cookie, want)
		}
	}
	once, again := readIssued(t, v.Get(p.Location)), readIssued(t, v.Get(p.Location))
	if once.secret == "" || once.secret != again.secret || once.text != again.text {
		t.Errorf("the page shows %q, reloaded %q", once.secret, again.secret)
	}
	if strings.Contains(cookie, once.secret) {
		t.Error("the cookie has the secret in it, unsealed")
	}
	v.Get("/keys").Has(t, "1 active")
	v.Get(once.path).Lacks(t, once.secret)

	other := Member(t, s, "other@example.com")
	other.receipt = v.receipt
	other.Get(p.Location).Is(t, http.StatusNotFound)
	changed := *v.receipt
	changed.Value = "x" + changed.Value
	v.receipt = &changed
	if to := v.Get(p.Location).Is(t, http.StatusSeeOther).Location; to != once.path {
		t.Errorf("a changed receipt leads to %s", to)
	}
	v.receipt = nil
	if to := v.Get(p.Location).Is(t, http.StatusSeeOther).Location; to != once.path {
		t.Errorf("without a receipt the page leads to %s", to)
	}
}

// Every address that takes a change has a page when somebody reloads it.
func TestLandings(t *testing.T) {
	s, _ := Start(t, nil)
	v, found := Operator(t, s), 0
	key := s.Server.FirstKey().Key
	for _, r := range dashboard.Routes() {
		if r.Method != http.MethodPost || strings.Contains(r.Path, "{token}") {
			continue // links are not there without a token: see TestResetByMail
		}
		id := key.ID
		if r.Operator {
			id = key.AccountID
		}
		p := v.Get(address(r, id))
		if p.Status == http.StatusSeeOther && r.Path != "/logout" {
			found++
			p = v.Follow(p)
		}
		if p.Status != http.StatusOK && p.Status != http.StatusSeeOther {
			t.Errorf("GET %s: %d", r.Path, p.Status)
		}
	}
	if found < 10 {
		t.Errorf("only %d addresses lead to another", found)
	}
}

// The faucet and uploads lead to a page, which can be reloaded and repeats nothing.
func TestReloadRepeatsNothing(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	p := v.Post("/try/faucet", url.Values{"network": {"devnet"}, "address": {"0x00000000000000000000000000000000000000fa"}}).Is(t, http.StatusSeeOther)
	if !strings.HasPrefix(p.Location, "/try?") || !strings.HasSuffix(p.Location, "#faucet") {
		t.Errorf("the faucet leads to %s", p.Location)
	}
	v.Follow(p).Is(t, http.StatusOK).Has(t, "Sent: transaction", "0x")
	v.Get("/try?network=devnet&sent=your+account+is+closed").Lacks(t, "Sent: transaction", "is closed")

	p = v.Upload("/files", "a note.txt", "a note").Is(t, http.StatusSeeOther)
	v.Follow(p).Is(t, http.StatusOK).Has(t, "Stored and pinned.", `id="added"`, "a note.txt", "1 pinned")
	v.Get("/files?added=bafkreinobodyhasthis").Is(t, http.StatusOK).Lacks(t, `id="added"`)
}

// The form of a key's settings says everything that is wrong, at its field and in a list.
func TestAllProblemsOfSettings(t *testing.T) {
	s, _ := Start(t, nil)
	v := Member(t, s, "kim@example.com")
	k := v.makeKey(t, "good")
	p := v.Post(k.path+"/settings", url.Values{"name": {"good"}, "methods": {"nonsense"}, "origins": {"example.com/x"}, "credits_per_day": {"ten"}}).Is(t, http.StatusUnprocessableEntity)
	p.Has(t, "3 fields need a change", "is not a method name", "a scheme and a host", "a whole number of credits")
	for field, label := range map[string]string{"methods": "Methods", "origins": "Origins", "credits_per_day": "Credits per day"} {
		p.Has(t, `id="`+field+`" aria-invalid="true" aria-describedby="`+field+`-wrong"`, `id="`+field+`-wrong"`, `<a href="#`+field+`">`+label+`</a>`)
	}
	if n := strings.Count(p.Body, "aria-invalid"); n != 3 {
		t.Errorf("%d fields are marked", n)
	}
	none := v.Post(k.path+"/settings", url.Values{"services_shown": {"yes"}, "addresses": {"0x12"}}).Is(t, http.StatusUnprocessableEntity)
	none.Has(t, "2 fields need a change", `id="service-wrong"`, `id="addresses-wrong"`)
}

// The card form says which years it takes, takes two digits, and keeps what it may after a
// decline.
func TestCardFormKeeps(t *testing.T) {
	s, _ := Start(t, nil)
	v := Member(t, s, "kim@example.com")
	v.Get("/billing").Has(t, "30 or 2030").Lacks(t, `type="number"`)
	declined := v.Post("/billing/card", url.Values{"number": {"4000000000000002"}, "month": {"07"}, "year": {"39"}, "cvc": {"737"}}).Is(t, http.StatusUnprocessableEntity)
	declined.Has(t, `value="07"`, `value="39"`, "never sent back").Lacks(t, "4000000000000002", "737")
	v.Post("/billing/card", url.Values{"number": {"4242424242424242"}, "month": {"7"}, "year": {"39"}, "cvc": {"737"}}).Is(t, http.StatusSeeOther)
	v.Get("/billing").Has(t, "expires 07/2039")
}

// The docs list the storage commands that the gateway serves, and no others.
func TestStorageCommandsInDocs(t *testing.T) {
	s, v := Start(t, nil)
	source, err := os.ReadFile("../../internal/ipfs/gateway/commands.go")
	if err != nil {
		t.Fatal(err)
	}
	served := regexp.MustCompile(`(?m)^\t\t\{name: "([a-z0-9/]+)"`).FindAllStringSubmatch(string(source), -1)
	page := v.Get("/docs").Is(t, http.StatusOK)
	listed := regexp.MustCompile(`<th scope="row" class="anchor" id="([a-z0-9/]+)">`).FindAllStringSubmatch(page.Body, -1)
	if len(served) < 30 || len(listed) != len(served) {
		t.Errorf("%d commands are served, %d listed", len(served), len(listed))
	}
	for _, m := range served {
		page.Has(t, `id="`+m[1]+`"`)
	}
	v.Get("/docs?q=pin+verify").Has(t, "1 found", "pin/verify").Lacks(t, "block/put")
	_ = s
}

// A method's page leads to where it can be sent with one of the reader's keys.
func TestTryThis(t *testing.T) {
	s, stranger := Start(t, nil)
	v := Operator(t, s)
	link := regexp.MustCompile(`<a class="button primary" href="(/try\?[^"]+)">Try this with your key</a>`)
	for _, method := range []string{"eth_getBlockReceipts", "eth_chainId", "eth_getStorageAt", "web3_sha3"} {
		to := html.UnescapeString(first(link, v.Get("/docs/"+method).Is(t, http.StatusOK).Body))
		if to == "" {
			t.Errorf("%s: no link", method)
			continue
		}
		p := v.Get(to).Is(t, http.StatusOK).Has(t, `name="method" value="`+method+`"`)
		found := params.FindStringSubmatch(p.Body)
		query, _ := url.ParseQuery(strings.TrimPrefix(to, "/try?"))
		sent := v.Post("/try", url.Values{"network": query["network"], "method": {method}, "params": {html.UnescapeString(found[1])}})
		if !strings.Contains(sent.Body, `<span class="tag good">ok</span>`) {
			t.Errorf("%s with %s: %s", method, found[1], answerOf(sent))
		}
	}
	stranger.Get("/docs/eth_chainId").Has(t, "Sign in to try this")
	v.Get("/docs/eth_subscribe").Lacks(t, "Try this")
}

// No two copy buttons of a page have the same name, and each has one.
func TestCopyButtonNames(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	stored(t, v, "a.txt", "a")
	stored(t, v, "b.txt", "b")
	k := v.makeKey(t, "copy")
	button, label := regexp.MustCompile(`<button[^>]* data-copy=[^>]*>`), regexp.MustCompile(` aria-label="(Copy [^"]+)"`)
	for name, page := range map[string]Page{
		"issued": k.page, "key": v.Get(k.path), "storage": v.Get(k.path + "?storage=1"), "files": v.Get("/files"), "docs": v.Get("/docs/eth_call"),
	} {
		seen := map[string]bool{}
		for _, b := range button.FindAllString(page.Body, -1) {
			text := first(label, b)
			if text == "" || seen[text] {
				t.Errorf("%s: the name %q of %s", name, text, b)
			}
			seen[text] = true
		}
		if len(seen) < 2 {
			t.Errorf("%s: %d copy buttons", name, len(seen))
		}
	}
}
