package accounts_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// The contracts that a key may and may not reach, in the forms that callers write.
const (
	listed   = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
	unlisted = "0x00000000000000000000000000000000000000aa"
)

// TestAllowedCalls holds calls against lists of methods and of contracts, over HTTP
// and over a WebSocket. Each refusal names the request and costs 5 credits.
func TestAllowedCalls(t *testing.T) {
	t.Parallel()
	s := shared(t)
	byMethod := nodegate.KeySettings{Methods: []string{"eth_chainId", "layer2_estimateGas"}}
	byAddress := nodegate.KeySettings{Addresses: []string{listed}}
	both := nodegate.KeySettings{Methods: []string{"eth_call", "eth_chainId"}, Addresses: []string{listed}}
	for _, c := range []struct {
		name, network  string
		settings       nodegate.KeySettings
		method, params string
		allowed        bool
	}{
		{"a listed method", "devnet", byMethod, "eth_chainId", "[]", true},
		{"another method", "devnet", byMethod, "eth_blockNumber", "[]", false},
		{"an unknown method", "devnet", byMethod, "eth_nope", "[]", false},
		{"a method that is not counted by itself", "devnet", byMethod, "eth_protocolVersion", "[]", false},
		{"the layer-2 method", "rollup", byMethod, "layer2_estimateGas", "[{}]", true},
		{"its alias", "rollup", byMethod, "linea_estimateGas", "[{}]", true},
		{"the alias elsewhere", "devnet", byMethod, "linea_estimateGas", "[{}]", false},
		{"the alias without the method", "rollup", both, "linea_estimateGas", "[{}]", false},
		{"a listed contract", "devnet", byAddress, "eth_call", `[{"to":"` + listed + `"},"latest"]`, true},
		{"another contract", "devnet", byAddress, "eth_call", `[{"to":"` + unlisted + `"},"latest"]`, false},
		{"no contract", "devnet", byAddress, "eth_call", `[{},"latest"]`, false},
		{"another contract beside", "devnet", byAddress, "eth_call", `[{"to":"` + listed + `","To":"` + unlisted + `"},"latest"]`, false},
		{"storage of a listed one", "devnet", byAddress, "eth_getStorageAt", `["` + listed + `","0x0","latest"]`, true},
		{"storage of another", "devnet", byAddress, "eth_getStorageAt", `["` + unlisted + `","0x0","latest"]`, false},
		{"a proof of another", "devnet", byAddress, "eth_getProof", `["` + unlisted + `",[],"latest"]`, false},
		{"logs of a listed one", "devnet", byAddress, "eth_getLogs", `[{"address":["` + listed + `"]}]`, true},
		{"logs of one more", "devnet", byAddress, "eth_getLogs", `[{"address":["` + listed + `","` + unlisted + `"]}]`, false},
		{"logs of all", "devnet", byAddress, "eth_getLogs", `[{}]`, false},
		{"code of another", "devnet", byAddress, "eth_getCode", `["` + unlisted + `","latest"]`, false},
		{"code of a listed one", "devnet", byAddress, "eth_getCode", `["` + listed + `","latest"]`, true},
		{"storage of many", "devnet", byAddress, "eth_getStorageValues", `[{"` + unlisted + `":["0x0"]},"latest"]`, false},
		{"a transaction to fill", "devnet", byAddress, "eth_fillTransaction", `[{"to":"` + unlisted + `"}]`, false},
		{"code under a listed address", "devnet", byAddress, "eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"code":"0x60"}}]`, false},
		{"state of another", "devnet", byAddress, "eth_call", `[{"to":"` + listed + `"},"latest",{"` + unlisted + `":{"balance":"0x1"}}]`, false},
		{"a delegation to another", "devnet", byAddress, "eth_call", `[{"to":"` + listed + `","authorizationList":[{"address":"` + unlisted + `"}]},"latest"]`, false},
		{"a method without a row", "devnet", byAddress, "eth_callMany", `[[]]`, false},
		{"a transaction that can't be read", "devnet", byAddress, "eth_sendRawTransaction", `["0x02"]`, false},
		{"its network", "rollup", nodegate.KeySettings{Networks: []string{"rollup"}}, "eth_chainId", "[]", true},
		{"a key without development", "devnet", nodegate.KeySettings{Services: []string{"json-rpc"}}, "evm_mine", "[]", false},
		{"no address to name", "devnet", byAddress, "eth_blockNumber", "[]", true},
		{"both lists", "devnet", both, "eth_call", `[{"to":"` + listed + `"},"latest"]`, true},
		{"a method of one list only", "devnet", both, "eth_getStorageAt", `["` + listed + `","0x0","latest"]`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTenant(t, s, "unlimited", c.settings)
			body := callOf(c.method, c.params)
			over := map[int]reply{403: send(t, s.URL(c.network, k.key), body), 0: ask(t, dial(t, s.WS(c.network, k.key)), body)}
			for status, r := range over {
				if c.allowed {
					if _, e := answerOf(t, r.body); e.Code == -32043 {
						t.Errorf("refused: %s", e.Message)
					}
					continue
				}
				r.want(t, status, -32043, forbidden, "7")
			}
			if c.allowed {
				return
			}
			for name, l := range k.usage(t, 2) {
				if l.credits != 10 {
					t.Errorf("%s costs %d credits twice, want 10", name, l.credits)
				}
			}
		})
	}
}

// TestScopes: a key works on its networks and for its services only. A WebSocket is refused
// at the handshake.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := shared(t)
	for _, c := range []struct {
		settings nodegate.KeySettings
		want     string
	}{
		{nodegate.KeySettings{Networks: []string{"rollup"}}, forbidden + "network devnet is not allowed"},
		{nodegate.KeySettings{Services: []string{"storage"}}, forbidden + "scope json-rpc is not allowed"},
	} {
		k := newTenant(t, s, "unlimited", c.settings)
		_, shake := handshake(t, k.ws())
		send(t, k.url, callOf("eth_chainId", "[]")).want(t, 403, -32043, c.want, "null")
		shake.want(t, 403, -32043, c.want, "null")
	}
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{Services: []string{"json-rpc"}})
	req, err := http.NewRequest(http.MethodPost, strings.Replace(s.Server.Addresses().Storage, "https://", "http://", 1)+"/api/v0/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(k.key, k.secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != 403 || !strings.Contains(string(text), "scope storage is not allowed") {
		t.Errorf("storage with a key for JSON-RPC: %d %s", res.StatusCode, text)
	}
}

// TestAllowedInBatch: only the elements that the lists refuse fail.
func TestAllowedInBatch(t *testing.T) {
	t.Parallel()
	k := newTenant(t, shared(t), "unlimited", nodegate.KeySettings{Methods: []string{"eth_chainId"}})
	batch := `[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","id":2,"method":"eth_blockNumber"},{"jsonrpc":"2.0","method":"eth_blockNumber"},{"jsonrpc":"2.0","id":3,"method":"eth_chainId"}]`
	for name, r := range map[string]reply{"http": send(t, k.url, batch), "ws": ask(t, dial(t, k.ws()), batch)} {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(r.body), &list); err != nil || len(list) != 3 {
			t.Fatalf("%s: %s (%v)", name, r.body, err)
		}
		reply{body: string(list[0])}.want(t, 0, 0, "", "1")
		reply{body: string(list[1])}.want(t, 0, -32043, forbidden, "2")
		reply{body: string(list[2])}.want(t, 0, 0, "", "3")
		if name == "http" && r.status != 200 {
			t.Errorf("status %d", r.status)
		}
	}
	lines := k.usage(t, 8)
	if got := lines["devnet eth_blockNumber forbidden"]; got != (line{4, 20}) {
		t.Errorf("refused elements: %+v", got)
	}
	if got := lines["devnet eth_chainId ok"]; got != (line{4, 20}) {
		t.Errorf("the others: %+v", got)
	}
}

// TestAllowedClients holds requests against lists of origins and of user agents, on
// both ways of HTTP and at the handshake.
func TestAllowedClients(t *testing.T) {
	t.Parallel()
	s := shared(t)
	origins := nodegate.KeySettings{Origins: []string{"https://app.example.com", "https://*.wild.example"}}
	agents := nodegate.KeySettings{UserAgents: []string{"Wallet/"}}
	both := nodegate.KeySettings{Origins: origins.Origins, UserAgents: agents.UserAgents}
	for _, c := range []struct {
		name          string
		settings      nodegate.KeySettings
		origin, agent string
		allowed       bool
	}{
		{"a listed origin", origins, "https://app.example.com", "x", true},
		{"below a wildcard", origins, "https://a.b.wild.example", "x", true},
		{"the wildcard's own domain", origins, "https://wild.example", "x", false},
		{"another scheme", origins, "http://app.example.com", "x", false},
		{"another port", origins, "https://app.example.com:8443", "x", false},
		{"a suffix", origins, "https://app.example.com.evil.example", "x", false},
		{"no origin", origins, "", "x", false},
		{"a null origin", origins, "null", "x", false},
		{"a listed agent", agents, "", "My Wallet/1.0", true},
		{"another agent", agents, "", "curl/8", false},
		{"no agent", agents, "", "", false},
		{"both", both, "https://app.example.com", "Wallet/2", true},
		{"one of both", both, "https://app.example.com", "curl/8", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTenant(t, s, "unlimited", c.settings)
			lines, header := "", []string{"User-Agent", c.agent}
			if c.agent != "" {
				lines += "User-Agent: " + c.agent + "\r\n"
			}
			if c.origin != "" {
				lines += "Origin: " + c.origin + "\r\n"
				header = append(header, "Origin", c.origin)
			}
			path := "/devnet/v3/" + k.key
			for _, more := range []string{"", "X-Other: 1\r\n"} {
				checkClient(t, rawDial(t, s).post(t, path, balance, lines+more), c.settings, c.origin, c.allowed)
			}
			conn, r := handshake(t, k.ws(), header...)
			if (conn != nil) != c.allowed {
				t.Fatalf("the handshake: %d %s", r.status, r.body)
			}
			if conn == nil {
				checkClient(t, r, c.settings, c.origin, false)
				if got := k.usage(t, 3)["devnet other forbidden"]; got != (line{3, 15}) {
					t.Errorf("three refusals: %+v", got)
				}
			}
		})
	}
}

// checkClient checks the answer to a client. With a list of origins only a page of
// one of them may read it.
func checkClient(t *testing.T, r reply, settings nodegate.KeySettings, origin string, allowed bool) {
	t.Helper()
	if allowed {
		r.want(t, 200, 0, "", "7")
	} else {
		r.want(t, 403, -32043, forbidden, "null") // the envelope was not read
	}
	want, vary := "*", ""
	if len(settings.Origins) > 0 {
		want, vary = "", "Origin"
		if settings.AllowsOrigin(origin) {
			want = origin
		}
	}
	if got := r.header.Get("Access-Control-Allow-Origin"); got != want {
		t.Errorf("allowed origin %q, want %q", got, want)
	}
	if got := r.header.Get("Vary"); got != vary {
		t.Errorf("Vary is %q, want %q", got, vary)
	}
}

// TestSocketOrigins is every kind of page that may try to open a socket with a key it
// has got hold of. A key without a list of origins admits by itself, from anywhere;
// one with a list admits its pages, and nobody who doesn't say which page they are.
func TestSocketOrigins(t *testing.T) {
	t.Parallel()
	s := shared(t)
	open := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	closed := newTenant(t, s, "unlimited", nodegate.KeySettings{Origins: []string{"https://app.example.com", "https://*.wild.example"}})
	for _, c := range []struct {
		name    string
		origins []string
		listed  bool
	}{
		{"none", nil, false},
		{"the same", []string{"https://app.example.com"}, true},
		{"the same in capitals", []string{"HTTPS://App.Example.com"}, true},
		{"foreign", []string{"https://evil.example"}, false},
		{"the service's own", []string{"http://" + s.Host()}, false},
		{"null", []string{"null"}, false},
		{"a subdomain", []string{"https://a.app.example.com"}, false},
		{"a subdomain that is listed", []string{"https://a.wild.example"}, true},
		{"another scheme", []string{"http://app.example.com"}, false},
		{"another port", []string{"https://app.example.com:8443"}, false},
		{"junk", []string{"https://evil.example/.wild.example"}, false},
		{"a user before it", []string{"https://evil@a.wild.example"}, false},
		{"several in one", []string{"https://evil.example, https://a.wild.example"}, false},
		{"several, a listed one first", []string{"https://app.example.com", "https://evil.example"}, false},
		{"several, a listed one last", []string{"https://evil.example", "https://app.example.com"}, false},
		{"empty", []string{""}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var header []string
			for _, origin := range c.origins {
				header = append(header, "Origin", origin)
			}
			if conn, r := handshake(t, open.ws(), header...); conn == nil || r.status != 101 {
				t.Errorf("without a list: %d %s", r.status, r.body)
			} else {
				ask(t, conn, chainID).want(t, 0, 0, "", "1")
			}
			conn, r := handshake(t, closed.ws(), header...)
			switch {
			case c.listed && (conn == nil || r.status != 101):
				t.Errorf("with a list: %d %s", r.status, r.body)
			case c.listed:
				ask(t, conn, chainID).want(t, 0, 0, "", "1")
			case conn != nil:
				t.Error("with a list: let in")
			default:
				r.want(t, 403, -32043, forbidden, "null")
			}
		})
	}
}

// TestSettingsOfOpenSocket: a change of the settings holds for the next message of
// a socket that is open already, whichever list it is in.
func TestSettingsOfOpenSocket(t *testing.T) {
	t.Parallel()
	s := shared(t)
	for _, c := range []struct {
		name    string
		change  nodegate.KeySettings
		code    int
		message string
	}{
		{"methods", nodegate.KeySettings{Methods: []string{"eth_chainId"}}, -32043, forbidden},
		{"origins", nodegate.KeySettings{Origins: []string{"https://app.example.com"}}, -32043, forbidden},
		{"user agents", nodegate.KeySettings{UserAgents: []string{"Wallet/"}}, -32043, forbidden},
		{"secret", nodegate.KeySettings{SecretRequired: true}, -32041, secretInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
			conn := dial(t, k.ws(), "Origin", "https://other.example", "User-Agent", "curl/8")
			ask(t, conn, balance).want(t, 0, 0, "", "7")
			k.set(t, func(s *nodegate.KeySettings) { *s = c.change })
			until(t, "the change holds", func() bool {
				_, e := answerOf(t, ask(t, conn, balance).body)
				return e.Code != 0
			})
			ask(t, conn, balance).want(t, 0, c.code, c.message, "7")
			k.set(t, func(s *nodegate.KeySettings) { *s = nodegate.KeySettings{} })
			until(t, "it is taken back", func() bool {
				_, e := answerOf(t, ask(t, conn, balance).body)
				return e.Code == 0
			})
		})
	}
}
