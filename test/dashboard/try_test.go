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
	option = regexp.MustCompile(`<option value="([a-z0-9]+_[A-Za-z]+)" data-example>`)
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

// sendForm posts the request box as a browser would that shows a form.
func sendForm(v *Visitor, method string, fields url.Values) Page {
	fields.Set("network", "devnet")
	fields.Set("method", method)
	fields.Set("shown", method)
	fields.Set("from", "form")
	return v.Post("/try", fields)
}

// TestTryForm: the form of a method has an input for each parameter, filled with an example,
// and sends what is in it.
func TestTryForm(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	v.Get("/try?network=devnet&method=eth_getBlockByNumber").Is(t, http.StatusOK).Has(t, `id="from-form" checked`, `name="p0"`, `<option>finalized</option>`, `name="p1"`, `<option selected>false</option>`, "80 credits")
	sendForm(v, "eth_getBlockByNumber", url.Values{"p0": {"0x0"}, "p1": {"false"}}).Is(t, http.StatusOK).
		Has(t, `<span class="tag good">ok</span>`, `<span class="j-name">&#34;number&#34;</span>: <span class="j-text">&#34;0x0&#34;</span>`, `name="p0" value="0x0"`, `[&#34;0x0&#34;,false]</textarea>`)
	sendForm(v, "eth_call", url.Values{"p0.to": {"0x00000000000000000000000000000000000000fa"}, "p1": {"latest"}}).Is(t, http.StatusOK).
		Has(t, `<span class="tag good">ok</span>`, `name="p0.to" value="0x00000000000000000000000000000000000000fa"`, "Send it from your own client", "/requests?open=")
	sendForm(v, "eth_getBalance", url.Values{"p0": {`"><script>alert(1)</script>`}}).Is(t, http.StatusOK).Has(t, "-32602").Lacks(t, "<script>alert")
	if other := v.Post("/try", url.Values{"network": {"devnet"}, "method": {"eth_getBalance"}, "shown": {"eth_call"}, "from": {"form"}}); other.Status != http.StatusSeeOther || !strings.Contains(other.Location, "method=eth_getBalance") {
		t.Errorf("the form of another method: %d %s", other.Status, other.Location)
	}
	loaded := v.Post("/try", url.Values{"network": {"rollup"}, "method": {"eth_chainId"}, "load": {"1"}})
	if loaded.Status != http.StatusSeeOther || !strings.Contains(loaded.Location, "network=rollup") {
		t.Errorf("another network: %d %s", loaded.Status, loaded.Location)
	}
}

// TestTryLink: a link has the request and not the key, and opening it sends nothing.
func TestTryLink(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	key := s.Server.FirstKey()
	p := v.Get("/try?network=rollup&method=eth_getBalance&params="+url.QueryEscape(`["0xabc","earliest"]`)).Is(t, http.StatusOK)
	p.Has(t, `name="p0" value="0xabc"`, `value="earliest"`, "No response yet")
	link := regexp.MustCompile(`href="([^"]+)" data-share`).FindStringSubmatch(p.Body)
	if link == nil || strings.Contains(link[1], key.Value) || strings.Contains(link[1], key.Key.ID) || !strings.Contains(link[1], "params=") {
		t.Fatalf("the link is %v", link)
	}
	Member(t, s, "friend@example.com").Get(html.UnescapeString(link[1])).Is(t, http.StatusOK).Has(t, `name="p0" value="0xabc"`)
}

// TestTryBatch: a batch is sent as one, with what people leave out.
func TestTryBatch(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	batch := func(text string) Page {
		return v.Post("/try", url.Values{"network": {"devnet"}, "method": {"eth_chainId"}, "from": {"batch"}, "batch": {text}}).Is(t, http.StatusOK)
	}
	batch(`[{"method":"eth_chainId"},{"method":"eth_blockNumber","params":[]}]`).Has(t, `<span class="tag good">ok</span>`, `<span class="j-value">2</span>`, `id="from-batch" checked`)
	batch(`[{"method":"eth_chainId"},{"method":"eth_nothing"}]`).Has(t, `<span class="tag bad">failed</span>`, "-32601")
	batch(`no JSON`).Has(t, `<span class="tag bad">failed</span>`, "-32700")
}

// TestTryDecode: a result is decoded by an ABI that somebody pastes.
func TestTryDecode(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	// The identity precompile returns its input: the call's own data is the result.
	const to, word = "0x0000000000000000000000000000000000000004", "0000000000000000000000000000000000000000000000000000000000000020"
	call := func(abi string) Page {
		return v.Post("/try", url.Values{"network": {"devnet"}, "method": {"eth_call"}, "params": {`[{"to":"` + to + `","data":"0x` + word + `"},"latest"]`}, "abi": {abi}}).Is(t, http.StatusOK)
	}
	call("").Lacks(t, "view-decoded")
	call("function f() returns (uint256 size)").Has(t, "view-decoded", "Nothing was decoded: the ABI doesn&#39;t have the function that was called")
	call("<script>").Has(t, "The ABI can&#39;t be used").Lacks(t, "<script>alert", "<td>size</td>")
	for _, abi := range []string{"function f() returns (uint256 size)", `[{"type":"function","name":"f","outputs":[{"type":"uint256","name":"size"}]}]`} {
		v.Post("/try", url.Values{"network": {"devnet"}, "method": {"eth_getStorageAt"}, "params": {`["` + to + `","0x0","latest"]`}, "abi": {abi}}).
			Has(t, "<td>size</td>", `<code class="value">0</code>`, "f()")
	}
}

// TestTrySubscription: a subscription is followed over a WebSocket, which the page may open.
func TestTrySubscription(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	p := v.Get("/try?network=devnet&method=eth_subscribe").Is(t, http.StatusOK).Has(t, `data-socket="/try/socket"`, "wscat -c ws://", "$KEY", `name="p0"`, "<option selected>newHeads</option>").Lacks(t, s.Server.FirstKey().Value)
	v.Post("/try/socket", url.Values{"network": {"devnet"}}).Is(t, http.StatusOK).Has(t, `"url":"ws://`, "/devnet/ws/v3/"+s.Server.FirstKey().Value)
	Member(t, s, "nobody@example.com").Post("/try/socket", url.Values{"network": {"devnet"}}).Is(t, http.StatusUnprocessableEntity)
	if policy := p.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self' ws://127.0.0.1:") {
		t.Errorf("the policy is %s", policy)
	}
	if policy := v.Get("/try").Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self';") {
		t.Errorf("the policy of other methods is %s", policy)
	}
	key := v.makeKey(t, "with a secret")
	v.Post(key.path+"/settings", url.Values{"secret_required": {"on"}}).Is(t, http.StatusSeeOther)
	_, id, _ := strings.Cut(key.path, "/keys/")
	v.Get("/try?network=devnet&method=eth_subscribe&key="+id).Is(t, http.StatusOK).Has(t, "requires its secret", "$SECRET").Lacks(t, "data-socket=")
}
