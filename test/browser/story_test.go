package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/test/harness"
)

// The whole story of a new user, on a server that has just started.
func TestStory(t *testing.T) {
	s := harness.Start(t, nil)
	ctx := Open(t)
	base := localhost(s.RPC)

	Do(t, ctx, chromedp.Navigate(base+"/"), chromedp.WaitVisible(`input[name="password"]`))
	shoot(t, ctx, "login")
	Do(t, ctx, chromedp.Click(`a[href="/signup"]`), chromedp.WaitVisible(`form[action="/signup"]`))
	shoot(t, ctx, "signup")
	Do(t, ctx,
		chromedp.SendKeys(`input[name="email"]`, "ada@example.com"), chromedp.SendKeys(`input[name="password"]`, "a long password"),
		chromedp.Submit(`form[action="/signup"]`), chromedp.WaitVisible(`nav.menu`))

	Do(t, ctx, chromedp.Navigate(base+"/"), chromedp.WaitVisible(`h1`))
	shoot(t, ctx, "overview")
	Do(t, ctx, chromedp.Navigate(base+"/try"), chromedp.WaitVisible(`h1`))
	shoot(t, ctx, "try")
	Do(t, ctx, chromedp.Navigate(base+"/files"), chromedp.WaitVisible(`h1`))
	shoot(t, ctx, "files")
	Do(t, ctx, chromedp.Navigate(base+"/account"), chromedp.WaitVisible(`h1`))
	shoot(t, ctx, "account")
}
