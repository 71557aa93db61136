package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// TestWalletNotices: where a wallet would refuse an endpoint, or the endpoint the wallet, the
// page says so and what to do.
func TestWalletNotices(t *testing.T) {
	const button = "data-add-network"
	for _, c := range []struct {
		name     string
		url      string // as users reach the service; "" is localhost
		settings url.Values
		has      []string
		lacks    []string
	}{
		{name: "local", has: []string{button, "Add network devnet", "Add network rollup", "No wallet was found", "1337", "tool-metamask", "tool-wagmi"}, lacks: []string{"Wallets only take"}},
		{name: "https", url: "https://nodes.example", has: []string{button, `https://nodes.example/devnet/v3/`}, lacks: []string{"Wallets only take"}},
		{name: "plain", url: "http://nodes.example:8545", has: []string{"Wallets only take HTTPS endpoints", "nodes.example:8545 is plain HTTP", "tls.cert", "dashboard.url"}, lacks: []string{button, "wallet.js"}},
		{name: "secret", settings: url.Values{"secret_required": {"on"}}, has: []string{"This key requires its secret, and wallets", "nobody can keep a secret"}, lacks: []string{button, "tool-metamask", "tool-wagmi"}},
		{name: "origins", settings: url.Values{"origins": {"https://app.example"}}, has: []string{button, "Wallets send another origin and user agent"}},
		{name: "networks", settings: url.Values{"networks": {"rollup"}}, has: []string{"Add network rollup"}, lacks: []string{"Add network devnet"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := harness.Start(t, func(cfg *config.Config) { cfg.Dashboard.URL = c.url })
			v := Member(t, s, "kim@example.com")
			k := v.makeKey(t, "wallet")
			if c.settings != nil {
				c.settings.Set("name", "wallet")
				v.Post(k.path+"/settings", c.settings).Is(t, http.StatusSeeOther)
			}
			v.Get(k.path).Is(t, http.StatusOK).Has(t, c.has...).Lacks(t, c.lacks...)
		})
	}
}

// TestWalletWithoutNode: while no node answers, nobody knows the chain ID, and the page is
// there all the same.
func TestWalletWithoutNode(t *testing.T) {
	s := harness.Start(t, func(cfg *config.Config) {
		n := cfg.Networks[1]
		n.Name, n.Embedded, n.Layer2, n.MaxLag = "away", nil, nil, 5
		n.Nodes = []config.Node{{Name: "away", URL: "http://127.0.0.1:1", Role: "primary"}}
		cfg.Networks[1] = n
	})
	v := Member(t, s, "kim@example.com")
	k := v.makeKey(t, "wallet")
	v.Get(k.path).Is(t, http.StatusOK).Has(t, "Add network devnet", "unknown until a node answers").Lacks(t, "Add network away")
	v.Get(k.path+"?network=away").Has(t, "tool-viem").Lacks(t, "tool-wagmi", "tool-metamask")
	v.Get(k.path).Has(t, html.EscapeString(`{"chainId":"0x539","chainName":"nodegate devnet"`))
}
