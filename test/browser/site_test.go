package browser

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// home is the first page of a small website.
const home = `<!doctype html><title>waiting</title><link rel="stylesheet" href="css/look.css">
<h1 id="head">NAME</h1><a id="next" href="pages/second.html">next</a><script src="run.js"></script>`

// run is its script: it shows what it can reach.
const run = `(async () => {
	const before = localStorage.getItem("secret");
	localStorage.setItem("secret", "of " + document.querySelector("#head").textContent);
	const data = await (await fetch("data.json")).json();
	const color = getComputedStyle(document.querySelector("#head")).color;
	document.title = ["ran", before, data.answer, color].join(" | ");
})().catch(e => { document.title = "failed: " + e; });`

func smallSite(t *testing.T, s *harness.Service, name string) (cid string) {
	t.Helper()
	return addFolder(t, s, "&wrap-with-directory=true", map[string]string{
		"index.html": strings.ReplaceAll(home, "NAME", name), "run.js": run, "css/look.css": "h1 { color: rgb(1, 2, 3) }",
		"data.json": `{"answer": 42}`, "pages/second.html": `<!doctype html><title>second</title><a id="back" href="../">back</a>`,
	})
}

// titled waits for a title that tells of an end.
func titled(t *testing.T, ctx context.Context, prefix string) string {
	t.Helper()
	var title string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if title = Ask(t, ctx, chromedp.Title()); strings.HasPrefix(title, prefix) || strings.HasPrefix(title, "failed") {
			break
		}
	}
	return title
}

// A website runs on an origin of its own: script, stylesheet, relative links and fetch
// work, and another CID sees nothing of its storage.
func TestSite(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) { c.Storage.Gateway = "public" })
	ctx := Open(t)
	one, two := smallSite(t, s, "one"), smallSite(t, s, "two")
	base := localhost(storageURL(s))
	at := func(cid string) string { return strings.Replace(base, "localhost", cid+".ipfs.localhost", 1) + "/" }

	Do(t, ctx, chromedp.Navigate(base+"/ipfs/"+one))
	if where := Ask(t, ctx, chromedp.Location()); where != at(one) {
		t.Fatalf("the path leads to %s, not to %s", where, at(one))
	}
	if title := titled(t, ctx, "ran"); title != "ran | | 42 | rgb(1, 2, 3)" {
		t.Errorf("one: %s", title)
	}
	Do(t, ctx, chromedp.Click("#next"), chromedp.WaitVisible("#back"))
	if where := Ask(t, ctx, chromedp.Location()); where != at(one)+"pages/second.html" {
		t.Errorf("a relative link leads to %s", where)
	}
	Do(t, ctx, chromedp.Click("#back"), chromedp.WaitVisible("#head"))
	if title := titled(t, ctx, "ran"); title != "ran | of one | 42 | rgb(1, 2, 3)" {
		t.Errorf("one again: %s", title)
	}
	Do(t, ctx, chromedp.Navigate(at(two)), chromedp.WaitVisible("#head"))
	if title := titled(t, ctx, "ran"); title != "ran | | 42 | rgb(1, 2, 3)" {
		t.Errorf("two sees: %s", title)
	}
}

// attack is a script that runs, on a site of its own, and does all it can to whoever is
// signed in to the dashboard and uses the API.
const attack = `<!doctype html><title>waiting</title><p id="p">prize</p><script>
(async () => {
	const got = [];
	if (document.cookie) got.push("cookie " + document.cookie);
	const read = async (url, options) => { try { const r = await fetch(url, options); if (r.type !== "opaque") got.push("read " + url + " " + r.status); } catch (e) {} };
	await read("BASE/account", {credentials: "include"});
	await read("BASE/logout", {method: "POST", credentials: "include"});
	await read("BASE/logout", {method: "POST", credentials: "include", mode: "no-cors"});
	await read("STORAGE/api/v0/version", {method: "POST", credentials: "include"});
	await read("STORAGE/api/v0/version", {method: "POST", headers: {Authorization: "Basic AUTH"}});
	try { document.domain = "localhost"; } catch (e) {}
	const frame = document.createElement("iframe");
	const loaded = new Promise(done => { frame.onload = done; setTimeout(done, 2000); });
	frame.src = "BASE/account"; document.body.append(frame); await loaded;
	try { if (frame.contentDocument.body.textContent) got.push("framed"); } catch (e) {}
	document.cookie = "__Host-session=planted; Path=/; Domain=localhost; Secure";
	document.cookie = "__Host-device=planted; Path=/; Domain=localhost";
	document.title = "done: " + got.join(", ");
})().catch(e => { document.title = "failed: " + e; });
</script>`

// A hostile website runs its script, and reaches neither the dashboard of whoever opens it
// nor the API of its own gateway, even with a key.
func TestHostileSite(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) { c.Storage.Gateway = "public" })
	ctx := Open(t)
	dashboard, storage := localhost(s.RPC), localhost(storageURL(s))
	SignIn(t, ctx, s)
	key := s.Server.FirstKey()
	cid := add(t, s, strings.NewReplacer("BASE", dashboard, "STORAGE", storage, "AUTH", basic(key.Value, key.Secret)).Replace(attack))

	Do(t, ctx, chromedp.Navigate(storage+"/ipfs/"+cid), chromedp.WaitVisible("#p"))
	if title := titled(t, ctx, "done"); title != "done:" {
		t.Errorf("it got %q", title)
	}
	Do(t, ctx, chromedp.Navigate(dashboard+"/account"), chromedp.WaitVisible(`form[action="/account/password"]`))
}

func basic(key, secret string) string {
	return base64.StdEncoding.EncodeToString([]byte(key + ":" + secret))
}
