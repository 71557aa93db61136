package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/harness"
)

// overflow lists what is wider than the screen, and tables that are cut off. A phone zooms
// out of a page that is too wide, so innerWidth can't tell.
const overflow = `((width) => {
	const wide = [];
	if (document.documentElement.scrollWidth > width) {
		wide.push("the page is " + document.documentElement.scrollWidth + " px wide");
		for (const e of document.querySelectorAll("main *")) if (e.getBoundingClientRect().right > width + 1) wide.push(e.outerHTML.slice(0, 120));
	}
	for (const e of document.querySelectorAll(".wide:has(.stacked)")) if (e.scrollWidth > e.clientWidth + 1) wide.push("a table is " + e.scrollWidth + " px wide in " + e.clientWidth + ": " + e.innerText.slice(0, 60));
	return wide.slice(0, 6);
})`

// small lists controls that a finger can't hit.
const small = `[...document.querySelectorAll("button, .button, select, summary, .tabbar a, .tabs a, .seg a, input:not([type=hidden]):not([type=checkbox]):not([type=radio])")]
	.map(e => [e, e.getBoundingClientRect()]).filter(([e, box]) => box.width > 0 && !e.closest("figure") && (box.height < 43.5)).map(([e, box]) => box.height + " px: " + e.outerHTML.slice(0, 120)).slice(0, 6)`

// tallestPlot is drawn for a third of a wide screen, and must not grow with the width of a
// tablet.
const tallestPlot = `Math.max(...[...document.querySelectorAll(".grid.charts svg")].map(e => e.getBoundingClientRect().height))`

// Every page fits a phone and a laptop: nothing makes it scroll sideways, tables that stack
// are not cut off, and a finger can hit every control.
func TestFits(t *testing.T) {
	s := harness.Start(t, nil)
	ctx := Open(t)
	folder := addFolder(t, s, "&name-pins=true&wrap-with-directory=true&pin-name=folder", map[string]string{"a long name of a file in a folder that needs two lines on the screen of a phone.txt": "x", "b.txt": "y"})
	addFolder(t, s, "&name-pins=true", map[string]string{"a name that is long enough to need two lines on the screen of a phone.txt": "x", "short.txt": "y"})
	for range 70 {
		chainID(t, s)
	}
	useADay(t, s)
	SignIn(t, ctx, s)
	key := "/keys/" + s.Server.FirstKey().Key.ID
	for _, path := range []string{
		"/", "/keys", key, key + "?storage=1", key + "/settings", key + "/rotate", "/try", "/try?method=eth_call", "/try?method=eth_subscribe", "/usage", "/usage?stack=method", "/requests", "/files", "/files/folder", "/files/pin", "/files/open?cid=" + folder, "/files/open?path=b.txt&cid=" + folder, "/billing", "/account", "/account/delete", "/login/reset", linkTo(t, s, nodegate.LinkReset), linkTo(t, s, nodegate.LinkVerify),
		"/docs", "/docs/eth_getLogs", "/docs/types", "/operator", "/operator/traffic", "/operator/accounts", "/operator/accounts/" + s.Server.FirstKey().Key.AccountID, "/operator/audit", "/operator/system",
	} {
		for _, width := range []int64{390, 1280} {
			fits(t, ctx, localhost(s.RPC)+path, width)
		}
	}
	for _, width := range []int64{600, 768, 1024, 1160} {
		fits(t, ctx, localhost(s.RPC)+"/usage", width)
		if height := Ask(t, ctx, chromedp.Evaluate[float64](tallestPlot)); height < 100 || height > 420 {
			t.Errorf("a chart of Usage is %.0f px tall at %d px", height, width)
		}
	}
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+"/requests"), chromedp.WaitVisible("h1"))
	if height := Ask(t, ctx, chromedp.Evaluate[int](`document.documentElement.scrollHeight`)); height > 4000 {
		t.Errorf("the page of requests is %d px tall", height)
	}
}

func fits(t *testing.T, ctx context.Context, address string, width int64) {
	t.Helper()
	options := []chromedp.EmulateViewportOption{}
	if width < 900 {
		options = append(options, chromedp.EmulateMobile)
	}
	Do(t, ctx, chromedp.EmulateViewport(width, 800, options...), chromedp.Navigate(address), chromedp.WaitVisible("h1"))
	if found := Ask(t, ctx, chromedp.Evaluate[[]string](overflow+fmt.Sprintf("(%d)", width))); len(found) > 0 {
		t.Errorf("%s at %d px:\n%s", address, width, strings.Join(found, "\n"))
	}
	if width >= 900 {
		return
	}
	if found := Ask(t, ctx, chromedp.Evaluate[[]string](small)); len(found) > 0 {
		t.Errorf("%s has small controls:\n%s", address, strings.Join(found, "\n"))
	}
}

// chainID sends a request with the first key.
func chainID(t *testing.T, s *harness.Service) {
	t.Helper()
	res, err := http.Post(s.URL("devnet", s.Server.FirstKey().Value), "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatal(fmt.Sprint("status ", res.StatusCode))
	}
}

// The theme follows the system until somebody chooses one, and the choice stays.
func TestTheme(t *testing.T) {
	s := harness.Start(t, nil)
	ctx := Open(t)
	page := localhost(s.RPC) + "/login"
	background := func() string {
		return Ask(t, ctx, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
	}
	Do(t, ctx, inTheme("light"), chromedp.Navigate(page), chromedp.WaitVisible("h1"))
	light := background()
	Do(t, ctx, inTheme("dark"))
	dark := background()
	if light == dark {
		t.Fatalf("both themes are %s", light)
	}
	for _, c := range []struct{ choice, want string }{{"light", light}, {"dark", dark}, {"system", dark}, {"light", light}} {
		Do(t, ctx, chromedp.Click(`[data-theme-menu] > summary`), chromedp.Click(`[data-theme-choice="`+c.choice+`"]`))
		pressed := Ask(t, ctx, chromedp.Evaluate[string](`[...document.querySelectorAll('[aria-pressed="true"]')].map(b => b.textContent).join()`))
		if got := background(); got != c.want || pressed != c.choice {
			t.Errorf("%s: the page is %s, want %s; %q is pressed", c.choice, got, c.want, pressed)
		}
		Do(t, ctx, chromedp.Navigate(page), chromedp.WaitVisible("h1"))
		if got := background(); got != c.want {
			t.Errorf("%s after a reload: the page is %s, want %s", c.choice, got, c.want)
		}
	}
}
