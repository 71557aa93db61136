package nodes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/test/harness"
)

// TestAddressList: a key with an address list reaches the contracts on it and no others, on
// embedded and remote networks, over HTTP and WebSocket, alone and in a batch.
func TestAddressList(t *testing.T) {
	node := harness.Start(t, nil)
	f := startFront(t, "networks:\n"+network("main", "", node.URL("devnet", key)))
	f.ready(t)
	for name, s := range map[string]struct {
		*harness.Service
		network string
	}{"embedded": {node, "devnet"}, "remote": {f.Service, "main"}} {
		limited := credential.NewKey()
		if err := s.AddKey("limited", "unlimited", limited, credential.NewSecret(), nodegate.KeySettings{Addresses: []string{listed}}); err != nil {
			t.Fatal(err)
		}
		t.Run(name+" HTTP", func(t *testing.T) { overHTTP(t, s.URL(s.network, limited)) })
		t.Run(name+" batch", func(t *testing.T) { inBatch(t, s.URL(s.network, limited)) })
		t.Run(name+" WebSocket", func(t *testing.T) { overSocket(t, s.WS(s.network, limited)) })
	}
}

const listed, other = "0x5fbdb2315678afecb367f032d93f642f64180aa3", "0x00000000000000000000000000000000000000aa"

// accesses are calls of a key with an address list, and why they are refused: the empty text
// is not.
var accesses = []struct{ method, params, refusal string }{
	{"eth_getCode", `["` + listed + `","latest"]`, ""},
	{"eth_chainId", `[]`, ""},
	{"eth_getCode", `["` + other + `","latest"]`, "address " + other + " is not allowed"},
	{"eth_getStorageValues", `[{"` + other + `":["0x0"]},"latest"]`, "address " + other + " is not allowed"},
	{"eth_fillTransaction", `[{"to":"` + other + `"}]`, "address " + other + " is not allowed"},
	{"eth_call", `[{"to":"` + listed + `","data":"0x3fa4f245"},"latest",{"` + listed + `":{"balance":"0x1","nonce":"0x1"}}]`, ""},
	{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"code":"0x60"}}]`, "a state override of code is not allowed"},
	{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"state":{` + slot + `}}}]`, "a state override of state is not allowed"},
	{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"stateDiff":{` + slot + `}}}]`, "a state override of stateDiff is not allowed"},
	{"eth_estimateGas", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"stateDiff":{` + slot + `}}}]`, "a state override of stateDiff is not allowed"},
	{"eth_createAccessList", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"stateDiff":{` + slot + `}}}]`, "a state override of stateDiff is not allowed"},
	{"eth_simulateV1", `[{"blockStateCalls":[{"stateOverrides":{"` + listed + `":{"stateDiff":{` + slot + `}}},"calls":[]}]}]`, "a state override of stateDiff is not allowed"},
	{"eth_callMany", `[[]]`, "method eth_callMany is not allowed"},
	{"trace_call", `[{"to":"` + listed + `"},["trace"],"latest"]`, "method trace_call is not allowed"},
	{"debug_traceTransaction", `["0x00"]`, "method debug_traceTransaction is not allowed"},
}

// slot holds another contract's address, as an upgradeable contract's does.
const slot = `"0x0000000000000000000000000000000000000000000000000000000000000000":"0x00000000000000000000000000000000000000000000000000000000000000aa"`

func overHTTP(t *testing.T, url string) {
	for _, c := range accesses {
		status, body := post(t, url, envelopeOf(1, c.method, c.params))
		if want := map[bool]int{true: 200, false: 403}[c.refusal == ""]; status != want {
			t.Errorf("%s%s: %d, want %d", c.method, c.params, status, want)
		}
		wantAccess(t, c.method+c.params, body, c.refusal)
	}
}

func inBatch(t *testing.T, url string) {
	var calls []string
	for i, c := range accesses {
		calls = append(calls, envelopeOf(i, c.method, c.params))
	}
	status, body := post(t, url, "["+strings.Join(calls, ",")+"]")
	var answers []json.RawMessage
	if err := json.Unmarshal([]byte(body), &answers); err != nil || status != 200 || len(answers) != len(accesses) {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	for i, c := range accesses {
		wantAccess(t, c.method+c.params, string(answers[i]), c.refusal)
	}
}

func overSocket(t *testing.T, url string) {
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	for i, c := range accesses {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(envelopeOf(i, c.method, c.params))); err != nil {
			t.Fatal(err)
		}
		_, body, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantAccess(t, c.method+c.params, string(body), c.refusal)
	}
}

func envelopeOf(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// wantAccess looks for a result, or for an error with the reason.
func wantAccess(t *testing.T, call, answer, refusal string) {
	t.Helper()
	switch {
	case refusal == "" && !strings.Contains(answer, `"result"`):
		t.Errorf("%s: %s", call, answer)
	case refusal != "" && (!strings.Contains(answer, "-32043") || !strings.Contains(answer, "rejected by the API key's settings: "+refusal)):
		t.Errorf("%s: %s, want %q", call, answer, refusal)
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
