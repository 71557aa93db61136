package nodes_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/test/harness"
)

// TestAddressList: before remote nodes, too, a key with an address list reaches the
// contracts on it and no others.
func TestAddressList(t *testing.T) {
	const listed, other = "0x5fbdb2315678afecb367f032d93f642f64180aa3", "0x00000000000000000000000000000000000000aa"
	node := harness.Start(t, nil)
	f := startFront(t, "networks:\n"+network("main", "", node.URL("devnet", key)))
	f.ready(t)
	limited := credential.NewKey()
	if err := f.AddKey("limited", "unlimited", limited, credential.NewSecret(), nodegate.KeySettings{Addresses: []string{listed}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, params, refusal string }{
		{"eth_getCode", `["` + listed + `","latest"]`, ""},
		{"eth_chainId", `[]`, ""},
		{"eth_getCode", `["` + other + `","latest"]`, "address " + other + " is not allowed"},
		{"eth_getStorageValues", `[{"` + other + `":["0x0"]},"latest"]`, "address " + other + " is not allowed"},
		{"eth_fillTransaction", `[{"to":"` + other + `"}]`, "address " + other + " is not allowed"},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"code":"0x60"}}]`, "a state override of code is not allowed"},
		{"eth_callMany", `[[]]`, "method eth_callMany is not allowed"},
		{"trace_call", `[{"to":"` + listed + `"},["trace"],"latest"]`, "method trace_call is not allowed"},
		{"debug_traceTransaction", `["0x00"]`, "method debug_traceTransaction is not allowed"},
	} {
		status, body := post(t, f.URL("main", limited), `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":`+c.params+`}`)
		switch {
		case c.refusal == "" && (status != 200 || !strings.Contains(body, `"result"`)):
			t.Errorf("%s%s: %d %s", c.method, c.params, status, body)
		case c.refusal != "" && (status != 403 || !strings.Contains(body, "-32043") || !strings.Contains(body, c.refusal)):
			t.Errorf("%s%s: %d %s, want 403 and %q", c.method, c.params, status, body, c.refusal)
		}
	}
}

func post(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}
