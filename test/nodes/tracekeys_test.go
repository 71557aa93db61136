package nodes_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/test/harness"
)

// pair is an API key and its secret.
type pair struct{ key, secret string }

// post makes a request whose X-Request-Id is a key, and returns the one of the response.
func (p *pair) post(t *testing.T, address, kind, body string) (id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("X-Request-Id", key)
	req.SetBasicAuth(p.key, p.secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.Header.Get("X-Request-Id")
}

// TestTracesHoldNoKeys sends keys wherever a client can put one, with every request traced, and
// looks for them in every byte that the collector gets.
func TestTracesHoldNoKeys(t *testing.T) {
	node := harness.Start(t, nil)
	collector := startReceiver(t)
	f := startFront(t, fmt.Sprintf(`
log: {requests: true, level: debug}
tracing: {url: %s/v1/traces, sample: 100%%}
networks:
  - name: main
    nodes: [{name: first, url: %s}]
`, collector.URL, node.URL("devnet", key)))
	f.ready(t)
	p := &pair{credential.NewKey(), strings.Repeat("9876543210", 4)}
	if err := f.AddStorageKey("traced", "unlimited", p.key, p.secret, nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	const json = "application/json"
	call := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":"` + key + `","method":"` + method + `","params":` + params + `}`
	}
	if id := p.post(t, f.URL("main", key), json, call(tracedCall, `["0x0000000000000000000000000000000000000001","latest"]`)); id != key {
		t.Errorf("the client's ID came back as %q", id)
	}
	for _, body := range []string{call(key, `[]`), call(tracedCall, `["`+key+`"]`), "[" + call(key, `["`+p.secret+`"]`) + "," + call(key, `[]`) + "]", key} {
		p.post(t, f.URL("main", key), json, body)
		p.post(t, f.URL("main", p.key), json, body)
	}
	p.post(t, f.URL("main", strings.Repeat("a", 28)+"0000"), json, call(tracedCall, `[]`))
	p.post(t, f.URL(key, key), json, call(tracedCall, `[]`))
	f.socketSends(t, call(key, `[]`))
	kind, form := upload(t, key)
	store := "http" + strings.TrimPrefix(f.Server.Addresses().Storage, "https") + "/api/v0/"
	p.post(t, store+"add", kind, form)
	p.post(t, store+"cat?arg="+key, "", "")
	p.post(t, store+key, "", "")
	for _, name := range []string{"rpc " + tracedCall, "rpc batch", "storage add", "storage cat", "command", "admission", "limits", "node first"} {
		collector.awaitName(t, name)
	}
	if err := f.Close(); err != nil { // which sends what waits
		t.Error(err)
	}
	collector.mu.Lock()
	defer collector.mu.Unlock()
	for _, word := range []string{key, p.key, p.secret} {
		if bytes.Contains(bytes.ToLower(collector.raw.Bytes()), []byte(word)) {
			t.Errorf("%d bytes of spans hold %s", collector.raw.Len(), word)
		}
		if strings.Contains(f.Logs.String(), word) {
			t.Errorf("the log holds %s", word)
		}
	}
}

// socketSends sends one message by WebSocket and waits for the answer.
func (f *front) socketSends(t *testing.T, message string) {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), f.WS("main", key), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// upload is a form with a file of that name and content.
func upload(t *testing.T, text string) (kind, form string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("file", text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

// awaitName waits for a span of a name.
func (r *receiver) awaitName(t *testing.T, name string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r.mu.Lock()
		found := slices.ContainsFunc(r.spans, func(s *otlp.Span) bool { return s.Name == name })
		r.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no span %s came", name)
		}
	}
}
