package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/harness"
)

// Pictures of a service that is in use, for people to look at: every page, with a day of
// usage, nodes of which one doesn't answer, and a limit that is near.
func TestPictures(t *testing.T) {
	if os.Getenv("NODEGATE_SHOTS")+os.Getenv("NODEGATE_IMAGES") == "" {
		t.Skip("pictures are made where NODEGATE_SHOTS or NODEGATE_IMAGES names a folder for them")
	}
	s := busyService(t)
	ctx := Open(t)
	reset := linkTo(t, s, nodegate.LinkReset)
	take := func(name, path string) {
		t.Run(name, func(t *testing.T) {
			Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+path), chromedp.WaitVisible("h1"))
			shoot(t, ctx, name)
			picture(t, ctx, name)
		})
	}
	for _, page := range [][2]string{{"login", "/login"}, {"signup", "/signup"}, {"login-reset", "/login/reset"}, {"login-link", reset}, {"status", "/status"}, {"docs-public", "/docs"}} {
		take(page[0], page[1])
	}
	SignIn(t, ctx, s)
	for _, page := range memberPictures(s) {
		take(page[0], page[1])
	}
	for _, page := range operatorPictures(s) {
		take(page[0], page[1])
	}
	t.Run("busy-request", func(t *testing.T) {
		Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+"/requests?outcome=failed"), chromedp.WaitVisible("table"), chromedp.Click(`#list tbody a`), chromedp.WaitVisible(`#request`))
		shoot(t, ctx, "busy-request")
	})
}

func memberPictures(s *harness.Service) [][2]string {
	key := "/keys/" + s.Server.FirstKey().Key.ID
	return [][2]string{
		{"busy-overview", "/"}, {"busy-keys", "/keys"}, {"busy-key", key}, {"busy-key-settings", key + "/settings"}, {"busy-key-rotate", key + "/rotate"},
		{"busy-playground", "/try?network=devnet&method=eth_getBlockByNumber"}, {"busy-subscribe", "/try?network=devnet&method=eth_subscribe"},
		{"busy-usage", "/usage"}, {"busy-usage-method", "/usage?stack=method&by=key"}, {"busy-usage-month", "/usage?range=30d"}, {"busy-usage-filter", "/usage?network=ethereum&method=eth_call"}, {"busy-usage-empty", "/usage?network=rollup"},
		{"busy-requests", "/requests"}, {"requests-none", "/requests?q=nothing+like+this"}, {"busy-files", "/files"}, {"busy-billing", "/billing"}, {"busy-account", "/account"}, {"account-delete", "/account/delete"},
		{"busy-docs", "/docs"}, {"busy-docs-search", "/docs?q=receipt"}, {"busy-docs-method", "/docs/eth_getLogs"}, {"busy-docs-types", "/docs/types"}, {"nothing", "/nothing/here"},
	}
}

func operatorPictures(s *harness.Service) [][2]string {
	return [][2]string{
		{"operator", "/operator"}, {"operator-traffic", "/operator/traffic"}, {"operator-accounts", "/operator/accounts"}, {"operator-account", "/operator/accounts/a-a"},
		{"operator-account-own", "/operator/accounts/" + s.Server.FirstKey().Key.AccountID}, {"operator-audit", "/operator/audit"}, {"operator-system", "/operator/system"},
	}
}

// inReadme are the pictures of the README, by the names of their files.
var inReadme = map[string]string{"busy-overview": "overview.png", "busy-usage": "usage.png"}

// picture writes one for the README to the folder in NODEGATE_IMAGES, seen from the root of
// the repository; without one it does nothing.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir, file := os.Getenv("NODEGATE_IMAGES"), inReadme[name]
	if dir == "" || file == "" {
		return
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", dir)
	}
	Do(t, ctx, inTheme("light"), chromedp.EmulateViewport(1280, 900))
	write(t, filepath.Join(dir, file), Ask(t, ctx, chromedp.FullScreenshot(100)))
}
