package edge

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/fastpath"
	"github.com/nodegate/nodegate/internal/web"
)

// cannedNode answers the same always. Its name is part of some answers, so that a
// request that went to the wrong network shows.
type cannedNode struct{ name string }

var cannedErrors = map[string]error{
	"params":  &nodegate.Error{Code: nodegate.InvalidParams, Msg: "missing value <for> argument 0"},
	"revert":  &nodegate.Error{Code: nodegate.Reverted, Msg: "execution reverted", Data: []byte(`"0x08c379a0"`)},
	"fault":   &nodegate.Error{Code: nodegate.NodeFault, Number: -39001, Msg: "unknown block"},
	"timeout": &nodegate.Error{Code: nodegate.Timeout, Msg: "request timed out"},
	"down":    &nodegate.Error{Code: nodegate.NoNode, Msg: "no node"},
	"busy":    &nodegate.Error{Code: nodegate.Busy, Msg: "busy", RetryAfter: 3 * time.Second},
	"limited": &nodegate.Error{Code: nodegate.RateLimited, Msg: "slow down", RetryAfter: time.Second},
	"broken":  errors.New("a cause that no client may see"),
	"long":    &nodegate.Error{Code: nodegate.NoNode, Msg: strings.Repeat("long ", 1000)},
}

func (n cannedNode) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	t := nodegate.TraceFrom(ctx)
	t.Node, t.Waited = "node \"of\r\nmany\"", time.Millisecond
	switch method {
	case "echo":
		t.Node, t.Cache = "", nodegate.CacheHit
	case "big":
		t.Node, t.Cache = strings.Repeat("n", 32), nodegate.CacheBypass
	case "who":
		t.Cache = nodegate.CacheShared
	case "revert":
		t.Cache = nodegate.CacheMiss
	}
	switch method {
	case "echo":
		return params, nil
	case "big":
		return []byte(`"` + strings.Repeat("0123456789", 2000) + `"`), nil
	case "edge": // just below what is compressed, and then at it
		return []byte(`"` + strings.Repeat("x", web.CompressFrom-len(`{"jsonrpc":"2.0","id":1,"result":""}`)-1+len(params)-len("[]")) + `"`), nil
	case "who":
		_, limited := ctx.Deadline()
		return []byte(`"` + n.name + " " + nodegate.GrantFrom(ctx).KeyID + " " + strconv.FormatBool(limited) + `"`), nil
	case "panic":
		panic("a canned one")
	}
	if err, ok := cannedErrors[method]; ok {
		return nil, err
	}
	return nil, &nodegate.Error{Code: nodegate.MethodNotFound, Msg: "the method " + method + " does not exist"}
}

func (cannedNode) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{}, nil }

// namedKeys lets in every key but none and "unknown".
type namedKeys struct{}

func (namedKeys) Authenticate(_ context.Context, c nodegate.Credentials) (*nodegate.Grant, error) {
	switch c.Key {
	case "":
		return nil, &nodegate.Error{Code: nodegate.KeyRequired, Msg: "API key required"}
	case "unknown":
		return nil, &nodegate.Error{Code: nodegate.KeyInvalid, Msg: "invalid API key"}
	case "limited":
		return nil, &nodegate.Error{Code: nodegate.RateLimited, Msg: "slow down", RetryAfter: 2 * time.Second}
	}
	return NewTestGrant(c.Key, nodegate.Policy{}), nil
}

// way is an edge behind a server, and how many requests took the short way. Each
// way has an edge of its own, so that their counters can be compared.
type way struct {
	*Edge
	addr  string
	plain atomic.Int64
}

func (w *way) ServePlain(ctx context.Context, c *fastpath.Conn, r *fastpath.Request, out []byte) ([]byte, bool) {
	answer, ok := w.Edge.ServePlain(ctx, c, r, out)
	if ok {
		w.plain.Add(1)
	}
	return answer, ok
}

const bodyLimit = 8 << 10

func startWay(tb testing.TB) *way {
	tb.Helper()
	cfg := Config{
		Networks:       []nodegate.Network{{Name: "alpha", Node: cannedNode{"alpha"}}, {Name: "beta", Node: cannedNode{"beta"}}, {Name: "told", Node: cannedNode{"told"}, Traced: true, Parallel: 4}},
		DefaultNetwork: "beta", Auth: namedKeys{}, Methods: []string{"echo", "big", "broken"},
		BodyBytes: bodyLimit, BatchItems: 10, ResponseBytes: 30_000, SubscriptionsPerConn: 1,
		Log: slog.New(slog.DiscardHandler), Metrics: obs.NewMetrics(), Ready: func(string) error { return nil },
	}
	Bill(tb, &cfg)
	w := &way{Edge: New(cfg)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w.addr = ln.Addr().String()
	server := fastpath.New(w, &http.Server{Handler: w.Edge, ReadHeaderTimeout: 5 * time.Second})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	tb.Cleanup(func() {
		_ = server.Close() // Serve says how it ended
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			tb.Errorf("Serve returned %v", err)
		}
	})
	return w
}

// ask is one request; what is empty has a default.
type ask struct {
	path, host, headers, body string
}

// wire renders the request with more header lines.
func (a ask) wire(more string) string {
	path, host, headers := a.path, a.host, a.headers
	if path == "" {
		path = "/alpha/v3/key1"
	}
	if host == "" {
		host = "localhost:8545"
	}
	if !strings.Contains(headers, "Content-Type") {
		headers += "Content-Type: application/json\r\n"
	}
	return "POST " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + more + "Content-Length: " + strconv.Itoa(len(a.body)) + "\r\n\r\n" + a.body
}

// forced is a header that is not on the list of plain ones and changes nothing.
const forced = "X-Force: 1\r\n"

// caller is one connection.
type caller struct {
	conn net.Conn
	in   *bufio.Reader
}

func (w *way) dial(tb testing.TB) *caller {
	tb.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return &caller{conn: conn, in: bufio.NewReader(conn)}
}

// answered is all that a client can see of an answer.
type answered struct {
	Status, Proto string
	Header        http.Header
	Encodings     []string
	Close         bool
	Body          string
}

func (c *caller) do(tb testing.TB, raw string) answered {
	tb.Helper()
	_ = c.conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c.conn, raw); err != nil {
		tb.Fatalf("can't send: %v", err)
	}
	res, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodPost})
	if err != nil {
		tb.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatalf("half an answer: %v", err)
	}
	if length := res.Header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(body)) {
		tb.Fatalf("Content-Length %s of %d bytes", length, len(body))
	}
	return answered{Status: res.Status, Proto: res.Proto, Header: res.Header, Encodings: res.TransferEncoding, Close: res.Close, Body: string(body)}
}

var milliseconds = regexp.MustCompile(`[0-9]+\.[0-9]{3}\b`)

var errorID = regexp.MustCompile(`\(id [0-9a-f]{8}-[0-9a-z]+\)`)

// comparable takes out what differs from answer to answer, after a look at it.
func (a answered) comparable(tb testing.TB) answered {
	tb.Helper()
	if id := a.Header.Get("X-Request-Id"); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-z]+$`).MatchString(id) && a.Header.Get("Access-Control-Allow-Origin") != "" {
		tb.Errorf("X-Request-Id is %q", id)
	}
	date, err := http.ParseTime(a.Header.Get("Date"))
	if age := time.Since(date); err != nil || age < -time.Second || age > time.Minute {
		tb.Errorf("Date is %q", a.Header.Get("Date"))
	}
	a.Header = a.Header.Clone()
	a.Header.Del("X-Request-Id")
	a.Header.Del("Date")
	if timing := a.Header.Get("Server-Timing"); timing != "" {
		a.Header.Set("Server-Timing", milliseconds.ReplaceAllString(timing, "0"))
	}
	if errorID.MatchString(a.Body) { // an id may be longer than another
		a.Body = errorID.ReplaceAllString(a.Body, "(id)")
		a.Header.Del("Content-Length")
	}
	return a
}

const (
	okCall = `{"jsonrpc":"2.0","id":1,"method":"echo","params":[1,"x"]}`
	note   = `{"jsonrpc":"2.0","method":"echo","params":[]}`
)

func call(method string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[]}`
}

func batch(calls ...string) string { return "[" + strings.Join(calls, ",") + "]" }

// plainAsks take the short way when nothing forces them off it.
var plainAsks = map[string]ask{
	"single":                   {body: okCall},
	"with space around":        {body: " \r\n" + okCall + "\n"},
	"no params":                {body: `{"jsonrpc":"2.0","id":"a","method":"echo"}`},
	"null id":                  {body: `{"jsonrpc":"2.0","id":null,"method":"echo","params":[]}`},
	"unknown method":           {body: call("nope")},
	"method that needs escape": {body: call(`<n\u00f6\"pe>`)},
	"invalid params":           {body: call("params")},
	"revert":                   {body: call("revert")},
	"node's own code":          {body: call("fault")},
	"timeout":                  {body: call("timeout")},
	"no node":                  {body: call("down")},
	"busy":                     {body: call("busy")},
	"limited in the call":      {body: call("limited")},
	"internal":                 {body: call("broken")},
	"panic":                    {body: call("panic")},
	"subscribe":                {body: call("eth_subscribe")},
	"unsubscribe":              {body: call("eth_unsubscribe")},
	"notification":             {body: note},
	"notification that fails":  {body: `{"jsonrpc":"2.0","method":"broken"}`},
	"notification, bad params": {body: `{"jsonrpc":"2.0","method":"echo","params":1}`},
	"bad params":               {body: `{"jsonrpc":"2.0","id":1,"method":"echo","params":1}`},
	"batch":                    {body: batch(okCall, call("revert"), note, call("nope"), "1")},
	"batch with internal":      {body: batch(okCall, call("broken"))},
	"batch of notifications":   {body: batch(note, note)},
	"batch of one":             {body: batch(okCall)},
	"empty batch":              {body: "[]"},
	"batch too large":          {body: batch(slices.Repeat([]string{okCall}, 11)...)},
	"batch answer too large":   {body: batch(slices.Repeat([]string{call("big")}, 5)...)},
	"batch has a deadline":     {body: batch(call("who"), call("who"))},
	"single has no deadline":   {body: call("who")},
	"parse error":              {body: `{"jsonrpc":`},
	"not a request":            {body: `"x"`},
	"two values":               {body: okCall + okCall},
	"no body":                  {body: ""},
	"spaces only":              {body: "  \n"},
	"not text":                 {body: "\x00\xff\xfe"},
	"big":                      {body: call("big")},
	"big, gzip":                {body: call("big"), headers: "Accept-Encoding: gzip, deflate\r\n"},
	"big, no gzip":             {body: call("big"), headers: "Accept-Encoding: br\r\n"},
	"big, empty encoding":      {body: call("big"), headers: "Accept-Encoding:\r\n"},
	"big, two encodings":       {body: call("big"), headers: "Accept-Encoding: br\r\nAccept-Encoding: GZIP\r\n"},
	"big, all encodings":       {body: call("big"), headers: "Accept-Encoding: *\r\n"},
	"big, gzip, origin":        {body: call("big"), headers: "Accept-Encoding: gzip\r\nOrigin: https://x.example\r\n"},
	"long error":               {body: call("long"), headers: "Origin: null\r\n"},
	"long error, gzip":         {body: call("long"), headers: "Accept-Encoding: gzip\r\nOrigin: null\r\n"},
	"just too small to pack":   {body: call("edge"), headers: "Accept-Encoding: gzip\r\n"},
	"just large enough":        {body: strings.Replace(call("edge"), "[]", "[1]", 1), headers: "Accept-Encoding: gzip\r\n"},
	"just large enough, bare":  {body: strings.Replace(call("edge"), "[]", "[1]", 1)},
	"small, gzip":              {body: okCall, headers: "Accept-Encoding: gzip\r\n"},
	"origin":                   {body: okCall, headers: "Origin: https://x.example\r\n"},
	"origin, notification":     {body: note, headers: "Origin: https://x.example\r\n"},
	"origin, internal":         {body: call("broken"), headers: "Origin: https://x.example\r\n"},
	"as a browser sends it": {body: okCall, headers: "User-Agent: Mozilla/5.0 (X11)\r\nAccept: */*\r\nAccept-Language: en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
		"Referer: https://x/\r\nOrigin: https://x\r\nConnection: keep-alive\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors\r\nPragma: no-cache\r\nCache-Control: no-cache\r\n"},
	"default network":   {path: "/v3/key2", body: call("who")},
	"network by host":   {path: "/v3/key2", host: "alpha.example:80", body: call("who")},
	"host that is none": {path: "/v3/key2", host: "gamma.example", body: call("who")},
	"path before host":  {path: "/beta/v3/key2", host: "alpha.example", body: call("who")},
	"slash at the end":  {path: "/alpha/v3/key2/", body: call("who")},
	"key with slashes":  {path: "/alpha/v3/a/b", body: call("who")},
	"as large as can":   {body: `{"jsonrpc":"2.0","id":1,"method":"echo","params":["` + strings.Repeat("x", bodyLimit-len(`{"jsonrpc":"2.0","id":1,"method":"echo","params":[""]}`)) + `"]}`},
}

// otherAsks are handed over in any case: by what they say, or at the authenticator.
var otherAsks = map[string]ask{
	"another version":     {path: "/alpha/v2/key2", body: call("who")},
	"no key":              {path: "/alpha/v3", body: okCall},
	"no key, slash":       {path: "/alpha/v3/", body: okCall},
	"unknown key":         {path: "/alpha/v3/unknown", body: okCall},
	"unknown key, origin": {path: "/alpha/v3/unknown", body: okCall, headers: "Origin: https://x\r\n"},
	"limited at the door": {path: "/alpha/v3/limited", body: okCall},
	"unknown network":     {path: "/gamma/v3/key1", body: okCall},
	"socket's address":    {path: "/alpha/ws/v3/key1", body: okCall},
	"no address":          {path: "/nowhere", body: okCall},
	"root":                {path: "/", body: okCall},
	"ready":               {path: "/readyz", body: okCall},
	"double slash":        {path: "//alpha/v3/key1", body: okCall},
	"too large":           {body: strings.Repeat(" ", bodyLimit) + okCall},
	"too large, origin":   {body: strings.Repeat(" ", bodyLimit) + okCall, headers: "Origin: https://x\r\n"},
	"wrong type":          {body: okCall, headers: "Content-Type: text/plain\r\n"},
	"type with parameter": {body: okCall, headers: "Content-Type: application/json; charset=utf-8\r\n"},
	"empty origin":        {body: okCall, headers: "Origin:\r\n"},
	"gzip refused":        {body: call("big"), headers: "Accept-Encoding: gzip;q=0\r\n"},
	"unknown encoding":    {body: okCall, headers: "Content-Encoding: br\r\n"},
	"query":               {path: "/alpha/v3/key1?x=1", body: okCall},
	"escape":              {path: "/alpha/v3/k%65y1", body: call("who")},
}

// sameBothWays sends a request as it is and forced to net/http's side, each on a
// connection of its own, and compares.
func sameBothWays(t *testing.T, short, full *way, a ask) {
	t.Helper()
	got := short.dial(t).do(t, a.wire("")).comparable(t)
	want := full.dial(t).do(t, a.wire(forced)).comparable(t)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the two ways differ (-net/http +plain):\n%.2000s", d)
	}
}

func TestPlainSameAnswer(t *testing.T) {
	short, full := startWay(t), startWay(t)
	for name, a := range plainAsks {
		t.Run(name, func(t *testing.T) {
			before := short.plain.Load()
			sameBothWays(t, short, full, a)
			// And on a network whose layers tell what they did. How many calls ran
			// ahead before a limit was passed is nobody's promise.
			if a.path == "" && name != "batch answer too large" {
				a.path = "/told/v3/key1"
				before++
				sameBothWays(t, short, full, a)
			}
			if short.plain.Load() != before+1 {
				t.Error("it did not take the short way")
			}
		})
	}
	if n := full.plain.Load(); n != 0 {
		t.Errorf("%d of the forced ones took the short way", n)
	}
	compareCounters(t, short, full)
}

func TestOthersSameAnswer(t *testing.T) {
	short, full := startWay(t), startWay(t)
	for name, a := range otherAsks {
		t.Run(name, func(t *testing.T) { sameBothWays(t, short, full, a) })
	}
	compareCounters(t, short, full)
}

// compareCounters: what is counted, and later billed, is the same either way.
func compareCounters(t *testing.T, short, full *way) {
	t.Helper()
	if d := cmp.Diff(counters(t, full), counters(t, short)); d != "" {
		t.Errorf("the two ways count differently (-net/http +plain):\n%s", d)
	}
}

// counters are the metrics that depend on the requests alone, without the bytes of
// answers that hold an id.
func counters(t *testing.T, w *way) (list []string) {
	t.Helper()
	rec := httptest.NewRecorder()
	w.cfg.Metrics.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(rec.Body.String()) {
		timing := strings.Contains(line, "_bucket") || strings.Contains(line, "_sum")
		if strings.HasPrefix(line, "nodegate_") && !timing && !strings.Contains(line, `direction="out"`) {
			list = append(list, line)
		}
	}
	if len(list) < 3 {
		t.Fatalf("only these counters: %q", list)
	}
	return list
}

// TestPlainBytesOut: the bytes of answers are counted before compression, both ways.
func TestPlainBytesOut(t *testing.T) {
	short, full := startWay(t), startWay(t)
	for _, name := range []string{"single", "big, gzip", "notification", "batch", "parse error"} {
		sameBothWays(t, short, full, plainAsks[name])
	}
	if a, b := bytesOut(t, short), bytesOut(t, full); a != b {
		t.Errorf("the short way counts %q, net/http's %q", a, b)
	}
}

func bytesOut(t *testing.T, w *way) string {
	t.Helper()
	rec := httptest.NewRecorder()
	w.cfg.Metrics.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return regexp.MustCompile(`(?m)^nodegate_rpc_bytes_total\{direction="out"\} .*$`).FindString(rec.Body.String())
}

// TestPlainOneConnection sends everything over one connection, one after the
// other: nothing of an answer may reach the next.
func TestPlainOneConnection(t *testing.T) {
	short, full := startWay(t), startWay(t)
	a, b := short.dial(t), full.dial(t)
	for round := range 3 {
		for name, ask := range plainAsks {
			got, want := a.do(t, ask.wire("")).comparable(t), b.do(t, ask.wire(forced)).comparable(t)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("round %d, %s: the two ways differ (-net/http +plain):\n%.2000s", round, name, d)
			}
		}
	}
	if n := short.plain.Load(); n != int64(3*len(plainAsks)) {
		t.Errorf("%d took the short way, want all %d", n, 3*len(plainAsks))
	}
}

// TestPlainAddressMemory changes one part of the address at a time: what is
// remembered of the last request must not answer another.
func TestPlainAddressMemory(t *testing.T) {
	c := startWay(t).dial(t)
	who := func(path, host, want string) {
		t.Helper()
		got := c.do(t, ask{path: path, host: host, body: call("who")}.wire(""))
		if want = `{"jsonrpc":"2.0","id":1,"result":"` + want + ` false"}`; got.Body != want {
			t.Errorf("%s at %s answers %s, want %s", path, host, got.Body, want)
		}
	}
	for range 2 {
		who("/v3/key1", "alpha.example", "alpha key1")
		who("/v3/key2", "alpha.example", "alpha key2")
		who("/v3/key2", "beta.example", "beta key2")
		who("/alpha/v3/key2", "beta.example", "alpha key2")
		who("/v3/key1", "alpha.example", "alpha key1")
	}
}

// TestPlainPipelined: answers of all kinds in one go, in order.
func TestPlainPipelined(t *testing.T) {
	short, full := startWay(t), startWay(t)
	a, b := short.dial(t), full.dial(t)
	names := []string{"single", "notification", "big, gzip", "internal", "batch", "batch of notifications", "no body", "single"}
	var raw strings.Builder
	for _, name := range names[1:] {
		raw.WriteString(plainAsks[name].wire(""))
	}
	got := []answered{a.do(t, plainAsks[names[0]].wire("")+raw.String()).comparable(t)}
	for range names[1:] {
		got = append(got, a.do(t, "").comparable(t))
	}
	for i, name := range names {
		want := b.do(t, plainAsks[name].wire(forced)).comparable(t)
		if d := cmp.Diff(want, got[i]); d != "" {
			t.Errorf("%d, %s: the two ways differ (-net/http +plain):\n%.2000s", i, name, d)
		}
	}
}

// FuzzPlainAgainstFull: whatever the body, the answer is the same either way.
func FuzzPlainAgainstFull(f *testing.F) {
	for _, name := range slices.Sorted(maps.Keys(plainAsks)) { // in order, so that a seed keeps its number
		if a := plainAsks[name]; len(a.body) < 1000 { // large seeds make slow work
			f.Add([]byte(a.body), strings.Contains(a.headers, "gzip"), strings.Contains(a.headers, "Origin"))
		}
	}
	short, full := startWay(f), startWay(f)
	a, b := short.dial(f), full.dial(f)
	f.Fuzz(func(t *testing.T, body []byte, zip, origin bool) {
		if len(body) > bodyLimit {
			t.Skip("refused, and the connection is closed")
		}
		request := ask{body: string(body)}
		if zip {
			request.headers += "Accept-Encoding: gzip\r\n"
		}
		if origin {
			request.headers += "Origin: https://x\r\n"
		}
		got, want := a.do(t, request.wire("")).comparable(t), b.do(t, request.wire(forced)).comparable(t)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("the two ways differ (-net/http +plain):\n%.2000s", d)
		}
	})
}
