package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/edge"
)

// outcomes are what the layers of a test tell, by method.
var outcomes = map[string]nodegate.Trace{
	"hit":    {Cache: nodegate.CacheHit},
	"miss":   {Cache: nodegate.CacheMiss, Node: "geth-1", Waited: 1500 * time.Microsecond, Reason: "not kept yet"},
	"shared": {Cache: nodegate.CacheShared, Node: "geth-1", Waited: time.Millisecond},
	"bypass": {Cache: nodegate.CacheBypass, Node: "geth-2", Waited: 20 * time.Second, Reason: "method is never kept"},
	"none":   {Node: "geth-2"},
	"ledger": {Cache: nodegate.CacheLedger, Verified: nodegate.LevelRoots, Agreed: 2, Formed: true},
	"header": {Cache: nodegate.CacheMiss, Node: "geth-1", Verified: nodegate.LevelHeader, Agreed: 1},
	"agreed": {Cache: nodegate.CacheMiss, Node: "geth-1", Verified: nodegate.LevelAgreed, Agreed: 3},
	"old":    {Cache: nodegate.CacheLedger, Verified: nodegate.LevelRoots, Agreed: 1, Formed: true, HeadAge: 94900 * time.Millisecond},
	"evil":   {Cache: nodegate.CacheMiss, Node: "a\"\r\nX-Evil: 1", Reason: "b\r\nX-Evil: 1"},
	"long":   {Cache: nodegate.CacheMiss, Node: strings.Repeat("n", 500), Waited: 1000 * time.Hour, Reason: strings.Repeat("r", 500)},
}

func traced(c *edge.Config) { c.Networks[0].Traced, c.Networks[0].Parallel = true, 8 }

func tells(ctx context.Context, method string) ([]byte, error) {
	*nodegate.TraceFrom(ctx) = outcomes[method]
	return []byte(`"` + method + `"`), nil
}

var duration = regexp.MustCompile(`total;dur=[0-9]+\.[0-9]{3}\b`)

func TestHeadersTell(t *testing.T) {
	h := buildWith(t, traced)
	h.answer = tells
	for _, c := range []struct{ body, cache, timing, reason string }{
		{envelope("ledger"), "ledger", "total, cache;desc=ledger", ""},
		{"[" + envelope("hit") + "," + envelope("ledger") + "," + envelope("ledger") + "]", "ledger=2, hit=1", "total", ""},
		{envelope("hit"), "hit", "total, cache;desc=hit", ""},
		{envelope("miss"), "miss", `total, node;dur=1.500;desc="geth-1", cache;desc=miss`, "not kept yet"},
		{envelope("shared"), "shared", `total, node;dur=1.000;desc="geth-1", cache;desc=shared`, ""},
		{envelope("bypass"), "bypass", `total, node;dur=20000.000;desc="geth-2", cache;desc=bypass`, "method is never kept"},
		{envelope("none"), "", `total, node;dur=0.000;desc="geth-2"`, ""},
		{envelope("evil"), "miss", `total, node;dur=0.000;desc="?", cache;desc=miss`, "?"},
		{envelope("long"), "miss", `total, node;dur=3600000000.000;desc="` + strings.Repeat("n", 40) + `", cache;desc=miss`, strings.Repeat("r", 80)},
		{"[" + envelope("miss") + "," + envelope("hit") + "," + envelope("none") + "," + envelope("hit") + "]", "hit=2, miss=1", "total", ""},
		{`{"jsonrpc":"2.0","method":"hit"}`, "hit", "total, cache;desc=hit", ""},
		{`nothing`, "", "", ""},
	} {
		for _, explain := range []string{"", "1"} {
			res := h.explained(t, c.body, explain)
			reason := c.reason
			if explain == "" {
				reason = ""
			}
			verified := map[string]string{"ledger": "roots; agreed=2", "ledger=2, hit=1": "roots=2"}[c.cache]
			if res.Header.Get("X-Verified") != verified {
				t.Errorf("%s, explain %q: verified %q", c.body, explain, res.Header.Get("X-Verified"))
			}
			got := duration.ReplaceAllString(res.Header.Get("Server-Timing"), "total")
			if res.Header.Get("X-Cache") != c.cache || got != c.timing || res.Header.Get("X-Cache-Reason") != reason || res.Header.Get("X-Evil") != "" {
				t.Errorf("%s, explain %q: %v", c.body, explain, res.Header)
			}
		}
	}
}

// TestVerifiedHeader: each level is told, and a batch tells how often it had each.
func TestVerifiedHeader(t *testing.T) {
	h := buildWith(t, traced)
	h.answer = tells
	for body, want := range map[string]string{
		envelope("header"): "header; agreed=1",
		envelope("agreed"): "agreed; agreed=3",
		envelope("miss"):   "",
		"[" + envelope("agreed") + "," + envelope("miss") + "," + envelope("ledger") + "," + envelope("header") + "," + envelope("agreed") + "]": "roots=1, header=1, agreed=2",
	} {
		if got := h.explained(t, body, "").Header.Get("X-Verified"); got != want {
			t.Errorf("%s: X-Verified is %q, want %q", body, got, want)
		}
	}
}

// TestHeadAge: an answer by a head that no node reports any more says how old it is, a batch
// the highest age of its calls. One by a new head says nothing.
func TestHeadAge(t *testing.T) {
	h := buildWith(t, traced)
	h.answer = tells
	for body, want := range map[string]string{
		envelope("old"): "94", "[" + envelope("ledger") + "," + envelope("old") + "]": "94", envelope("ledger"): "", "[" + envelope("hit") + "]": "",
	} {
		for _, explain := range []string{"", "1"} {
			if got := h.explained(t, body, explain).Header.Get("X-Head-Age"); got != want {
				t.Errorf("%s, explain %q: the head's age is %q, want %q", body, explain, got, want)
			}
		}
	}
}

// explained sends a body with or without X-Explain: the first takes net/http's
// way, the second the short one.
func (h *house) explained(t *testing.T, body, explain string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url(goodKey), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if explain != "" {
		req.Header.Set("X-Explain", explain)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

// TestUntoldNetworks: a network without nodes and without a cache tells nothing.
func TestUntoldNetworks(t *testing.T) {
	h := build(t)
	h.answer = tells
	for _, body := range []string{envelope("hit"), "[" + envelope("miss") + "]"} {
		res := h.explained(t, body, "1")
		for _, name := range []string{"X-Cache", "Server-Timing", "X-Cache-Reason"} {
			if res.Header.Get(name) != "" {
				t.Errorf("%s: %v", body, res.Header)
			}
		}
	}
}

// TestLogOfRequests: one line for each request, with what is known and nothing of
// what the client chose.
func TestLogOfRequests(t *testing.T) {
	h := buildWith(t, traced, func(c *edge.Config) { c.LogRequests, c.Methods = true, []string{"miss", "hit"} })
	h.answer = tells
	const secret = "swordfish"
	c := socket(t, h)
	for _, one := range []struct{ body, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"miss","params":["` + secret + `"]}`, "network=net method=miss outcome=ok status=200 id=ID cache=miss node=geth-1 waited=1.5ms took=T"},
		{`{"jsonrpc":"2.0","id":1,"method":"` + secret + `"}`, `network=net method=other outcome=ok status=200 id=ID cache="" node="" waited=0s took=T`},
		{"[" + envelope("hit") + "," + envelope("miss") + ",1]", `network=net method=batch calls=3 failed=1 outcome=ok status=200 id=ID cache="hit=1, miss=1" took=T`},
		{envelope("ledger"), `network=net method=other outcome=ok status=200 id=ID cache=ledger verified="roots; agreed=2" node="" waited=0s took=T`},
		{`{"` + secret + `"`, `network=net method=other outcome="invalid request" status=200 id=ID took=T`},
	} {
		before := len(h.logs.String())
		h.post(t, goodKey, one.body)
		if got := tidyLine(h.logs.String()[before:]); got != one.want {
			t.Errorf("%s\nlogged %s\nwant   %s", one.body, got, one.want)
		}
	}
	before := len(h.logs.String())
	exchange(t, c, envelope("hit"))
	if got, want := tidyLine(h.logs.String()[before:]), `network=net method=hit outcome=ok cache=hit node="" waited=0s took=T`; got != want {
		t.Errorf("a message logged %s, want %s", got, want)
	}
	h.post(t, "bad"+secret, envelope("hit"))
	h.explained(t, strings.Repeat("x", 2<<20), "1")
	log := h.logs.String()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(log, "status=413") && time.Now().Before(end); log = h.logs.String() {
		time.Sleep(5 * time.Millisecond) // net/http's side logs after the answer has left
	}
	if !strings.Contains(log, `outcome="key invalid" status=401`) || !strings.Contains(log, `outcome="too large" status=413`) {
		t.Errorf("refusals are missing:\n%s", log)
	}
	if strings.Contains(log, secret) || strings.Contains(log, goodKey) {
		t.Errorf("the log holds what a client sent:\n%s", log)
	}
}

var changing = regexp.MustCompile(`(id|took)=\S+`)

// tidyLine is one line of the log from its message on, without what differs each time.
func tidyLine(line string) string {
	_, line, _ = strings.Cut(line, "msg=request ")
	return strings.TrimSpace(changing.ReplaceAllStringFunc(line, func(s string) string {
		if strings.HasPrefix(s, "id") {
			return "id=ID"
		}
		return "took=T"
	}))
}

// TestBatchParallel: as many calls at once as the network allows, no more.
func TestBatchParallel(t *testing.T) {
	h := buildWith(t, traced)
	var running, most atomic.Int32
	eight := make(chan struct{})
	var once sync.Once
	h.answer = func(ctx context.Context, method string) ([]byte, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if now == 8 {
			once.Do(func() { close(eight) })
		}
		select {
		case <-eight: // nobody ends before eight have begun
		case <-ctx.Done():
		}
		return []byte(`"` + method + `"`), nil
	}
	res, body := h.post(t, goodKey, numbered(slices.Repeat([]string{"m"}, 10)))
	if res.StatusCode != http.StatusOK || most.Load() != 8 || strings.Count(body, `"result"`) != 10 {
		t.Errorf("at most %d at once, answer %s", most.Load(), body)
	}
}

// numbered is a batch of methods whose ids are their places.
func numbered(methods []string) string {
	var calls []string
	for i, m := range methods {
		calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, i, m))
	}
	return "[" + strings.Join(calls, ",") + "]"
}

// TestBatchKeepsSendsInTurn: a transaction is sent after everything before it has
// ended, and before anything behind it begins.
func TestBatchKeepsSendsInTurn(t *testing.T) {
	h := buildWith(t, traced)
	var mu sync.Mutex
	var running int
	var order []string
	h.answer = func(_ context.Context, method string) ([]byte, error) {
		mu.Lock()
		running++
		if strings.HasPrefix(method, "eth_send") {
			order = append(order, method)
			if running != 1 {
				order = append(order, "not alone")
			}
		}
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		running--
		mu.Unlock()
		return []byte("1"), nil
	}
	h.post(t, goodKey, numbered([]string{"a", "b", "eth_sendRawTransaction", "eth_sendRawTransactionX", "c", "d", "eth_sendRawTransaction", "e"}))
	if got := strings.Join(order, " "); got != "eth_sendRawTransaction eth_sendRawTransactionX eth_sendRawTransaction" {
		t.Errorf("sent in the order %s", got)
	}
}

// TestBatchParallelIsTheSame: whatever is in a batch, its answer and what is paid
// for it are those of calls one after the other.
func TestBatchParallelIsTheSame(t *testing.T) {
	answer := func(_ context.Context, method string) ([]byte, error) {
		switch {
		case method == "fails":
			return nil, &nodegate.Error{Code: nodegate.ExecutionFailed, Msg: "no"}
		case method == "panics":
			panic("x")
		case strings.HasPrefix(method, "big"):
			n, _ := strconv.Atoi(method[3:])
			return []byte(`"` + strings.Repeat("x", n) + `"`), nil
		}
		return []byte(`"` + method + `"`), nil
	}
	small := func(c *edge.Config) { c.ResponseBytes, c.BatchItems = 4000, 200 }
	beside, inTurn := buildWith(t, traced, small), buildWith(t, small)
	beside.answer, inTurn.answer = answer, answer
	rapid.Check(t, func(rt *rapid.T) {
		element := rapid.SampledFrom([]string{
			envelope("a"), envelope("fails"), envelope("panics"), envelope("big100"), envelope("big1500"), envelope("big9000"), envelope("eth_sendRawTransaction"),
			envelope("eth_subscribe"), `{"jsonrpc":"2.0","method":"a"}`, `1`, `{"jsonrpc":"2.0","id":2,"method":"a","params":{}}`,
		})
		body := "[" + strings.Join(rapid.SliceOfN(element, 1, 150).Draw(rt, "batch"), ",") + "]"
		_, got := beside.post(t, goodKey, body)
		_, want := inTurn.post(t, goodKey, body)
		if hideIDs(got) != hideIDs(want) {
			rt.Fatalf("beside each other: %s\nin turn: %s", got, want)
		}
	})
}

var errorRef = regexp.MustCompile(`\(id [0-9a-z-]+\)`)

func hideIDs(s string) string { return errorRef.ReplaceAllString(s, "(id)") }

// TestServeReplaces: networks come and go while connections stay open.
func TestServeReplaces(t *testing.T) {
	h := build(t)
	client := &http.Client{}
	ask := func(network string) string {
		t.Helper()
		res, err := client.Post("http://"+h.addr+"/"+network+"/v3/"+goodKey, "application/json", strings.NewReader(envelope("echo")))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var answer struct{ Result string }
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return strconv.Itoa(res.StatusCode) + answer.Result
	}
	kept, gone := socket(t, h), socketOf(t, h, "net")
	other := &tally{answer: func(context.Context, string) ([]byte, error) { return []byte(`"other"`), nil }}
	if got := ask("net") + ask("far"); got != "200echo404" {
		t.Fatalf("before: %s", got)
	}
	h.edge.Serve([]nodegate.Network{{Name: "net", Node: h.tally}, {Name: "far", Node: other}}, "net", edge.CostsOfTest)
	if got := ask("net") + ask("far"); got != "200echo200other" {
		t.Errorf("with one more: %s", got)
	}
	if got := exchange(t, kept, envelope("echo")); !strings.Contains(got, `"echo"`) {
		t.Errorf("the socket of a network that stays answers %s", got)
	}
	far := socketOf(t, h, "far")
	h.edge.Serve([]nodegate.Network{{Name: "net", Node: other}}, "net", edge.CostsOfTest)
	if got := ask("net") + ask("far"); got != "200other404" {
		t.Errorf("with another node, and one less: %s", got)
	}
	for _, c := range []*websocket.Conn{gone, far} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, _, err := c.Read(ctx)
		cancel()
		if websocket.CloseStatus(err) != websocket.StatusServiceRestart {
			t.Errorf("a socket ended with %v, want 1001", err)
		}
	}
}

// TestServeReplacesPrices: the next request pays the new price, on HTTP and on a
// socket that was open before.
func TestServeReplacesPrices(t *testing.T) {
	h := build(t)
	c := socket(t, h)
	h.edge.Serve([]nodegate.Network{{Name: "net", Node: h.tally}}, "net", nodegate.Costs{Other: 7, Unknown: 7, Refused: 7})
	h.post(t, goodKey, envelope("x"))
	exchange(t, c, envelope("x"))
	if err := h.usage.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var credits int64
	for _, row := range h.sink.Rows() {
		credits += row.Credits
	}
	if credits != 14 {
		t.Errorf("%d credits for two calls of 7", credits)
	}
}
