package accounts_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/harness"
)

// TestDevelopmentScope: keys change an embedded chain only after an operator has granted
// their account the scope, on open sockets too, and only while they have it.
func TestDevelopmentScope(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	c := dial(t, k.ws())
	set := callOf("hardhat_setBalance", `["0x00000000000000000000000000000000000000ab","0x1"]`)
	trace := callOf("debug_traceBlockByNumber", `["0x7",{"tracer":"callTracer"}]`)
	parity := callOf("trace_block", `["0x7"]`)
	const refused = "the method hardhat_setBalance does not exist/is not available: it needs an API key with the scope development, which an operator grants to its account"
	send(t, k.url, set).want(t, 200, -32601, refused, "7")
	send(t, k.url, trace).want(t, 200, -32601, "the method debug_traceBlockByNumber does not exist/is not available", "7")
	grant := func(on bool) {
		t.Helper()
		patiently(t, func() error {
			return s.Server.Control().Accounts.SetDevelopment(t.Context(), actor, k.account, on)
		})
		until(t, "the scope is followed", func() bool {
			_, e := answerOf(t, ask(t, c, set).body)
			return (e.Code == 0) == on
		})
	}
	grant(true)
	send(t, k.url, set).want(t, 200, 0, "", "7")
	send(t, k.url, trace).want(t, 200, 0, "", "7")
	send(t, k.url, parity).want(t, 200, 0, "", "7")
	send(t, s.URL("rollup", k.key), set).want(t, 200, 0, "", "7")
	k.set(t, func(s *nodegate.KeySettings) { s.Addresses = []string{"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"} })
	until(t, "a key with an address list traces nothing", func() bool { return send(t, k.url, parity).status == 403 })
	k.set(t, func(s *nodegate.KeySettings) { s.Addresses = nil })
	k.set(t, func(s *nodegate.KeySettings) { s.Services = []string{"json-rpc"} })
	until(t, "the key's own services hold", func() bool { return send(t, k.url, set).status == 403 })
	k.set(t, func(s *nodegate.KeySettings) { s.Services = nil })
	grant(false)
	send(t, k.url, set).want(t, 200, -32601, refused, "7")
}

// TestUnknownTracer: a tracer that doesn't exist is refused with those that do.
func TestUnknownTracer(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	patiently(t, func() error {
		return s.Server.Control().Accounts.SetDevelopment(t.Context(), actor, k.account, true)
	})
	body := callOf("debug_traceBlockByNumber", `["0x7",{"tracer":"noSuchTracer"}]`)
	until(t, "the scope is followed", func() bool {
		_, e := answerOf(t, send(t, k.url, body).body)
		return e.Code != -32601
	})
	for _, tracer := range []string{`"noSuchTracer"`, `"{step: function() {}}"`, `""`, `"muxTracer","tracerConfig":{"noSuchTracer":{}}`} {
		body := callOf("debug_traceBlockByNumber", `["0x7",{"tracer":`+tracer+`}]`)
		send(t, k.url, body).want(t, 200, -32602, "unknown tracer: use callTracer, flatCallTracer, prestateTracer, 4byteTracer, muxTracer or none; JavaScript tracers are not allowed on this server", "7")
	}
}

// TestMiningEndsWithItsClient: blocks that nobody waits for are not mined.
func TestMiningEndsWithItsClient(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	url := s.URL("devnet", s.Server.First().Key.Value)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(callOf("anvil_mine", `[10000]`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		t.Fatal("10,000 blocks were mined in 300 ms")
	}
	before := ""
	until(t, "the chain stands still", func() bool {
		var answer struct{ Result string }
		if err := json.Unmarshal([]byte(send(t, url, callOf("eth_blockNumber", `[]`)).body), &answer); err != nil {
			t.Fatal(err)
		}
		same := answer.Result == before
		before = answer.Result
		time.Sleep(300 * time.Millisecond)
		return same
	})
	if n, err := strconv.ParseUint(before, 0, 64); err != nil || n > 5000 {
		t.Errorf("mined up to %s", before)
	}
}
