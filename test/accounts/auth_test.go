package accounts_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/method"
)

func asClose(err error, target *websocket.CloseError) bool { return errors.As(err, target) }

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// The messages of the authenticator.
const (
	keyRequired   = "API key required"
	keyInvalid    = "invalid API key"
	secretInvalid = "invalid API key or API key secret"
	forbidden     = "rejected by the API key's settings: " // and what refused
)

// attempt is one way to present credentials. An empty message is let in.
type attempt struct {
	name    string
	path    string // behind /v3/ or /ws/v3/
	lines   []string
	message string
}

// attempts list every way to present a key and a secret, right and wrong.
func attempts(open, closed, revoked *tenant, unknown string) []attempt {
	k, s := closed.key, closed.secret
	return []attempt{
		{"path", open.key, nil, ""},
		{"path with a slash", open.key + "/", nil, ""},
		{"bearer", "", []string{"Authorization: Bearer " + open.key}, ""},
		{"bearer in another case", "", []string{"authorization: bearer " + open.key}, ""},
		{"x-api-key", "", []string{"X-API-Key: " + open.key}, ""},
		{"basic user", "", []string{"Authorization: " + basic(open.key, "")}, ""},
		{"the same key everywhere", open.key, []string{"Authorization: Bearer " + open.key, "X-API-Key: " + open.key}, ""},
		{"a secret that is not required", open.key, []string{"Authorization: " + basic("", open.secret)}, ""},
		{"a scheme that is not ours", open.key, []string{"Authorization: Digest x"}, ""},
		{"secret", k, []string{"Authorization: " + basic("", s)}, ""},
		{"key and secret", k, []string{"Authorization: " + basic(k, s)}, ""},
		{"key and secret, no path", "", []string{"Authorization: " + basic(k, s)}, ""},
		{"secret beside a header key", "", []string{"X-API-Key: " + k, "Authorization: " + basic("", s)}, ""},

		{"nothing", "", nil, keyRequired},
		{"a secret alone", "", []string{"Authorization: " + basic("", s)}, keyRequired},
		{"a scheme that is not ours alone", "", []string{"Authorization: Digest x"}, keyRequired},
		{"unknown", unknown, nil, keyInvalid},
		{"unknown bearer", "", []string{"Authorization: Bearer " + unknown}, keyInvalid},
		{"no key at all", "nonsense", nil, keyInvalid},
		{"upper case", strings.ToUpper(open.key), nil, keyInvalid},
		{"more behind it", open.key + "/more", nil, keyInvalid},
		{"revoked", revoked.key, nil, keyInvalid},
		{"path and bearer differ", open.key, []string{"Authorization: Bearer " + k}, keyInvalid},
		{"path and header differ", open.key, []string{"X-API-Key: " + k}, keyInvalid},
		{"path and basic differ", open.key, []string{"Authorization: " + basic(k, s)}, keyInvalid},
		{"bearer and header differ", "", []string{"Authorization: Bearer " + open.key, "X-API-Key: " + k}, keyInvalid},
		{"two authorizations", open.key, []string{"Authorization: Bearer " + open.key, "Authorization: Bearer " + open.key}, keyInvalid},
		{"two header keys", "", []string{"X-API-Key: " + open.key, "X-API-Key: " + open.key}, keyInvalid},
		{"no secret", k, nil, secretInvalid},
		{"wrong secret", k, []string{"Authorization: " + basic("", credential.NewSecret())}, secretInvalid},
		{"wrong secret that is not required", open.key, []string{"Authorization: " + basic("", "x")}, secretInvalid},
		{"wrong secret that is not required, beside the key", "", []string{"Authorization: " + basic(open.key, s)}, secretInvalid},
		{"secret of another key", k, []string{"Authorization: " + basic("", open.secret)}, secretInvalid},
		{"secret as the user", k, []string{"Authorization: " + basic("", "")}, secretInvalid},
		{"basic is not base64", open.key, []string{"Authorization: Basic !!!"}, secretInvalid},
		{"basic without a colon", k, []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s))}, secretInvalid},
		{"bearer for a secret", k, []string{"Authorization: Bearer " + s}, keyInvalid},
	}
}

// TestAuthentication tries every way over HTTP, as bare as it gets and with a header
// that makes it take net/http's way, and at the handshake of a WebSocket.
func TestAuthentication(t *testing.T) {
	s := shared(t)
	open := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	closed := newTenant(t, s, "unlimited", nodegate.KeySettings{SecretRequired: true})
	revoked := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	send(t, revoked.url, chainID).want(t, 200, 0, "", "1")
	revoked.revoke(t)
	until(t, "the revoked key stops", func() bool { return send(t, revoked.url, chainID).status == 401 })
	for _, a := range attempts(open, closed, revoked, credential.NewKey()) {
		t.Run(a.name, func(t *testing.T) {
			for _, more := range []string{"", "X-Other: 1\r\n", "Origin: https://app.example.com\r\n"} {
				lines := more
				for _, l := range a.lines {
					lines += l + "\r\n"
				}
				checkDoor(t, rawDial(t, s).post(t, "/devnet/v3/"+a.path, chainID, lines), a.message)
			}
			checkHandshake(t, s.WS("devnet", a.path), a)
		})
	}
}

// checkDoor checks an answer of the authenticator: the contract's words, an envelope, CORS,
// and no question for a password.
func checkDoor(t *testing.T, r reply, message string) {
	t.Helper()
	if message == "" {
		r.want(t, 200, 0, "", "1")
	} else {
		r.want(t, 401, -32041, message, "null")
	}
	checkHeaders(t, r)
}

func checkHeaders(t *testing.T, r reply) {
	t.Helper()
	if r.header.Get("WWW-Authenticate") != "" {
		t.Error("a browser would ask for a password")
	}
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("allowed origin %q", got)
	}
	if r.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("credentials are allowed")
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
}

func checkHandshake(t *testing.T, url string, a attempt) {
	t.Helper()
	var header []string
	for _, l := range a.lines {
		name, value, _ := strings.Cut(l, ": ")
		header = append(header, name, value)
	}
	c, r := handshake(t, url, header...)
	if a.message != "" {
		if c != nil {
			t.Fatal("the WebSocket was let in")
		}
		checkDoor(t, r, a.message)
		return
	}
	if c == nil {
		t.Fatalf("the WebSocket was refused: %d %s", r.status, r.body)
	}
	if _, e := answerOf(t, ask(t, c, chainID).body); e.Code != 0 {
		t.Errorf("%d %s", e.Code, e.Message)
	}
}

// TestDoorOrder: what stands in the path is read before the credentials, and a
// preflight needs none.
func TestDoorOrder(t *testing.T) {
	s := shared(t)
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	r := send(t, s.URL("nowhere", k.key), chainID)
	r.want(t, 404, -32001, "unknown network", "null")
	checkHeaders(t, r)
	if r := exchange(t, sharedClient, "OPTIONS", s.URL("devnet", ""), "", "Origin", "https://a.example"); r.status != 204 ||
		r.header.Get("Access-Control-Allow-Headers") != "Content-Type, Authorization, X-API-Key, X-Explain, Idempotency-Key" {
		t.Errorf("preflight: %d %v", r.status, r.header)
	}
	exposed := send(t, s.URL("devnet", ""), chainID, "Origin", "https://a.example").header.Get("Access-Control-Expose-Headers")
	if want := "Retry-After, X-Cache, X-Verified, X-Head-Age, Server-Timing, X-Request-Id"; exposed != want {
		t.Errorf("a page may read %q, want %q", exposed, want)
	}
}

// TestForbiddenMethods: what no plan buys.
func TestForbiddenMethods(t *testing.T) {
	k := newTenant(t, shared(t), "unlimited", nodegate.KeySettings{})
	list := forbiddenMethods()
	if len(list) < 60 {
		t.Fatalf("only %d methods", len(list))
	}
	c := dial(t, k.ws())
	for _, name := range list {
		message := fmt.Sprintf("the method %s does not exist/is not available", name)
		if method.Of(name).Development {
			message += ": it needs an API key with the scope development, which an operator grants to its account"
		}
		send(t, k.url, callOf(name, "[]")).want(t, 200, -32601, message, "7")
		ask(t, c, callOf(name, "[]")).want(t, 0, -32601, message, "7")
	}
}

func forbiddenMethods() (list []string) {
	for space, names := range map[string]string{
		"admin":    "addPeer addTrustedPeer removePeer removeTrustedPeer nodeInfo peers datadir exportChain importChain startHTTP stopHTTP startWS stopWS startRPC stopRPC sleep",
		"personal": "listAccounts listWallets newAccount importRawKey unlockAccount lockAccount sendTransaction sign signTransaction ecRecover deriveAccount openWallet",
		"engine":   "newPayloadV3 newPayloadV4 forkchoiceUpdatedV3 getPayloadV3 exchangeCapabilities",
		"miner":    "start stop setExtra setGasPrice setGasLimit setEtherbase",
		"debug":    "traceTransaction traceCall traceBlockByNumber setHead dumpBlock getRawBlock chaindbProperty memStats gcStats stacks startCPUProfile writeMemProfile",
		"txpool":   "content contentFrom inspect status",
		"trace":    "block call filter",
		"evm":      "snapshot revert mine increaseTime setNextBlockTimestamp",
		"eth":      "sign signTransaction signTypedData signTypedData_v4 sendTransaction",
	} {
		for name := range strings.FieldsSeq(names) {
			list = append(list, space+"_"+name)
		}
	}
	return list
}
