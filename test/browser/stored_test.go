package browser

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
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

// A stored page, opened by its path by somebody who is signed in, reads no cookie, fetches
// nothing of the dashboard, and sends no form there.
func TestStoredPageIsHarmless(t *testing.T) {
	// Paths on localhost redirect by default: the dashboard's own host is the one to fear.
	s := harness.Start(t, func(c *config.Config) { c.Storage.Gateway, c.Storage.GatewayHosts = "public", nil })
	ctx := Open(t)
	base := localhost(s.RPC)
	SignIn(t, ctx, s)
	cid := add(t, s, strings.ReplaceAll(hostile, "BASE", base))

	page := localhost(storageURL(s)) + "/ipfs/" + cid
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
	return addFolder(t, s, "", map[string]string{"index.html": content})
}

// addFolder stores files with some options, and returns the CID of what is stored last.
func addFolder(t *testing.T, s *harness.Service, options string, files map[string]string) (cid string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		part, err := w.CreateFormFile("file", url.QueryEscape(name))
		if err == nil {
			_, err = part.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	address := storageURL(s) + "/api/v0/add?cid-version=1" + options
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
	for lines := json.NewDecoder(res.Body); err == nil; err = lines.Decode(&line) {
	}
	if !errors.Is(err, io.EOF) || line.Hash == "" {
		t.Fatalf("%d, %v", res.StatusCode, err)
	}
	return line.Hash
}

// storageURL is the storage gateway's address in plain HTTP.
func storageURL(s *harness.Service) string {
	return strings.Replace(s.Server.Addresses().Storage, "https", "http", 1)
}
