package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/internal/config"
)

// upgrade are the headers of a WebSocket handshake.
var upgrade = []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}

// TestHandshakeRefusals are ordinary HTTP answers, with envelopes like any other.
func TestHandshakeRefusals(t *testing.T) {
	s := shared(t)
	for _, c := range []struct {
		name, method, path string
		header             []string
		status, code       int // a status of 0 is any 4xx
		message            string
	}{
		{"no key", "GET", "/devnet/ws/v3", upgrade, 401, -32041, "API key required"},
		{"short key", "GET", "/devnet/ws/v3/abc", upgrade, 401, -32041, "invalid API key"},
		{"unknown network", "GET", "/nope/ws/v3/" + keyA, upgrade, 404, -32001, "unknown network"},
		{"no upgrade", "GET", "/devnet/ws/v3/" + keyA, nil, 426, -32600, "this URL is for WebSockets"},
		{"POST", "POST", "/devnet/ws/v3/" + keyA, nil, 405, -32600, "this URL is for WebSockets"},
		{"on the HTTP address", "GET", "/devnet/v3/" + keyA, upgrade, 405, -32600, "method not allowed"},
		{"another protocol", "GET", "/devnet/ws/v3/" + keyA, []string{"Connection", "Upgrade", "Upgrade", "h2c"}, 0, -32600, ""},
		{"old version", "GET", "/devnet/ws/v3/" + keyA, append(upgrade[:4:4], "Sec-WebSocket-Version", "8", "Sec-WebSocket-Key", upgrade[7]), 0, -32600, ""},
		{"no nonce", "GET", "/devnet/ws/v3/" + keyA, upgrade[:6], 0, -32600, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, body := do(t, request(t, c.method, s.rpc+c.path, "", append(c.header, "Origin", "https://example.com")...))
			if got := res.StatusCode; got != c.status && (c.status != 0 || got/100 != 4) {
				t.Errorf("status %d, want %d", got, c.status)
			}
			id, _, e := answerOf(t, body)
			if id != "null" || e.Code != c.code || !strings.HasPrefix(e.Message, c.message) {
				t.Errorf("answered %s", body)
			}
			checkHeaders(t, res)
		})
	}
}

// TestSocketAddresses has every form of a WebSocket's address. The key lets in, so
// any origin may connect.
func TestSocketAddresses(t *testing.T) {
	s := shared(t)
	base := "ws" + strings.TrimPrefix(s.rpc, "http")
	for _, c := range []struct{ path, host, chain string }{
		{"/devnet/ws/v3/" + keyA, "", "0x539"},
		{"/rollup/ws/v3/" + keyA + "/", "", "0x53a"},
		{"/ws/v3/" + keyA, "", "0x539"},
		{"/ws/v3/" + keyA, "rollup.localhost", "0x53a"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		conn, _, err := websocket.Dial(ctx, base+c.path, &websocket.DialOptions{Host: c.host, HTTPHeader: http.Header{"Origin": {"https://evil.example"}}})
		cancel()
		if err != nil {
			t.Errorf("%s at %q: %v", c.path, c.host, err)
			continue
		}
		write(t, conn, chainID)
		if _, result, _ := answerOf(t, read(t, conn)); result != `"`+c.chain+`"` {
			t.Errorf("%s at %q is %s, want %s", c.path, c.host, result, c.chain)
		}
		_ = conn.CloseNow()
	}
}

// TestSocketPing wants an answer to a ping while calls go on.
func TestSocketPing(t *testing.T) {
	c := dial(t, shared(t).ws("devnet", keyA))
	reading := c.CloseRead(t.Context()) // a pong is seen only while reading
	ctx, cancel := context.WithTimeout(reading, patience)
	defer cancel()
	if err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
}

// TestSocketConcurrency sends slow calls and then a quick one: the quick one
// does not wait for all of them.
func TestSocketConcurrency(t *testing.T) {
	c := dial(t, small(t).ws("rollup", keyA))
	for i := range 3 {
		write(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":"slow %d","method":"eth_call","params":[%s,"latest"]}`, i, endlessCall))
	}
	write(t, c, chainID)
	if first := read(t, c); !strings.Contains(first, `"id":1,`) {
		t.Errorf("the first answer is %s", first)
	}
	for range 3 { // one runs, and the others wait for its seat
		_, _, e := answerOf(t, read(t, c))
		if e.Message != "request timed out" && !strings.HasPrefix(e.Message, "heavy calls of this account have used its share") {
			t.Errorf("a slow call ended with %v", e)
		}
	}
}

// event is what a subscription sends.
type event struct {
	Method string
	Params struct {
		Subscription string
		Result       json.RawMessage
	}
}

// readEvent skips nothing: the next message must be an event.
func readEvent(t *testing.T, c *websocket.Conn) event {
	t.Helper()
	var e event
	decode(t, read(t, c), &e)
	if e.Method != "eth_subscription" {
		t.Fatalf("%v is no event", e)
	}
	return e
}

// ask makes one call on a socket with nothing else in progress.
func ask(t *testing.T, c *websocket.Conn, method, params string) (result string, e rpcError) {
	t.Helper()
	write(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	_, result, e = answerOf(t, read(t, c))
	return result, e
}

// TestSubscriptions watches heads and logs while a transaction is mined.
func TestSubscriptions(t *testing.T) {
	s := shared(t)
	heads, logs := dial(t, s.ws("scratch", keyA)), dial(t, s.ws("scratch", keyB))
	headsID, _ := ask(t, heads, "eth_subscribe", `["newHeads"]`)
	logsID, _ := ask(t, logs, "eth_subscribe", `["logs",{"address":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"}]`)
	if len(headsID) != 36 || headsID == logsID {
		t.Errorf("the ids are %s and %s", headsID, logsID)
	}
	hash, block := mine(t, s.url("scratch", keyA), 1337, setValue(99))
	head := readEvent(t, heads)
	if want := fmt.Sprintf(`"number":"%#x"`, block); `"`+head.Params.Subscription+`"` != headsID || !strings.Contains(string(head.Params.Result), want) {
		t.Errorf("the head is %.300s of %s, want %s", head.Params.Result, head.Params.Subscription, want)
	}
	log := readEvent(t, logs)
	if got := string(log.Params.Result); !strings.Contains(got, hash) || !strings.Contains(got, `0000000000000063"`) || !strings.Contains(got, `"removed":false`) {
		t.Errorf("the log is %.400s", got)
	}
	// Ended subscriptions are silent: the next message is the answer to our call.
	if result, _ := ask(t, heads, "eth_unsubscribe", "["+headsID+"]"); result != "true" {
		t.Errorf("unsubscribing answers %s", result)
	}
	mine(t, s.url("scratch", keyA), 1337, nil)
	if result, _ := ask(t, heads, "eth_chainId", "[]"); result != `"0x539"` {
		t.Errorf("after unsubscribing comes %s", result)
	}
	if _, e := ask(t, heads, "eth_unsubscribe", "["+headsID+"]"); e.Message != "subscription not found" {
		t.Errorf("unsubscribing twice: %v", e)
	}
	// A subscription belongs to its socket: nobody else can end it.
	if _, e := ask(t, heads, "eth_unsubscribe", "["+logsID+"]"); e.Message != "subscription not found" {
		t.Errorf("unsubscribing another's: %v", e)
	}
}

// TestSubscriptionLimit fills a socket with subscriptions; ending one makes room.
func TestSubscriptionLimit(t *testing.T) {
	c := dial(t, small(t).ws("devnet", keyA))
	first, _ := ask(t, c, "eth_subscribe", `["newHeads"]`)
	ask(t, c, "eth_subscribe", `["newHeads"]`)
	if _, e := ask(t, c, "eth_subscribe", `["newHeads"]`); e.Code != -32000 || !strings.Contains(e.Message, "at most 2") {
		t.Errorf("the third: %v", e)
	}
	if _, e := ask(t, c, "eth_subscribe", `["nope"]`); e.Code == 0 {
		t.Error("an unknown kind was accepted")
	}
	ask(t, c, "eth_unsubscribe", "["+first+"]")
	if _, e := ask(t, c, "eth_subscribe", `["newHeads"]`); e.Code != 0 {
		t.Errorf("after one ended: %v", e)
	}
}

// TestSubscriptionInBatch wants the id before the first event.
func TestSubscriptionInBatch(t *testing.T) {
	s := shared(t)
	c := dial(t, s.ws("scratch", keyA))
	write(t, c, `[{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]},{"jsonrpc":"2.0","id":2,"method":"eth_chainId"}]`)
	if answer := read(t, c); !strings.HasPrefix(answer, `[{"jsonrpc":"2.0","id":1,"result":"0x`) {
		t.Errorf("answered %s", answer)
	}
	mine(t, s.url("scratch", keyA), 1337, nil)
	readEvent(t, c)
}

// TestShutdown closes sockets with 1012 and finishes what is in progress over HTTP.
func TestShutdown(t *testing.T) {
	s, err := launch(t.TempDir(), func(c *config.Config) {
		only("rollup")(c)
		c.Limits.CallTimeout = time.Second
	})
	if err != nil {
		t.Fatal(err)
	}
	var sockets []*websocket.Conn
	for range 5 {
		c := dial(t, s.ws("rollup", keyA))
		ask(t, c, "eth_subscribe", `["newHeads"]`)
		sockets = append(sockets, c)
	}
	under := make(chan string, 1)
	go func() {
		_, body := post(t, s.url("rollup", keyA), `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[`+endlessCall+`,"latest"]}`)
		under <- body
	}()
	inProgress(t, under)
	done := make(chan error, 1)
	go func() { done <- s.close() }()
	for _, c := range sockets {
		if got := closeStatus(t, c); got != websocket.StatusServiceRestart {
			t.Errorf("closed with %d, want 1012", got)
		}
	}
	if body := <-under; !strings.Contains(body, "request timed out") {
		t.Errorf("the call under way got %s", body)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.rpc + "/readyz"); err == nil {
		t.Error("the closed server still answers")
	}
}

// TestShutdownBesideSlowClient says goodbye to sockets at once, not after the
// last HTTP client has made up its mind.
func TestShutdownBesideSlowClient(t *testing.T) {
	s, err := launch(t.TempDir(), only("devnet"))
	if err != nil {
		t.Fatal(err)
	}
	slow := rawDial(t, s)
	slow.send("POST /devnet/v3/" + keyA + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[")
	c := dial(t, s.ws("devnet", keyA))
	ask(t, c, "eth_chainId", "[]")
	done := make(chan error, 1)
	go func() { done <- s.close() }()
	if got := closeStatus(t, c); got != websocket.StatusServiceRestart {
		t.Errorf("closed with %d, want 1012", got)
	}
	_ = slow.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := slow.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the slow client ended first: %v", err)
	}
	_ = slow.Close() // or the server waits for it as long as it may
	if err := <-done; err != nil {
		t.Error(err)
	}
}
