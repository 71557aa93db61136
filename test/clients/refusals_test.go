package clients_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// refusal is one error that the service answers, and how to get it.
type refusal struct {
	Name   string            `json:"name"`
	URL    string            `json:"url"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// misleading are names that clients have for codes that mean something else here.
var misleading = map[string][]string{
	"wrong API key":                 {"not found", "not available", "Transaction", "parameters"},
	"refused by the key's settings": {"not found", "not available", "Transaction", "parameters"},
	"daily credits used up":         {"not found", "not available", "Transaction", "parameters"},
	"response too large":            {"Transaction", "parameters"},
	"timeout":                       {"Transaction", "parameters"},
}

// TestRefusals shows what each library prints of the errors of the service.
func TestRefusals(t *testing.T) {
	needNode(t)
	cases := refusals(t)
	printed := ask[map[string]map[string]string](t, "refusals.mjs", map[string]any{"cases": cases})
	for _, c := range cases {
		p := printed[c.Name]
		for _, name := range misleading[c.Name] {
			if strings.Contains(strings.Split(p["viem"], "Details:")[0], name) {
				t.Errorf("%s: viem prints %q", c.Name, p["viem"])
			}
		}
		status, code := envelopeOf(t, c)
		compatRow(t, "errors", c.Name, status, code, cell(p["viem"]), cell(p["ethers6"]), cell(p["ethers5"]), cell(p["web3"]), cell(gethPrints(t, c)))
	}
}

func refusals(t *testing.T) []refusal {
	t.Helper()
	s := harness.Start(t, func(c *config.Config) {
		// What is spent stays spent, and what isn't endless ends in time, however slow the machine is.
		c.Plans["second"], c.Costs["eth_blockNumber"] = config.Plan{CreditsPerSecond: 1, Burst: 1000}, 1000
		c.Plans["day"] = config.Plan{CreditsPerDay: 1}
		c.Limits.CallTimeout = 2 * time.Second
		c.Limits.ResponseBytes = 1 << 20
	})
	url := func(name, plan string, settings nodegate.KeySettings) string {
		k := credential.NewKey()
		if err := s.AddKey(name, plan, k, "", settings); err != nil {
			t.Fatal(err)
		}
		return s.URL("devnet", k)
	}
	raw := func(params ...string) []json.RawMessage {
		list := []json.RawMessage{}
		for _, p := range params {
			list = append(list, json.RawMessage(p))
		}
		return list
	}
	code := func(text string) []json.RawMessage {
		const to = `"0x00000000000000000000000000000000c0de0000"`
		return raw(`{"to":`+to+`}`, `"latest"`, `{`+to+`:{"code":"`+text+`"}}`)
	}
	limited := url("limited", "second", nodegate.KeySettings{})
	spend(t, limited)
	demo := readFacts(t)["devnet"].Demo.Hex()
	old := readFacts(t)["rollup"].tx(t, "legacy call").Hash.Hex()
	return []refusal{
		{"wrong API key", s.URL("devnet", badKey), "eth_blockNumber", raw()},
		{"refused by the key's settings", url("narrow", "unlimited", nodegate.KeySettings{Methods: []string{"eth_chainId"}}), "eth_blockNumber", raw()},
		{"daily credits used up", url("spent", "day", nodegate.KeySettings{}), "eth_blockNumber", raw()},
		{"rate limit", limited, "eth_blockNumber", raw()},
		{"unknown network", s.URL("nowhere", key), "eth_blockNumber", raw()},
		{"unknown method", s.URL("devnet", key), "eth_nothing", raw()},
		{"wrong parameter", s.URL("devnet", key), "eth_getBalance", raw(`"0x1"`)},
		{"outside the history", s.URL("rollup", key), "eth_getTransactionReceipt", raw(`"` + old + `"`)},
		{"timeout", s.URL("devnet", key), "eth_call", raw(`{"to":"`+demo+`","data":"`+spin+`","gas":"0x23c34600"}`, `"latest"`)},
		{"response too large", s.URL("devnet", key), "eth_call", code("0x620fffff6000f3")},
		{"execution reverted", s.URL("devnet", key), "eth_call", code("0x60006000fd")},
	}
}

// spin is the selector of the demo contract's function that never ends.
const spin = "0xf0acd7d5"

// spend uses up the credits that a key has saved.
func spend(t *testing.T, url string) {
	t.Helper()
	for range 100 {
		res, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusTooManyRequests {
			if after := res.Header.Get("Retry-After"); !strings.HasPrefix(after, "0") {
				t.Errorf("Retry-After is %q", after)
			}
			return
		}
	}
	t.Fatal("the credits never run out")
}

// envelopeOf is the status and the code on the wire.
func envelopeOf(t *testing.T, c refusal) (status, code string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": c.Method, "params": c.Params})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(c.URL, "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var envelope struct{ Error struct{ Code int } }
	if err := json.Unmarshal(data, &envelope); err != nil {
		t.Fatalf("%s: %v: %.200s", c.Name, err, data)
	}
	return fmt.Sprint(res.StatusCode), fmt.Sprint(envelope.Error.Code)
}

func gethPrints(t *testing.T, c refusal) string {
	t.Helper()
	client, err := rpc.Dial(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	params := make([]any, len(c.Params))
	for i := range params {
		params[i] = c.Params[i]
	}
	var result json.RawMessage
	if err = client.CallContext(t.Context(), &result, c.Method, params...); err == nil {
		t.Errorf("%s: go-ethereum sees no error", c.Name)
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), ": {")
	return text
}
