package browser

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/test/harness"
)

// A key is made, its lines are found by tabs that are no script, and it is ended.
func TestKeys(t *testing.T) { onScreens(t, keysStory) }

func keysStory(t *testing.T, ctx context.Context) {
	s := harness.Start(t, nil)
	base := localhost(s.RPC)
	SignIn(t, ctx, s)

	Do(t, ctx, chromedp.Navigate(base+"/keys"), chromedp.SendKeys(`#name`, "for the app"), chromedp.Submit(`form[action="/keys"]`), chromedp.WaitVisible(`.secret`))
	shoot(t, ctx, "key-issued")
	if lines := Text(t, ctx, `.pick`); !strings.Contains(lines, "eth_blockNumber") || strings.Contains(lines, "createPublicClient") {
		t.Errorf("the first tab shows %s", lines)
	}
	Do(t, ctx, chromedp.Click(`label[for="tool-viem"]`), chromedp.WaitVisible(`#tool-viem:checked + label + .panel`))
	if lines := Text(t, ctx, `.pick`); !strings.Contains(lines, "createPublicClient") || strings.Contains(lines, "curl http") {
		t.Errorf("the tab of viem shows %s", lines)
	}
	Do(t, ctx, chromedp.Click(`.secret a.button`), chromedp.WaitVisible(`#tools`))
	shoot(t, ctx, "key")
	Do(t, ctx, chromedp.Click(`#tools .tabs a[href*="storage"]`), chromedp.WaitVisible(`label[for="tool-storage-kubo"]`))
	shoot(t, ctx, "key-storage")
	Do(t, ctx, chromedp.Click(`a[href$="/settings"]`), chromedp.WaitVisible(`textarea[name="methods"]`))
	fitsScreen(t, ctx, "the settings of a key")
	shoot(t, ctx, "key-settings")
	Do(t, ctx, chromedp.Click(`a[href$="/rotate"]`), chromedp.WaitVisible(`input[name="sure"]`))
	shoot(t, ctx, "key-rotate")
	Do(t, ctx, chromedp.Click(`input[name="sure"]`), chromedp.Click(`form[action$="/revoke"] button`), chromedp.WaitVisible(`.notice.good`))
	shoot(t, ctx, "keys")
}

// The methods are found by a search and link to their types.
func TestDocs(t *testing.T) {
	s := harness.Start(t, nil)
	ctx := Open(t)
	base := localhost(s.RPC)
	Do(t, ctx, chromedp.Navigate(base+"/docs"), chromedp.WaitVisible(`#errors`))
	shoot(t, ctx, "docs")
	Do(t, ctx, chromedp.SendKeys(`#q`, "block receipts"), chromedp.Submit(`form[action="/docs"]`), chromedp.WaitVisible(`[role="status"]`),
		chromedp.Click(`a[href="/docs/eth_getBlockReceipts"]`), chromedp.WaitVisible(`#example`))
	shoot(t, ctx, "docs-method")
	Do(t, ctx, chromedp.Click(`#result a`), chromedp.WaitVisible(`#Receipt`))
	shoot(t, ctx, "docs-types")
}
