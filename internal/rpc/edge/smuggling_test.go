package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// smuggling are requests whose end is disputed. Each has a second request hidden
// where some server would see its start.
func smuggling() map[string]string {
	body, hidden := envelope("open"), wire(envelope("hidden"))
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	length := fmt.Sprintf("Content-Length: %d", len(body))
	short := fmt.Sprintf("Content-Length: %d", len(body)-5)
	long := fmt.Sprintf("Content-Length: %d", len(body)+len(hidden))
	te := "Transfer-Encoding: chunked"
	return map[string]string{
		"length and chunks":          wire(chunked, length, te) + hidden,
		"chunks and length":          wire(chunked, te, length) + hidden,
		"chunks and a long length":   wire(chunked, te, long) + hidden,
		"chunks, space before colon": wire(chunked, "Transfer-Encoding : chunked", length) + hidden,
		"chunks, tab":                wire(chunked, "Transfer-Encoding:\tchunked", length) + hidden,
		"chunks, vertical tab":       wire(chunked, "Transfer-Encoding: \vchunked", length) + hidden,
		"chunks, folded":             wire(chunked, "Transfer-Encoding:\r\n chunked", length) + hidden,
		"chunks, capitals":           wire(chunked, "Transfer-Encoding: Chunked") + hidden,
		"chunks twice":               wire(chunked, te, te) + hidden,
		"chunks and identity":        wire(chunked, "Transfer-Encoding: chunked, identity") + hidden,
		"identity and chunks":        wire(chunked, "Transfer-Encoding: identity, chunked") + hidden,
		"other coding":               wire(chunked, "Transfer-Encoding: xchunked", length) + hidden,
		"underscore":                 wire(body, "Transfer_Encoding: chunked", length) + hidden,
		"length twice":               wire(body, length, length) + hidden,
		"two lengths":                wire(body, length, long) + hidden,
		"two lengths, reversed":      wire(body, long, length) + hidden,
		"list of lengths":            wire(body, length+", "+fmt.Sprint(len(body))) + hidden,
		"plus":                       wire(body, strings.Replace(length, ": ", ": +", 1)) + hidden,
		"minus":                      wire(body, strings.Replace(length, ": ", ": -", 1)) + hidden,
		"hex length":                 wire(body, fmt.Sprintf("Content-Length: 0x%x", len(body))) + hidden,
		"zeros":                      wire(body, fmt.Sprintf("Content-Length: 00%d", len(body))) + hidden,
		"spaces in length":           wire(body, "Content-Length: 4 4") + hidden,
		"huge length":                wire(body, "Content-Length: 18446744073709551616") + hidden,
		"short length":               wire(body, short) + hidden,
		"long length":                wire(body, long) + hidden,
		"length folded":              wire(body, "Content-Length:\r\n "+fmt.Sprint(len(body))) + hidden,
		"length by underscore":       wire(body, "Content_Length: 5", length) + hidden,
		"no length":                  wire(body, "X-Nothing: x") + hidden,
		"bare line feeds":            strings.ReplaceAll(wire(body, length), "\r\n", "\n") + hidden,
		"bare carriage returns":      strings.ReplaceAll(wire(body, length), "\r\n", "\r") + hidden,
		"line feed in a value":       wire(body, "X-A: b\nContent-Length: 0", length) + hidden,
		"carriage return in a value": wire(body, "X-A: b\rContent-Length: 0", length) + hidden,
		"NUL in a value":             wire(body, "X-A: b\x00", length) + hidden,
		"two hosts":                  wire(body, "Host: y", length) + hidden,
		"no host":                    strings.Replace(wire(body, length), "Host: x\r\n", "", 1) + hidden,
		"bad chunk size":             wire("zz\r\n"+body+"\r\n0\r\n\r\n", te) + hidden,
		"negative chunk size":        wire("-1\r\n"+body+"\r\n0\r\n\r\n", te) + hidden,
		"overflowing chunk size":     wire("10000000000000005\r\n"+body+"\r\n0\r\n\r\n", te) + hidden,
		"chunk extension, line feed": wire(fmt.Sprintf("%x;a\n%s\r\n0\r\n\r\n", len(body), body), te) + hidden,
		"chunk without its end":      wire(fmt.Sprintf("%x\r\n%sXX0\r\n\r\n", len(body), body), te) + hidden,
		"trailer":                    wire(strings.TrimSuffix(chunked, "\r\n")+"Content-Length: 5\r\n\r\n", te) + hidden,
		"HTTP/1.0 and chunks":        strings.Replace(wire(chunked, te), "HTTP/1.1", "HTTP/1.0", 1) + hidden,
		"HTTP/1.2":                   strings.Replace(wire(body, length), "HTTP/1.1", "HTTP/1.2", 1) + hidden,
		"HTTP/2.0":                   strings.Replace(wire(body, length), "HTTP/1.1", "HTTP/2.0", 1) + hidden,
		"GET with a body":            strings.Replace(wire(hidden, fmt.Sprintf("Content-Length: %d", len(hidden))), "POST", "GET", 1),
		"OPTIONS with a body":        strings.Replace(wire(hidden, fmt.Sprintf("Content-Length: %d", len(hidden))), "POST", "OPTIONS", 1),
		"refused with a body":        strings.Replace(wire(hidden, fmt.Sprintf("Content-Length: %d", len(hidden))), goodKey, "bad", 1),
		"text with a body":           strings.Replace(wire(hidden, fmt.Sprintf("Content-Length: %d", len(hidden))), "application/json", "text/plain", 1),
		"absolute address":           strings.Replace(wire(body, length), "POST /", "POST http://other/", 1) + hidden,
		"tab in the request line":    strings.Replace(wire(body, length), "POST /", "POST\t/", 1) + hidden,
		"two spaces":                 strings.Replace(wire(body, length), "POST /", "POST  /", 1) + hidden,
		"upgrade":                    wire(body, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA", length) + hidden,
		"length as a hop":            wire(body, "Connection: Content-Length, keep-alive", length) + hidden,
		"empty lines before":         "\r\n\r\n" + wire(body, length) + hidden,
		"expecting":                  wire(body, "Expect: 100-continue", length) + hidden,
		"expecting otherwise":        wire(body, "Expect: 200-ok", length) + hidden,
		"plain":                      wire(body) + hidden,
	}
}

// TestRequestSmuggling puts each of them between two plain requests. However the
// bytes are cut into requests, each one is let in, executed and answered once.
func TestRequestSmuggling(t *testing.T) {
	h := build(t)
	for name, middle := range smuggling() {
		t.Run(name, func(t *testing.T) {
			h.reset()
			last := envelope("last")
			answers, bodies := h.raw(t, wire(envelope("first"))+middle+wire(last, "Connection: close", fmt.Sprintf("Content-Length: %d", len(last))))
			results, served := 0, 0
			for i, res := range answers {
				results += strings.Count(bodies[i], `"result":`)
				if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusUnsupportedMediaType {
					served++ // the content type is looked at once the key is let in
				}
			}
			if len(bodies) == 0 || !strings.Contains(bodies[0], `"result":"first"`) {
				t.Fatalf("the plain request before it got %q", bodies)
			}
			if got := int(h.calls.Load()); got != results {
				t.Errorf("%d calls executed, %d answered: %q", got, results, bodies)
			}
			if got := int(h.let.Load()); got != served {
				t.Errorf("%d requests let in, %d served: %q", got, served, bodies)
			}
		})
	}
}

// forgeries are envelopes that two decoders could read differently: each member
// twice, in another case, and escaped.
func forgeries() (list []string) {
	members := map[string]string{"jsonrpc": `"2.0"`, "id": "1", "method": `"evil"`, "params": `["evil"]`}
	for name, value := range members {
		for _, spelling := range []string{
			name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], name[:1] + strings.ToUpper(name[1:]),
			fmt.Sprintf(`\u%04x%s`, name[0], name[1:]), fmt.Sprintf(`%s\u%04X`, name[:len(name)-1], name[len(name)-1]), escapeAll(name),
		} {
			forged := fmt.Sprintf("%q:%s", "X", value)
			forged = strings.Replace(forged, `"X"`, `"`+spelling+`"`, 1)
			list = append(list,
				`{"jsonrpc":"2.0","id":1,"method":"good",`+forged+`,"params":[]}`,
				`{`+forged+`,"jsonrpc":"2.0","id":1,"method":"good","params":[]}`)
		}
	}
	return append(list,
		`{"jsonrpc":"2.0","id":1,"method":"good","paramſ":["evil"]}`,
		`{"jsonrpc":"2.0","id":1,"method":"good","param\u017f":["evil"],"params":[]}`,
		`{"jſonrpc":"2.0","id":1,"method":"evil"}`)
}

func escapeAll(name string) (out string) {
	for _, c := range name {
		out += fmt.Sprintf(`\u%04x`, c)
	}
	return out
}

// TestMemberSmuggling sends the forgeries alone and in batches, by every way in.
// None of them reaches the node.
func TestMemberSmuggling(t *testing.T) {
	h, list := build(t), forgeries()
	if len(list) < 55 {
		t.Fatalf("only %d forgeries", len(list))
	}
	want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`
	c := socket(t, h)
	for _, forged := range list {
		if _, body := h.post(t, goodKey, forged); body != want {
			t.Errorf("%s: %s", forged, body)
		}
		chunked := wire(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(forged), forged), "Transfer-Encoding: chunked", "Connection: close")
		if _, bodies := h.raw(t, chunked); len(bodies) != 1 || bodies[0] != want {
			t.Errorf("%s in chunks: %s", forged, bodies)
		}
		if _, body := h.post(t, goodKey, "["+forged+"]"); body != "["+want+"]" {
			t.Errorf("%s in a batch: %s", forged, body)
		}
		if body := exchange(t, c, forged); body != want {
			t.Errorf("%s over a WebSocket: %s", forged, body)
		}
	}
	if n := h.calls.Load(); n != 0 {
		t.Errorf("%d calls reached the node: %v", n, h.seen)
	}
}

// TestNodeSeesWhatWasSent passes parameters on as they were scanned, whatever
// stands around them.
func TestNodeSeesWhatWasSent(t *testing.T) {
	h := build(t)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"good","params":[1,{"a":"b"}],"other":{"method":"evil"}}`,
		` { "other" : [ "params" ] , "params" : [1,{"a":"b"}] , "method" : "good" , "id" : 1 , "jsonrpc" : "2.0" } `,
		`{"jsonrpc":"2.0","id":1,"method":"\u0067ood","params":[1,{"a":"b"}]}`,
	} {
		h.reset()
		h.post(t, goodKey, body)
		if len(h.seen) != 1 || h.seen[0] != `good[1,{"a":"b"}]` {
			t.Errorf("%s reached the node as %v", body, h.seen)
		}
	}
}

func socket(t *testing.T, h *house) *websocket.Conn {
	t.Helper()
	return socketOf(t, h, "net")
}

func socketOf(t *testing.T, h *house, network string) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+h.addr+"/"+network+"/ws/v3/"+goodKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func exchange(t *testing.T, c *websocket.Conn, body string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, []byte(body)); err != nil {
		t.Fatal(err)
	}
	_, data, err := c.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
