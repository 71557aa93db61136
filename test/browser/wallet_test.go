package browser

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// fakeWallet stands in for MetaMask, which can't be installed by a test. It is in the page
// before any of the page's own scripts, keeps what it is asked, and refuses what MetaMask
// refuses: unknown members, an endpoint that is neither https nor local, another chain ID
// than the endpoint's. What it is like is in localStorage.
const fakeWallet = `(() => {
	const like = localStorage.getItem("wallet") || "none";
	window.asked = [];
	const known = ["chainId", "chainName", "rpcUrls", "nativeCurrency", "blockExplorerUrls"];
	const wallet = (name) => ({
		request: async (request) => {
			window.asked.push({ wallet: name, request: JSON.parse(JSON.stringify(request)) });
			if (like === "rejects") throw { code: 4001, message: "User rejected the request." };
			if (like === "busy") throw { code: -32002, message: "Request already pending." };
			const chain = request.params[0];
			const strange = Object.keys(chain).filter((key) => !known.includes(key));
			if (strange.length) throw { code: -32602, message: "Unsupported keys: " + strange };
			const url = new URL(chain.rpcUrls[0]);
			if (url.protocol !== "https:" && !["localhost", "127.0.0.1"].includes(url.hostname)) throw { code: -32602, message: "not https" };
			const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId" });
			const answer = await (await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body })).json();
			if (answer.result !== chain.chainId) throw { code: -32602, message: "the endpoint has chain ID " + answer.result };
			return null;
		},
	});
	if (like === "announced") {
		for (const name of ["One", "<b>Two</b>"]) {
			const detail = Object.freeze({ info: { uuid: name, name, icon: "", rdns: "test." + name }, provider: wallet(name) });
			window.addEventListener("eip6963:requestProvider", () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail })));
		}
	} else if (like === "late") {
		setTimeout(() => { window.ethereum = wallet("injected"); window.dispatchEvent(new Event("ethereum#initialized")); }, 300);
	} else if (like !== "none") {
		window.ethereum = wallet("injected");
	}
})();`

// asked is one request to a wallet.
type asked struct {
	Wallet  string `json:"wallet"`
	Request any    `json:"request"`
}

// walletPage is the page of a key in a browser with a fake wallet.
type walletPage struct {
	*testing.T
	ctx context.Context
	url string
}

func openWalletPage(t *testing.T, s *harness.Service) *walletPage {
	t.Helper()
	w := &walletPage{T: t, ctx: Open(t)}
	SignIn(t, w.ctx, s)
	w.url = localhost(s.RPC) + "/keys/" + s.Server.FirstKey().Key.ID
	Do(t, w.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fakeWallet})
		return err
	}))
	return w
}

// like opens the page with a wallet of some kind.
func (w *walletPage) like(kind string) {
	w.Helper()
	Ask(w, w.ctx, chromedp.Evaluate[bool](`localStorage.setItem("wallet", "`+kind+`"), true`))
	Do(w, w.ctx, chromedp.Navigate(w.url), chromedp.WaitVisible(`#wallet .wallets`))
}

// add presses the button of a network.
func (w *walletPage) add(network string) {
	w.Helper()
	Do(w, w.ctx, chromedp.Click(`#wallet [aria-label="Add network `+network+`"]`))
}

// says waits for a sentence about the outcome.
func (w *walletPage) says(want string) {
	w.Helper()
	var got string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got = Ask(w, w.ctx, chromedp.TextContent(`[data-wallet-result]`)); got == want {
			return
		}
	}
	w.Errorf("the page says %q, want %q", got, want)
}

// got compares what the wallet was asked.
func (w *walletPage) got(want ...asked) {
	w.Helper()
	got := Ask(w, w.ctx, chromedp.Evaluate[[]asked](`window.asked`))
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("the wallet was asked for (-want +got)\n%s", diff)
	}
}

// request is what a wallet should be asked for a network.
func (w *walletPage) request(s *harness.Service, network, name, chain, symbol, explorer string) (r any) {
	w.Helper()
	text := `{"method": "wallet_addEthereumChain", "params": [{"chainId": "` + chain + `", "chainName": "nodegate ` + network + `",
		"rpcUrls": ["` + localhost(s.RPC) + `/` + network + `/v3/` + s.Server.FirstKey().Value + `"],
		"nativeCurrency": {"name": "` + name + `", "symbol": "` + symbol + `", "decimals": 18}` + explorer + `}]}`
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		w.Fatal(err)
	}
	return r
}

// The button asks the wallet to add the network with the key, with exactly the members
// that wallets accept, and says what came of it. The snippet asks for the same.
func TestAddNetwork(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) {
		c.Networks[1].Currency, c.Networks[1].Explorer = "POL", "https://explorer.example"
	})
	w := openWalletPage(t, s)
	devnet := w.request(s, "devnet", "Ether", "0x539", "ETH", "")
	rollup := w.request(s, "rollup", "POL", "0x53a", "POL", `, "blockExplorerUrls": ["https://explorer.example"]`)

	w.like("accepts")
	shoot(t, w.ctx, "key-wallet")
	w.add("devnet")
	w.says("nodegate devnet was added to your wallet.")
	w.add("rollup")
	w.says("nodegate rollup was added to your wallet.")
	w.got(asked{"injected", devnet}, asked{"injected", rollup})

	for network, want := range map[string]any{"devnet": devnet, "rollup": rollup} {
		Do(t, w.ctx, chromedp.Navigate(w.url+"?network="+network+"&tab=metamask"), chromedp.WaitVisible(`#tool-metamask:checked + label + .panel`))
		text := Text(t, w.ctx, `#tool-metamask + label + .panel pre`)
		Ask(t, w.ctx, chromedp.Evaluate[bool](`(async () => {`+text+`; return true })()`, chromedp.EvalAwaitPromise))
		w.got(asked{"injected", want})
	}
}

// A request that fails says why, and can be repeated.
func TestAddNetworkFails(t *testing.T) {
	s := harness.Start(t, nil)
	w := openWalletPage(t, s)
	for kind, want := range map[string]string{
		"rejects": "You rejected the request in your wallet. Nothing was changed.",
		"busy":    "A request is already waiting in your wallet. Open it and answer.",
	} {
		w.like(kind)
		for range 2 {
			w.add("devnet")
			w.says(want)
			Do(t, w.ctx, chromedp.WaitEnabled(`#wallet button`))
		}
		request := asked{"injected", w.request(s, "devnet", "Ether", "0x539", "ETH", "")}
		w.got(request, request)
	}
}

// Without a wallet there is no button, and the page says what to do.
func TestAddNetworkWithoutWallet(t *testing.T) {
	w := openWalletPage(t, harness.Start(t, nil))
	w.like("none")
	shoot(t, w.ctx, "key-no-wallet")
	if text := Text(t, w.ctx, `#wallet`); !strings.Contains(text, "No wallet was found in this browser.") || !strings.Contains(text, "1337") || strings.Contains(text, "Add network") {
		t.Errorf("the page says\n%s", text)
	}
	w.like("late")
	Do(t, w.ctx, chromedp.WaitVisible(`#wallet button`))
	if text := Text(t, w.ctx, `#wallet`); strings.Contains(text, "No wallet was found") {
		t.Errorf("with a wallet that came late the page says\n%s", text)
	}
}

// Wallets that announce themselves are offered by their names, which are text.
func TestAnnouncedWallets(t *testing.T) {
	s := harness.Start(t, nil)
	w := openWalletPage(t, s)
	w.like("announced")
	Do(t, w.ctx, chromedp.WaitVisible(`[data-wallet]`), chromedp.SetValue(`[data-wallet]`, "1"))
	shoot(t, w.ctx, "key-wallets")
	w.add("devnet")
	w.says("nodegate devnet was added to <b>Two</b>.")
	w.got(asked{"<b>Two</b>", w.request(s, "devnet", "Ether", "0x539", "ETH", "")})
}
