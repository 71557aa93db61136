package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// target is a server with one remote node whose requests are written down.
type target struct {
	*gate
	node *relay
}

func startTarget(t *testing.T) *target {
	t.Helper()
	node := startRelay(t, startChains(t, 1)[0].rpc("dev"))
	return &target{startGate(t, remoteYAML(node.URL), "NODEGATE_USAGE_FLUSH=1s"), node}
}

// marked are the requests at the node with a text in them.
func (g *target) marked(text string) int { return g.node.holding(text) }

// canonical is the only form in which a node is asked.
var canonical = regexp.MustCompile(`^\{"jsonrpc":"2\.0","id":[0-9]+,"method":"[a-z0-9]+_[A-Za-z0-9]+","params":\[.*\]\}$`)

// canonicalOnly looks at everything that the node was asked.
func (g *target) canonicalOnly() (n int) {
	g.t.Helper()
	for _, s := range g.node.bodies() {
		n++
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(s.body)); err != nil || compact.String() != s.body || !canonical.MatchString(s.body) || strings.Contains(s.body, `\`) {
			g.t.Errorf("the node was asked %.300q", s.body)
		}
	}
	return n
}

// billed is how many calls of a method the account has been charged for, once it is so
// many, or what it is after a while.
func (g *target) billed(method string, want int) (n int) {
	g.t.Helper()
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		cmd := g.command(g.t.Context(), "usage", "--account", "dev@localhost", "--json")
		out, err := cmd.Output()
		if err != nil {
			g.t.Fatalf("usage: %v %s", err, out)
		}
		var got struct {
			Rows []struct {
				Method   string
				Requests int
			}
		}
		if err := json.Unmarshal(out, &got); err != nil {
			g.t.Fatalf("usage: %v %s", err, out)
		}
		n = 0
		for _, row := range got.Rows {
			if row.Method == method {
				n += row.Requests
			}
		}
		if n == want {
			break
		}
	}
	return n
}

// marker is an address that says which request of which vector it is.
func marker(vector, request int) string { return fmt.Sprintf("0x%036x%04x", vector+0xabc000, request) }

// raw is a request as it goes over the wire. Without headers it has its length.
func (g *target) raw(body string, headers ...string) string {
	if len(headers) == 0 {
		headers = []string{fmt.Sprintf("Content-Length: %d", len(body))}
	}
	return "POST /main/v3/" + g.key + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body
}

// smuggling are bytes whose end is disputed, with a second request hidden where some
// server would see its start.
func (g *target) smuggling(body, hiddenBody string) []string {
	hidden := g.raw(hiddenBody)
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	length := fmt.Sprintf("Content-Length: %d", len(body))
	long := fmt.Sprintf("Content-Length: %d", len(body)+len(hidden))
	inside := fmt.Sprintf("Content-Length: %d", len(hidden))
	te := "Transfer-Encoding: chunked"
	lines := []string{
		g.raw(chunked, length, te), g.raw(chunked, te, length), g.raw(chunked, te, long), g.raw(chunked, "Content-Length: 0", te),
		g.raw(chunked, "Transfer-Encoding : chunked", length), g.raw(chunked, "Transfer-Encoding:\tchunked", length),
		g.raw(chunked, "Transfer-Encoding: \vchunked", length), g.raw(chunked, "Transfer-Encoding:\r\n chunked", length),
		g.raw(chunked, "Transfer-Encoding: Chunked"), g.raw(chunked, te, te), g.raw(chunked, "Transfer-Encoding: chunked, identity"),
		g.raw(chunked, "Transfer-Encoding: identity, chunked"), g.raw(chunked, "Transfer-Encoding: xchunked", length), g.raw(body, "Transfer_Encoding: chunked", length),
		g.raw(body, length, length), g.raw(body, length, long), g.raw(body, long, length), g.raw(body, length+fmt.Sprintf(", %d", len(body))),
		g.raw(body, strings.Replace(length, ": ", ": +", 1)), g.raw(body, strings.Replace(length, ": ", ": -", 1)), g.raw(body, fmt.Sprintf("Content-Length: 0x%x", len(body))),
		g.raw(body, "Content-Length: 18446744073709551616"), g.raw(body, fmt.Sprintf("Content-Length: %d", len(body)-5)), g.raw(body, "X-Nothing: x"),
		strings.ReplaceAll(g.raw(body, length), "\r\n", "\n"), g.raw(body, "X-A: b\nContent-Length: 0", length), g.raw(body, "X-A: b\rContent-Length: 0", length),
		g.raw(body, "X-A: b\x00", length), g.raw(body, "Host: y", length), g.raw("zz\r\n"+body+"\r\n0\r\n\r\n", te), g.raw("-1\r\n"+body+"\r\n0\r\n\r\n", te),
		g.raw(fmt.Sprintf("%x;a\n%s\r\n0\r\n\r\n", len(body), body), te), g.raw(fmt.Sprintf("%x\r\n%sXX0\r\n\r\n", len(body), body), te),
		strings.Replace(g.raw(chunked, te), "HTTP/1.1", "HTTP/1.0", 1), g.raw(body, "Connection: Content-Length, keep-alive", length), g.raw(body),
	}
	for i := range lines {
		lines[i] += hidden
	}
	return append(lines, g.raw(hidden, inside), strings.Replace(g.raw(hidden, inside), "POST", "GET", 1), strings.Replace(g.raw(hidden, inside), "POST", "OPTIONS", 1),
		strings.Replace(g.raw(hidden, inside), g.key, "bad", 1), strings.Replace(g.raw(hidden, inside), "application/json", "text/plain", 1))
}

// speak writes bytes to a connection and reads until it ends or is quiet.
func (g *target) speak(text string) string {
	c, err := net.Dial("tcp", g.listen)
	if err != nil {
		g.t.Error(err)
		return ""
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		g.t.Log(err) // it may hang up in the middle
	}
	var answers bytes.Buffer
	for part := make([]byte, 4096); ; {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		n, err := c.Read(part)
		answers.Write(part[:n])
		if err != nil {
			return answers.String()
		}
	}
}

// TestRemoteRequestSmuggling is row 8 with a remote node: each vector stands between
// two plain requests on one connection.
func TestRemoteRequestSmuggling(t *testing.T) {
	g := startTarget(t)
	count := len(g.smuggling("", ""))
	o := begin(t, 8, fmt.Sprintf("%d ways of request smuggling before a remote node", count), "requests at the node = let in = billed")
	var mu sync.Mutex
	var wait sync.WaitGroup
	answered, places := 0, make(chan struct{}, 8)
	for v := range count {
		wait.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			body := func(request int) string { return envelopeOf("eth_getBalance", `["`+marker(v, request)+`","latest"]`) }
			last := body(4)
			text := g.raw(body(1)) + g.smuggling(body(2), body(3))[v] + g.raw(last, "Connection: close", fmt.Sprintf("Content-Length: %d", len(last)))
			results := strings.Count(g.speak(text), `"result":`)
			seen := g.marked(marker(v, 0)[:38])
			mu.Lock()
			defer mu.Unlock()
			answered += results
			if results == 0 || seen != results || g.marked(marker(v, 1)) != 1 {
				t.Errorf("vector %d: %d requests at the node, %d answers", v, seen, results)
			}
		})
	}
	wait.Wait()
	counted := int(g.metric("nodegate_rpc_requests_total", `method="eth_getBalance"`, `network="main"`))
	billed := g.billed("eth_getBalance", answered)
	seen := g.node.count("eth_getBalance")
	o.say("%d at the node, %d let in, %d billed, %d answered; all %d canonical", seen, counted, billed, answered, g.canonicalOnly())
	if seen != answered || counted != answered || billed != answered {
		t.Error(o.measured)
	}
}

// forgeries are envelopes that two decoders could read differently: each member twice,
// in another case and escaped, with a denied method or with parameters of their own.
func forgeries() (list []string) {
	const good = `"jsonrpc":"2.0","id":1,"method":"eth_getBalance"`
	params := `"params":["` + marker(0, 1) + `","latest"]`
	members := map[string]string{"jsonrpc": `"2.0"`, "id": "2", "method": `"personal_unlockAccount"`, "params": `["` + marker(0, 2) + `","latest"]`}
	for name, value := range members {
		last := len(name) - 1
		for _, spelling := range []string{
			name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], name[:1] + strings.ToUpper(name[1:]), name[:last] + strings.ToUpper(name[last:]),
			fmt.Sprintf(`\u%04x%s`, name[0], name[1:]), fmt.Sprintf(`%s\u%04X`, name[:last], name[last]),
		} {
			forged := `"` + spelling + `":` + value
			list = append(list, `{`+good+`,`+forged+`,`+params+`}`, `{`+forged+`,`+good+`,`+params+`}`, `{`+good+`,`+params+`,`+forged+`}`)
		}
	}
	return append(list, `{`+good+`,"param\u017f":["evil"],`+params+`}`, `{`+good+`,"paramſ":["evil"],`+params+`}`, `{"jſonrpc":"2.0","id":1,"method":"personal_sign"}`)
}

// denied are calls of methods that no node may be asked, however they are spelled.
func denied() (list []string) {
	for _, name := range []string{"personal_unlockAccount", "admin_addPeer", "engine_newPayloadV4", "miner_start", "eth_sendTransaction", "eth_sign", "debug_setHead", "evm_mine", "txpool_content"} {
		last := len(name) - 1
		list = append(list, envelopeOf(name, "[]"), envelopeOf(fmt.Sprintf(`\u%04x%s`, name[0], name[1:]), "[]"), envelopeOf(fmt.Sprintf(`%s\u%04X`, name[:last], name[last]), "[]"))
	}
	return list
}

// TestRemoteMemberSmuggling is row 9 with a remote node, over HTTP, in batches and
// over a WebSocket.
func TestRemoteMemberSmuggling(t *testing.T) {
	g, c := startTarget(t), newCaller(t)
	list, refused := forgeries(), denied()
	o := begin(t, 9, fmt.Sprintf("%d forged members and %d denied methods before a remote node", len(list), len(refused)), "the node sees canonical envelopes only, denied methods 0 times")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, g.ws("main"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.CloseNow()
	each := func(body, want string) {
		for _, sent := range []string{body, "[" + body + "]"} {
			if a, err := c.post(ctx, g.rpc("main"), sent); err != nil || !strings.Contains(string(a.body), want) || strings.Contains(string(a.body), `"result"`) {
				t.Errorf("%s: %v %.300s", sent, err, a.body)
			}
			err := socket.Write(ctx, websocket.MessageText, []byte(sent))
			_, got, readErr := socket.Read(ctx)
			if err != nil || readErr != nil || !strings.Contains(string(got), want) || strings.Contains(string(got), `"result"`) {
				t.Errorf("%s over a WebSocket: %v %v %.300s", sent, err, readErr, got)
			}
		}
	}
	for _, body := range list {
		each(body, `"code":-32600`)
	}
	for _, body := range refused {
		each(body, `"code":-32601`)
	}
	// What is good but strange arrives in the one form.
	c.must(t, g.rpc("main"), `eth_\u0067etBalance`, `[ "`+marker(1, 1)+`" , "latest" ]`)
	reached := 0
	for _, s := range g.node.bodies() {
		if strings.Contains(s.body, marker(0, 0)[:38]) || regexp.MustCompile(`personal|admin|engine|miner|sendTr|sign|debug|evm_|txpool|evil`).MatchString(s.body) {
			reached++
			t.Errorf("the node was asked %s", s.body)
		}
	}
	if g.marked(marker(1, 1)) != 1 {
		t.Errorf("the good call reached the node %d times", g.marked(marker(1, 1)))
	}
	o.say("%d of %d reached the node by 4 ways in; all %d requests there are canonical", reached, len(list)+len(refused), g.canonicalOnly())
}

// TestRemoteSpellings is a part of row 9: names that no method has, and escapes in
// parameters, don't reach the node as they are.
func TestRemoteSpellings(t *testing.T) {
	o := begin(t, 9, "method names with NUL and quotes, escaped tags, before a remote node", "no backslash reaches the node, tags are numbers there")
	g, c := startTarget(t), newCaller(t)
	for _, name := range []string{`eth_getBalance\u0000eth_sign`, `eth_getBalance\",\"method\":\"eth_sign`, `eth_get Balance`, `eth_\u202egetBalance`, `eth_`, `net_../admin`} {
		a, err := c.post(t.Context(), g.rpc("main"), envelopeOf(name, "[]"))
		if err != nil || a.code != -32601 {
			t.Errorf("%s: %v %.200s", name, err, a.body)
		}
	}
	c.must(t, g.rpc("main"), "eth_getBalance", `["`+marker(1, 1)+`","l\u0061test"]`)
	strange := 0
	for _, s := range g.node.bodies() {
		if !canonical.MatchString(s.body) || strings.Contains(s.body, `\`) {
			strange++
			t.Errorf("the node was asked %.200s", s.body)
		}
	}
	o.say("%d requests at the node are not canonical", strange)
}
