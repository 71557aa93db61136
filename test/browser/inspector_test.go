package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/harness"
)

// scripts turns a page's scripts on or off, from the next page on.
func scripts(on bool) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// eventually waits until a page shows a text.
func eventually(t *testing.T, ctx context.Context, selector, want string) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got := Ask(t, ctx, chromedp.Evaluate[string](fmt.Sprintf(`(document.querySelector(%q) || {textContent: ""}).textContent`, selector)))
		if strings.Contains(got, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s never shows %q: %s", selector, want, got)
		}
	}
}

// keepAll lets the first key keep parameters and responses.
func keepAll(t *testing.T, s *harness.Service) {
	t.Helper()
	first := s.Server.FirstKey().Key
	if err := s.Server.Control().Accounts.UpdateKey(context.Background(), nodegate.Actor{Name: "test"}, first.AccountID, first.ID, func(_ *string, k *nodegate.KeySettings) { k.KeepParams, k.KeepResponses = true, true }); err != nil {
		t.Fatal(err)
	}
}

// call sends a request with the first key, whatever comes of it.
func call(t *testing.T, s *harness.Service, body string) {
	t.Helper()
	res, err := http.Post(s.URL("devnet", s.Server.FirstKey().Value), "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}

// fillIn puts a text into an input as if it were typed and left.
func fillIn(t *testing.T, ctx context.Context, name, text string) {
	t.Helper()
	Ask(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); return true; })(document.querySelector("[name=%s]"))`, text, name)))
}

// Somebody looks for the request that failed: finds it, opens it, reads why, sends it again
// and watches requests come in. Only copying needs scripts.
func TestInspector(t *testing.T) { onScreens(t, inspectorStory) }

func inspectorStory(t *testing.T, ctx context.Context) {
	s := harness.Start(t, nil)
	keepAll(t, s)
	chainID(t, s)
	call(t, s, `{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x5"]}`)
	SignIn(t, ctx, s)
	base := localhost(s.RPC)
	Do(t, ctx, chromedp.Navigate(base+"/requests"), chromedp.WaitVisible(`table`))
	eventually(t, ctx, "#list", "eth_chainId")
	Do(t, ctx, chromedp.SendKeys(`input[name="q"]`, "getbalance\r"), chromedp.WaitVisible(`input[name="q"][value="getbalance"]`))
	if rows := Ask(t, ctx, chromedp.Evaluate[int](`document.querySelectorAll("#list tbody tr").length`)); rows != 1 {
		t.Errorf("the search leaves %d rows", rows)
	}
	Do(t, ctx, chromedp.Click(`#list tbody a`), chromedp.WaitVisible(`#request`))
	eventually(t, ctx, "#request", "A parameter is missing, or has the wrong type or form")
	eventually(t, ctx, "#request", `"0x5"`)
	eventually(t, ctx, "#request", `"code": -32602`)
	fitsScreen(t, ctx, "an open request")
	if scripted(ctx) {
		Do(t, ctx, chromedp.WaitVisible(`#request button[data-copy^="curl "]`))
	} else {
		Do(t, ctx, chromedp.Click(`#request details > summary`), chromedp.WaitVisible(`#request details pre`))
	}
	shoot(t, ctx, "request")
	Do(t, ctx, chromedp.Click(`#request form button.primary`), chromedp.WaitVisible(`#answer`))
	eventually(t, ctx, "#answer", "-32602")

	Do(t, ctx, chromedp.Navigate(base+"/requests?live=1"), chromedp.WaitVisible(`[data-refresh]`))
	call(t, s, `{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}`)
	eventually(t, ctx, "#list", "eth_gasPrice")
}

// Somebody tries a method: picks it, fills in the form, sends it with Ctrl+Enter, finds it in
// the history, shares it and follows new blocks live. Without scripts the form is sent by its
// button, and the page says what subscriptions need.
func TestPlayground(t *testing.T) {
	onScreens(t, func(t *testing.T, ctx context.Context) {
		s := harness.Start(t, nil)
		SignIn(t, ctx, s)
		if scripted(ctx) {
			playgroundStory(t, ctx, s)
		} else {
			plainPlayground(t, ctx, s)
		}
	})
}

func plainPlayground(t *testing.T, ctx context.Context, s *harness.Service) {
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+"/try"), chromedp.SetValue(`[name="method"]`, "eth_getBlockByNumber"), chromedp.Click(`button[name="load"]`), chromedp.WaitVisible(`[name="p0"]`))
	fitsScreen(t, ctx, "the form")
	Do(t, ctx, chromedp.SetValue(`[name="p0"]`, "0x0"), chromedp.Click(`form[action="/try"] button.primary`), chromedp.WaitVisible(`#answer .tag.good`))
	eventually(t, ctx, "#response", `"number": "0x0"`)
	fitsScreen(t, ctx, "the response")
	Do(t, ctx, chromedp.Click(`label[for="view-details"]`), chromedp.WaitVisible(`#view-details:checked ~ .panel .facts`))
	Do(t, ctx, chromedp.Click(`label[for="from-batch"]`), chromedp.SetValue(`[name="batch"]`, `[{"method":"eth_chainId"},{"method":"eth_gasPrice"}]`), chromedp.Click(`form[action="/try"] button.primary`), chromedp.WaitVisible(`#answer .tag.good`))
	eventually(t, ctx, "#response", `"0x539"`)
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+"/try?network=devnet&method=eth_subscribe"), chromedp.WaitVisible(`[data-no-script]`))
	if Ask(t, ctx, chromedp.Evaluate[bool](`document.querySelector("[data-subscribe]").offsetParent !== null`)) {
		t.Error("a button is shown that does nothing")
	}
}

func playgroundStory(t *testing.T, ctx context.Context, s *harness.Service) {
	base := localhost(s.RPC)
	Do(t, ctx, chromedp.Navigate(base+"/try?network=devnet&method=eth_getBlockByNumber"), chromedp.WaitVisible(`[name="p0"]`))
	fillIn(t, ctx, "p0", "0x0")
	eventually(t, ctx, "#preview", `["0x0", false]`)
	Ask(t, ctx, chromedp.Evaluate[bool](`document.querySelector("[name=p0]").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, bubbles: true})) || true`))
	Do(t, ctx, chromedp.WaitVisible(`#answer`))
	eventually(t, ctx, "#response", `"number": "0x0"`)
	eventually(t, ctx, "[data-history-list]", "eth_getBlockByNumber")
	shoot(t, ctx, "playground")
	link := Ask(t, ctx, chromedp.Evaluate[string](`document.querySelector("[data-history-list] a").href`))
	if key := s.Server.FirstKey(); strings.Contains(link, key.Value) || strings.Contains(link, key.Key.ID) || !strings.Contains(link, url.QueryEscape(`["0x0",false]`)) {
		t.Errorf("the link is %s", link)
	}
	fillIn(t, ctx, "method", "eth_getBalance")
	Do(t, ctx, chromedp.WaitVisible(`[name="shown"][value="eth_getBalance"] ~ fieldset`))

	Do(t, ctx, chromedp.Navigate(base+"/try?network=devnet&method=eth_subscribe"), chromedp.WaitVisible(`[data-subscribe]`))
	fillIn(t, ctx, "p0", "newHeads")
	eventually(t, ctx, "#preview", `["newHeads"]`) // the filter is optional: left empty it is left out
	Do(t, ctx, chromedp.Click(`[data-subscribe]`))
	eventually(t, ctx, "[data-socket-status]", "Waiting for events")
	eventually(t, ctx, "[data-events]", `"result"`)
	call(t, s, `{"jsonrpc":"2.0","id":1,"method":"evm_mine","params":[]}`)
	eventually(t, ctx, "[data-events]", "parentHash")
	Do(t, ctx, chromedp.Click(`[data-unsubscribe]`), chromedp.WaitVisible(`[data-subscribe]`))
}

// Somebody reads a chart with the keyboard, and goes to a page by its name.
func TestKeyboard(t *testing.T) {
	s := harness.Start(t, nil)
	useADay(t, s)
	ctx := Open(t)
	SignIn(t, ctx, s)
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+"/usage?stack=method"), chromedp.WaitVisible(`.chart svg[tabindex="0"]`))
	if names := Text(t, ctx, `.charts .legend`); !strings.Contains(names, "eth_call") || !strings.Contains(names, "eth_blockNumber") {
		t.Errorf("the parts are %q", names)
	}
	press := func(selector, key string) {
		Ask(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(e => { e.focus(); e.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, ctrlKey: %v})); return true; })(document.querySelector(%q))`, key, key == "k", selector)))
	}
	press(`.chart svg`, "Home")
	eventually(t, ctx, ".chart-shown", "eth_call ")
	first := Text(t, ctx, ".chart-shown")
	press(`.chart svg`, "ArrowRight")
	if next := Text(t, ctx, ".chart-shown"); next == first || !strings.Contains(next, "eth_call ") {
		t.Errorf("after %q comes %q", first, next)
	}
	shoot(t, ctx, "usage-stacked")
	press(`body`, "k")
	Do(t, ctx, chromedp.WaitVisible(`.palette[open] input`), chromedp.SendKeys(`.palette input`, "audit"))
	eventually(t, ctx, `.palette [aria-selected="true"]`, "Audit log")
	shoot(t, ctx, "palette")
	Do(t, ctx, chromedp.SendKeys(`.palette input`, "\r"), chromedp.WaitVisible(`nav.menu a[href="/operator/audit"][aria-current]`))
}
