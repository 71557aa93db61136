package dashboard

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/dashboard/snippet"
	"github.com/nodegate/nodegate/internal/method"
)

// wallet is how the networks of a key get into MetaMask, or another wallet of the browser.
type wallet struct {
	Networks []walletNetwork
	Secret   bool   // the key requires its secret, which wallets can't send
	Plain    string // the host, if wallets refuse plain HTTP to it
	Listed   bool   // the key lists origins or user agents, and a wallet has its own
}

// walletNetwork is a network as a wallet knows it.
type walletNetwork struct {
	snippet.Endpoint
	Symbol  string
	Request string // the parameter of EIP-3085; "" while the chain ID is not known
}

func walletOf(s *nodegate.KeySettings, networks []snippet.Endpoint) wallet {
	w := wallet{Secret: s.SecretRequired, Listed: len(s.Origins) > 0 || len(s.UserAgents) > 0}
	for _, n := range networks {
		if !s.AllowsNetwork(n.Network) {
			continue
		}
		w.Plain = plainHTTP(n.HTTP)
		w.Networks = append(w.Networks, walletNetwork{Endpoint: n, Symbol: n.Chain().Currency.Symbol, Request: walletRequest(n)})
	}
	return w
}

func walletRequest(e snippet.Endpoint) string {
	if e.ChainID == 0 {
		return ""
	}
	text, err := json.Marshal(e.Chain())
	if err != nil {
		panic("dashboard: " + err.Error()) // strings and a number
	}
	return string(text)
}

// plainHTTP returns the host of an endpoint that wallets refuse: they take http only for
// localhost and 127.0.0.1.
func plainHTTP(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme == "https" || u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" {
		return ""
	}
	return u.Host
}

// chainIDTime bounds the wait for nodes: a page must not wait for a network that is down.
const chainIDTime = time.Second

// chainIDs asks all networks at once; 0 is not known now.
func chainIDs(ctx context.Context, networks []Network) []uint64 {
	ctx, cancel := context.WithTimeout(ctx, chainIDTime)
	defer cancel()
	ids := make([]uint64, len(networks))
	var all sync.WaitGroup
	for i := range networks {
		all.Go(func() { ids[i] = chainID(ctx, networks[i].Node) })
	}
	all.Wait()
	return ids
}

func chainID(ctx context.Context, node nodegate.Node) uint64 {
	raw, err := node.Call(ctx, method.EthChainID, nil)
	if err != nil {
		return 0
	}
	id, err := strconv.ParseUint(strings.Trim(string(raw), `"`), 0, 64)
	if err != nil {
		return 0
	}
	return id
}
