package browser

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// file writes a file of a test's own.
func file(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// drawing is an image of two colors.
func drawing(t *testing.T) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 320, 200))
	for i := range 320 * 200 {
		m.Set(i%320, i/320, color.RGBA{R: uint8(i % 320 / 2), G: 150, B: 118, A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// upload chooses files in a form and waits until its script has stored them.
func upload(t *testing.T, ctx context.Context, form string, paths ...string) {
	t.Helper()
	Do(t, ctx, chromedp.SetUploadFiles(form+` input[type="file"]`, paths), chromedp.Click(form+` button`), chromedp.WaitVisible(form+` [data-upload-result].good`))
}

// A folder is added, opened, and walked down to an image that its page shows; the image gets
// another name. Chromium sends the names of a folder's files without a script as well.
func TestFilesStory(t *testing.T) { onScreens(t, filesStory) }

func filesStory(t *testing.T, ctx context.Context) {
	s := harness.Start(t, func(c *config.Config) { c.Storage.Gateway = "public" })
	SignIn(t, ctx, s)
	base := localhost(s.RPC)
	folder := filepath.Dir(filepath.Dir(file(t, "launch/img/cover.png", drawing(t))))
	for name, text := range map[string]string{"readme.txt": "Launch files\n", "data/traits.json": `{"traits": []}`} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Do(t, ctx, chromedp.Navigate(base+"/files"), chromedp.Click(`main details > summary`), chromedp.WaitVisible(`input[webkitdirectory]`))
	if scripted(ctx) {
		upload(t, ctx, `details form[data-upload]`, folder)
	} else {
		Do(t, ctx, chromedp.SetUploadFiles(`details form[data-upload] input[type="file"]`, []string{folder}), chromedp.Click(`details form[data-upload] button`), chromedp.WaitVisible(`#added`))
	}
	Do(t, ctx, chromedp.WaitVisible(`[data-pins] a[href^="/files/open"]`))
	shoot(t, ctx, "files-list")
	Do(t, ctx, chromedp.Click(`[data-pins] a[href^="/files/open"]`), chromedp.WaitVisible(`#entries`))
	if got := Text(t, ctx, `#entries`); !strings.Contains(got, "readme.txt") || !strings.Contains(got, "img") {
		t.Fatalf("the folder has %s", got)
	}
	shoot(t, ctx, "files-folder")
	Do(t, ctx, chromedp.Click(`#entries a[href$="path=img"]`), chromedp.WaitVisible(`#entries a[href$="cover.png"]`), chromedp.Click(`#entries td:first-child a`), chromedp.WaitVisible(`iframe.preview`))
	fitsScreen(t, ctx, "a preview")
	shoot(t, ctx, "files-preview")
	if got := Ask(t, ctx, chromedp.Evaluate[bool](`document.querySelector("iframe").contentDocument === null`)); !got {
		t.Error("the page can reach into the frame, so the frame can reach the page")
	}
	frame := Ask(t, ctx, chromedp.Evaluate[string](`document.querySelector("iframe").getAttribute("src")`))
	Do(t, ctx, chromedp.Click(`.crumbs li:nth-child(2) a`), chromedp.WaitVisible(`form[action="/files/rename"]`),
		chromedp.SetValue(`form[action="/files/rename"] input[name="name"]`, "Launch 2026"), chromedp.Click(`form[action="/files/rename"] button`), chromedp.WaitVisible(`.notice.good`))
	if got := Text(t, ctx, `h1`); got != "Launch 2026" {
		t.Errorf("renamed to %q", got)
	}
	Do(t, ctx, chromedp.Navigate(base+frame), chromedp.WaitVisible(`img`))
	if got := Ask(t, ctx, chromedp.Evaluate[int](`document.images[0].naturalWidth`)); got != 320 {
		t.Errorf("the image is shown %d px wide", got)
	}
}

// Without scripts, a folder is made of files that are pinned, and content is pinned by its CID.
func TestFilesWithoutScripts(t *testing.T) {
	s := harness.Start(t, nil)
	ctx := Open(t)
	addFolder(t, s, "&name-pins=true", map[string]string{"a.txt": "first", "b.txt": "second", "c.txt": "third"})
	SignIn(t, ctx, s)
	Do(t, ctx, scripts(false), chromedp.Navigate(localhost(s.RPC)+"/files"), chromedp.Click(`main a[href="/files/folder"]`), chromedp.WaitVisible(`form[action="/files/folder"] input[name="cid"]`))
	shoot(t, ctx, "files-new-folder")
	Do(t, ctx, chromedp.SendKeys(`form[method="post"] input[name="name"]`, "Letters"), chromedp.Click(`tr:nth-child(1) input[name="cid"]`), chromedp.Click(`tr:nth-child(3) input[name="cid"]`),
		chromedp.Click(`form[method="post"] button.primary`), chromedp.WaitVisible(`#entries`))
	if got := Text(t, ctx, `main`); !strings.Contains(got, "Folder created.") || !strings.Contains(got, "Letters") || !strings.Contains(got, "2 entries") {
		t.Errorf("the new folder's page: %s", got)
	}
	inside := Ask(t, ctx, chromedp.TextContent(`#entries tbody`))
	cid := Ask(t, ctx, chromedp.AttributeValue(`#entries td code`, "title"))
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+"/files"), chromedp.Click(`main a[href="/files/pin"]`), chromedp.WaitVisible(`form[action="/files/pin"]`))
	shoot(t, ctx, "files-pin")
	Do(t, ctx, chromedp.SendKeys(`input[name="cid"]`, "ipfs://"+cid.Value), chromedp.SendKeys(`input[name="name"]`, "Pinned by hand"), chromedp.Click(`form[action="/files/pin"] button`), chromedp.WaitVisible(`#added`))
	if got := Text(t, ctx, `main`); !strings.Contains(got, "Pinned.") || !strings.Contains(got, "Pinned by hand") {
		t.Errorf("after pinning an entry of %s: %s", inside, got)
	}
}

// What somebody stored runs nothing in a preview, in its frame and when its address is opened
// by itself.
func TestHostilePreview(t *testing.T) {
	s := harness.Start(t, nil)
	ctx := Open(t)
	SignIn(t, ctx, s)
	base := localhost(s.RPC)
	for name, content := range map[string]string{
		"page.html": strings.ReplaceAll(hostile, "BASE", base),
		"image.svg": `<svg xmlns="http://www.w3.org/2000/svg" onload="document.title='ran'"><script>fetch("` + base + `/logout",{method:"POST"})</script></svg>`,
		"odd.gif":   "GIF89a/*" + `<script>document.title = "ran"</script>`,
	} {
		cid := addFolder(t, s, "&name-pins=true", map[string]string{name: content})
		Do(t, ctx, chromedp.Navigate(base+"/files/open?cid="+cid), chromedp.WaitVisible(`iframe.preview`))
		frame := Ask(t, ctx, chromedp.Evaluate[string](`document.querySelector("iframe").getAttribute("src")`))
		Do(t, ctx, chromedp.Navigate(base+frame))
		if title := Ask(t, ctx, chromedp.Title()); strings.Contains(title, "ran") || strings.Contains(title, "cookie") || strings.Contains(title, "read") {
			t.Errorf("%s: its script ran: %q", name, title)
		}
		if where := Ask(t, ctx, chromedp.Location()); where != base+frame {
			t.Errorf("%s: its form was sent: the browser is at %s", name, where)
		}
	}
	Do(t, ctx, chromedp.Navigate(base+"/account"), chromedp.WaitVisible(`form[action="/account/password"]`))
}

// A large file goes in parts. One that broke off before goes on where it was, and a part whose
// connection breaks is sent again by itself.
func TestLargeUpload(t *testing.T) {
	s := harness.Start(t, nil)
	ctx := Open(t)
	SignIn(t, ctx, s)
	content := make([]byte, 20<<20)
	for i := range content {
		content[i] = byte(i * 2654435761 >> 13)
	}
	path := file(t, "film.mov", content)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	about, _ := json.Marshal(map[string]any{"name": "film.mov", "size": len(content), "modified": info.ModTime().UnixMilli()})
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+"/files"), chromedp.SetUploadFiles(`input[type="file"]`, []string{path}))
	first := Ask(t, ctx, chromedp.Evaluate[float64](`(async () => {
		const about = new URLSearchParams(`+string(about)+`);
		const up = await (await fetch("/files/uploads", {method: "POST", body: about})).json();
		const part = document.querySelector("input[type=file]").files[0].slice(0, 8 << 20);
		const answer = await (await fetch("/files/uploads/" + up.id + "?offset=0", {method: "POST", body: part})).json();
		const open = XMLHttpRequest.prototype.open;
		let broken = 0;
		XMLHttpRequest.prototype.open = function (method, address) {
			window.sent = (window.sent || []).concat(address.replace(/.*[?]/, ""));
			if (address.endsWith("offset=16777216") && !broken++) address = "http://localhost:1/";
			return open.call(this, method, address);
		};
		return answer.received;
	})()`, chromedp.EvalAwaitPromise))
	if first != 8<<20 {
		t.Fatalf("%v bytes of the first part", first)
	}
	Do(t, ctx, chromedp.Click(`form[data-upload] button`), chromedp.WaitVisible(`[data-upload-result].good`), chromedp.WaitVisible(`[data-pins] [data-copy]`))
	sent := Ask(t, ctx, chromedp.Evaluate[string](`window.sent.filter(a => a.startsWith("offset")).join()`))
	if sent != "offset=8388608,offset=16777216,offset=16777216" {
		t.Errorf("the parts: %s", sent)
	}
	cid := Ask(t, ctx, chromedp.Evaluate[string](`document.querySelector("[data-pins] [data-copy]").dataset.copy`))
	stored := Ask(t, ctx, chromedp.Evaluate[string](`(async () => {
		const content = await (await fetch("/files/download?cid=`+cid+`")).arrayBuffer();
		return [...new Uint8Array(await crypto.subtle.digest("SHA-256", content))].map(b => b.toString(16).padStart(2, "0")).join("");
	})()`, chromedp.EvalAwaitPromise))
	if sum := sha256.Sum256(content); stored != hex.EncodeToString(sum[:]) {
		t.Errorf("what is stored has the hash %s", stored)
	}
}
