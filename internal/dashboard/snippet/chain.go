package snippet

import "strconv"

// Chain is what a wallet is asked to add: the parameter of EIP-3085.
type Chain struct {
	ID        string   `json:"chainId"`
	Name      string   `json:"chainName"`
	RPC       []string `json:"rpcUrls"`
	Currency  Currency `json:"nativeCurrency"`
	Explorers []string `json:"blockExplorerUrls,omitempty"` // wallets refuse an empty list
}

// Currency is what gas is paid in.
type Currency struct {
	Name     string `json:"name"`
	Symbol   string `json:"symbol"`
	Decimals int    `json:"decimals"`
}

// Chain is the network for a wallet.
func (e Endpoint) Chain() Chain {
	c := Chain{
		ID: "0x" + strconv.FormatUint(e.ChainID, 16), Name: "nodegate " + e.Network, RPC: []string{e.HTTP},
		Currency: Currency{Name: "Ether", Symbol: "ETH", Decimals: 18},
	}
	if e.Currency != "" && e.Currency != "ETH" {
		c.Currency.Name, c.Currency.Symbol = e.Currency, e.Currency
	}
	if e.Explorer != "" {
		c.Explorers = []string{e.Explorer}
	}
	return c
}
