package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var (
	option = regexp.MustCompile(`<option[^>]*>([a-z0-9]+_[A-Za-z]+)</option>`)
	params = regexp.MustCompile(`(?s)name="params"[^>]*>(.*?)</textarea>`)
)

// Every example works on its network as it is offered.
func TestExamplesWork(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	for _, network := range []string{"devnet", "rollup"} {
		page := v.Get("/try?network=" + network)
		methods := option.FindAllStringSubmatch(page.Body, -1)
		if len(methods) < 15 || strings.Contains(page.Body, "layer2_estimateGas") != (network == "rollup") {
			t.Fatalf("%s: %d examples: %v", network, len(methods), methods)
		}
		for _, m := range methods {
			offered := v.Get("/try?network=" + network + "&method=" + m[1])
			found := params.FindStringSubmatch(offered.Body)
			if found == nil {
				t.Fatalf("%s: %s", m[1], offered.Body)
			}
			sent := v.Post("/try", url.Values{"network": {network}, "method": {m[1]}, "params": {html.UnescapeString(found[1])}})
			if sent.Status != http.StatusOK || !strings.Contains(sent.Body, `<span class="tag good">ok</span>`) || strings.Contains(sent.Body, "&#34;result&#34;: null") {
				t.Errorf("%s on %s with %s: %d %s", m[1], network, found[1], sent.Status, answerOf(sent))
			}
		}
	}
}

func answerOf(p Page) string {
	_, answer, _ := strings.Cut(p.Body, `id="answer"`)
	return answer
}

// What a request costs is shown and counted for the key.
func TestTryCosts(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	p := v.Post("/try", url.Values{"network": {"devnet"}, "method": {"eth_blockNumber"}, "params": {"[]"}})
	if !strings.Contains(answerOf(p), "<dt>Credits</dt><dd>80</dd>") {
		t.Errorf("%s", answerOf(p))
	}
}

// What is wrong is the answer that the service gives, and never more than text.
func TestTryRefuses(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	for _, c := range []struct{ name, method, params, want string }{
		{"no such method", "eth_nothing", "[]", "-32601"},
		{"no JSON", "eth_call", "[", "-32700"},
		{"a second envelope", "eth_chainId", `[]},{"jsonrpc":"2.0","id":2,"method":"eth_chainId"`, "-32700"},
		{"markup", "<script>alert(1)</script>", `["</textarea><script>alert(1)</script>"]`, "-32601"},
		{"a quote in the name", `eth_"chainId`, "[]", "-32601"},
	} {
		p := v.Post("/try", url.Values{"network": {"devnet"}, "method": {c.method}, "params": {c.params}})
		if p.Status != http.StatusOK || !strings.Contains(answerOf(p), c.want) || !strings.Contains(p.Body, "failed") {
			t.Errorf("%s: %d %s", c.name, p.Status, answerOf(p))
		}
		if strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: markup of the form is on the page", c.name)
		}
	}
}

// Without a key there is nothing to count for.
func TestTryWithoutKey(t *testing.T) {
	s, _ := Start(t, nil)
	v := Member(t, s, "new@example.com")
	if p := v.Get("/try"); p.Status != http.StatusOK || !strings.Contains(p.Body, "no API key yet") {
		t.Errorf("%d %s", p.Status, p.Body)
	}
	if p := v.Post("/try", url.Values{"network": {"devnet"}, "method": {"eth_chainId"}}); p.Status != http.StatusUnprocessableEntity {
		t.Errorf("%d", p.Status)
	}
	if p := v.Post("/try", url.Values{"key": {"k-a"}, "method": {"eth_chainId"}}); p.Status != http.StatusNotFound {
		t.Errorf("another account's key: %d", p.Status)
	}
}

func TestFaucet(t *testing.T) {
	s, _ := Start(t, nil)
	v := Member(t, s, "poor@example.com")
	const address = "0x00000000000000000000000000000000000000fa"
	for _, network := range []string{"devnet", "rollup"} {
		member := Member(t, s, network+"@example.com")
		p := member.Follow(member.Post("/try/faucet", url.Values{"network": {network}, "address": {address}}))
		if p.Status != http.StatusOK || !strings.Contains(p.Body, "Sent: transaction") {
			t.Errorf("%s: %d %s", network, p.Status, p.Body)
		}
		balance := Operator(t, s).Post("/try", url.Values{"network": {network}, "method": {"eth_getBalance"}, "params": {`["` + address + `","latest"]`}})
		if !strings.Contains(answerOf(balance), "0x8ac7230489e80000") {
			t.Errorf("%s: %s", network, answerOf(balance))
		}
	}
	if p := v.Post("/try/faucet", url.Values{"network": {"devnet"}, "address": {"my wallet"}}); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "40 hex digits") {
		t.Errorf("a bad address: %d", p.Status)
	}
}

// A network that isn't there is not another one.
func TestUnknownNetwork(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	for _, path := range []string{"/try", "/try/faucet"} {
		if p := v.Post(path, url.Values{"network": {"nope"}, "method": {"eth_chainId"}, "address": {"0x00000000000000000000000000000000000000fa"}}); p.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.Status)
		}
	}
}

// A contract that refuses ether is an error, and only that.
func TestRefusedGift(t *testing.T) {
	s, _ := Start(t, nil)
	p := Operator(t, s).Post("/try/faucet", url.Values{"network": {"devnet"}, "address": {"0x0000000000000000000000000000000000000009"}})
	if p.Status != http.StatusUnprocessableEntity || strings.Contains(p.Body, "Sent: transaction") || !strings.Contains(p.Body, "refused the ether") {
		t.Errorf("%d %s", p.Status, p.Body)
	}
}

// TestTryScopes: the page sends nothing that the chosen key could not send by itself.
func TestTryScopes(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	for _, c := range []struct {
		name string
		form url.Values
		ok   bool
	}{
		{"json-rpc", url.Values{"service": {"json-rpc"}}, true},
		{"storage", url.Values{"service": {"storage"}}, false},
		{"another network", url.Values{"service": {"json-rpc", "storage"}, "networks": {"rollup"}}, false},
	} {
		key := v.makeKey(t, c.name)
		c.form.Set("services_shown", "yes")
		v.Post(key.path+"/settings", c.form).Is(t, http.StatusSeeOther)
		_, id, _ := strings.Cut(key.path, "/keys/")
		p := v.Post("/try", url.Values{"network": {"devnet"}, "key": {id}, "method": {"eth_chainId"}, "params": {"[]"}})
		if ok := strings.Contains(p.Body, `<span class="tag good">ok</span>`); ok != c.ok {
			t.Errorf("a key for %s: %d %s", c.name, p.Status, answerOf(p))
		}
		if !c.ok && !strings.Contains(p.Body, "rejected by the API key") {
			t.Errorf("a key for %s: the reason isn't shown: %s", c.name, answerOf(p))
		}
	}
}
