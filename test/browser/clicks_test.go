package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/test/harness"
)

// From a first start to the first green request: sign in with the password that the server
// printed, run the request of the checklist in the browser, and send it. That is three
// clicks, and nothing is typed but the password.
func TestClicksToTheFirstRequest(t *testing.T) {
	s := harness.Start(t, nil)
	ctx, first, clicks := Open(t), s.Server.First(), 0
	click := func(selector, then string) {
		t.Helper()
		clicks++
		Do(t, ctx, chromedp.Click(selector), chromedp.WaitVisible(then))
	}
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)), chromedp.SendKeys(`input[name="email"]`, first.Email), chromedp.SendKeys(`input[name="password"]`, first.Password))
	click(`form[action="/login"] button`, `.wait`)
	click(`.wait a[href="/try"]`, `form[action="/try"]`)
	click(`form[action="/try"] button.primary`, `#answer .tag.good`)
	if clicks > 3 {
		t.Errorf("%d clicks", clicks)
	}
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)), chromedp.WaitVisible(`.tile .figure`)) // the checklist is done
}
