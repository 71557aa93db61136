package browser

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// hostile is a page that somebody stores: it does all it can to whoever opens it while
// they are signed in to the dashboard.
const hostile = `<!doctype html><title>quiet</title>
<form id="f" method="post" action="BASE/logout"><button id="go">Win a prize</button></form>
<img id="i" src="BASE/static/nothing.png"><iframe id="frame" src="BASE/account"></iframe>
<script>
document.title = "ran";
try { document.title = "cookie " + document.cookie; } catch (e) {}
fetch("BASE/account", {credentials: "include"}).then(r => r.text()).then(t => { document.title = "read " + t.length; });
fetch("BASE/logout", {method: "POST", credentials: "include", mode: "no-cors"});
document.getElementById("f").submit();
</script>`

// A stored page, opened from the read gateway by somebody who is signed in, reads no
// cookie, fetches nothing of the dashboard, and sends no form there.
func TestStoredPageIsHarmless(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) { c.Storage.Gateway = "public" })
	ctx := Open(t)
	base := localhost(s.RPC)
	SignIn(t, ctx, s)
	cid := add(t, s, strings.ReplaceAll(hostile, "BASE", base))

	page := localhost(strings.Replace(s.Server.Addresses().Storage, "https", "http", 1)) + "/ipfs/" + cid
	Do(t, ctx, chromedp.Navigate(page), chromedp.WaitVisible("#go"))
	Do(t, ctx, chromedp.Click("#go"))
	if title := Ask(t, ctx, chromedp.Title()); title != "quiet" {
		t.Errorf("its script ran: %q", title)
	}
	if where := Ask(t, ctx, chromedp.Location()); where != page {
		t.Errorf("its form was sent: the browser is at %s", where)
	}
	if got := s.Logs.String(); strings.Contains(got, "cookie") {
		t.Error("a cookie is in the log")
	}
	Do(t, ctx, chromedp.Navigate(base+"/account"), chromedp.WaitVisible(`form[action="/account/password"]`))
}

// add stores a page by the storage gateway's own API.
func add(t *testing.T, s *harness.Service, content string) (cid string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", "index.html")
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	address := strings.Replace(s.Server.Addresses().Storage, "https", "http", 1) + "/api/v0/add?cid-version=1"
	req, err := http.NewRequest(http.MethodPost, address, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.SetBasicAuth(s.Server.FirstKey().Value, s.Server.FirstKey().Secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var line struct{ Hash string }
	if err := json.NewDecoder(res.Body).Decode(&line); err != nil || line.Hash == "" {
		t.Fatalf("%d, %v", res.StatusCode, err)
	}
	return line.Hash
}
