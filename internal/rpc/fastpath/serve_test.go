package fastpath

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestKeepAlive(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	for i := range 50 {
		body := strconv.Itoa(i)
		c.send(post("/v3/k", "", body))
		c.expect("plain", echo("/v3/k", body))
	}
	if n := s.plain.Load(); n != 50 {
		t.Errorf("%d requests went the short way, want 50", n)
	}
}

// TestBothWaysInTurn: once handed over, a connection stays with net/http, and
// what it sent before and after is answered in order.
func TestBothWaysInTurn(t *testing.T) {
	c := start(t).dial(t)
	c.send(post("/a", "", "1"))
	c.expect("plain", echo("/a", "1"))
	c.send(post("/b", "X-Force: 1\r\n", "2"))
	c.expect("full", echo("/b", "2"))
	c.send(post("/c", "", "3"))
	c.expect("full", echo("/c", "3"))
}

// handedOver are requests that net/http answers, and its answers.
var handedOver = []struct{ name, raw, want string }{
	{"GET", "GET /x HTTP/1.1\r\nHost: h\r\n\r\n", `GET /x ""`},
	{"another header", post("/x", "X-Force: 1\r\n", "b"), echo("/x", "b")},
	{"the handler's wish", post("/x", "", askRefuse), echo("/x", askRefuse)},
	{"chunked", head("POST /x HTTP/1.1", "Host: h", "Content-Type: application/json", "Transfer-Encoding: chunked") + "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", echo("/x", "abc")},
	{"with a trailer", head("POST /x HTTP/1.1", "Host: h", "Content-Type: application/json", "Trailer: X-T", "Transfer-Encoding: chunked") + "1\r\na\r\n0\r\nX-T: y\r\n\r\n", echo("/x", "a")},
	{"past the body's bound", post("/x", "", strings.Repeat("y", maxBody+1)), echo("/x", strings.Repeat("y", maxBody+1))},
	{"a head past the bound", with("Accept: " + strings.Repeat("x", maxHead)), echo("/v3/k", "{}")},
	{"bare LF", strings.ReplaceAll(post("/x", "", "b"), "\r\n", "\n"), echo("/x", "b")},
}

func TestHandedOver(t *testing.T) {
	for _, c := range handedOver {
		t.Run(c.name, func(t *testing.T) {
			s := start(t)
			first, later := s.dial(t), s.dial(t)
			first.send(c.raw)
			first.expect("full", c.want)
			later.send(post("/a", "", "1") + c.raw + post("/b", "", "2"))
			later.expect("plain", echo("/a", "1"))
			later.expect("full", c.want)
			later.expect("full", echo("/b", "2"))
		})
	}
}

// TestClosing: requests that end their connection get their answer first.
func TestClosing(t *testing.T) {
	for name, raw := range map[string]string{
		"HTTP/1.0":          "POST /x HTTP/1.0\r\nContent-Length: 1\r\n\r\nb",
		"Connection: close": post("/x", "Connection: close\r\n", "b"),
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t).dial(t)
			c.send(post("/a", "", "1") + raw)
			c.expect("plain", echo("/a", "1"))
			c.expect("full", echo("/x", "b"))
			c.expectEnd()
		})
	}
}

// TestSmuggling sends what other servers have read in two ways: either net/http
// refuses it, or it sees one request, and never the one inside.
func TestSmuggling(t *testing.T) {
	hidden := "POST /hidden HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n"
	for name, raw := range map[string]string{
		"CL.TE":         post("/x", "Transfer-Encoding: chunked\r\n", "0\r\n\r\nG"),
		"two lengths":   post("/x", "Content-Length: 0\r\n", hidden),
		"plus":          sized("+0", hidden),
		"list":          sized("0, 0", hidden),
		"obs-fold":      post("/x", "Accept: x\r\n Content-Length: 0\r\n", "{}"),
		"space":         post("/x", "Content-Length : 0\r\n", hidden),
		"NUL":           post("/x", "Accept: \x00\r\n", "{}"),
		"two hosts":     post("/x", "Host: other\r\n", "{}"),
		"TE.TE":         post("/x", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", hidden),
		"TE, odd":       post("/x", "Transfer-Encoding: xchunked\r\n", hidden),
		"wrapped":       sized("18446744073709551616", hidden),
		"bare CR":       post("/x", "Accept: x\rContent-Length: 0\r\n", hidden),
		"broken before": "\x00" + post("/x", "", hidden),
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			c := s.dial(t)
			c.send(post("/first", "", "1") + raw)
			c.expect("plain", echo("/first", "1"))
			for {
				_ = c.Conn.(*net.TCPConn).CloseWrite() // so that net/http ends, whatever it still waits for
				res, body, err := c.try()
				if err != nil {
					break
				}
				if strings.Contains(body, "/hidden \"\"") {
					t.Fatalf("the hidden request was answered: %d %q", res.StatusCode, body)
				}
			}
			if n := s.plain.Load(); n != 1 {
				t.Errorf("%d requests went the short way, want the first only", n)
			}
		})
	}
}

func TestExpectContinue(t *testing.T) {
	c := start(t).dial(t)
	c.send(post("/a", "", "1"))
	c.expect("plain", echo("/a", "1"))
	raw := post("/x", "Expect: 100-continue\r\n", "body")
	c.send(strings.TrimSuffix(raw, "body"))
	if res, _ := c.answer(); res.StatusCode != http.StatusContinue {
		t.Fatalf("answered %d, want 100", res.StatusCode)
	}
	c.send("body")
	c.expect("full", echo("/x", "body"))
}

// TestUpgrade: the bytes that came with the request belong to the new protocol.
func TestUpgrade(t *testing.T) {
	c := start(t).dial(t)
	c.send(post("/a", "", "1") + "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly ")
	c.expect("plain", echo("/a", "1"))
	if res, err := http.ReadResponse(c.in, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answered %v, %v", res, err)
	}
	c.send("late")
	got := make([]byte, len("early late"))
	if _, err := io.ReadFull(c.in, got); err != nil || string(got) != "early late" {
		t.Fatalf("read %q, %v", got, err)
	}
}

// TestSizes: bodies of many sizes, the buffer growing and shrinking between them.
func TestSizes(t *testing.T) {
	c := start(t).dial(t)
	for _, n := range []int{0, 1, bufferSize - 200, bufferSize, bufferSize + 1, keepBuffer, maxBody, 1, keepBuffer + 1, 0, maxBody, 2} {
		body := strings.Repeat("z", n)
		c.send(post("/v3/k", "", body))
		c.expect("plain", echo("/v3/k", body))
	}
}

func TestLargeAnswers(t *testing.T) {
	c := start(t).dial(t)
	for range 3 {
		c.send(post("/v3/k", "", askLarge) + post("/v3/k", "", "x"))
		c.expect("plain", largeAnswer)
		c.expect("plain", echo("/v3/k", "x"))
	}
}

// TestLargeAfterLarge: many large requests in one write, so that what is left of
// the buffer is moved again and again.
func TestLargeAfterLarge(t *testing.T) {
	c := start(t).dial(t)
	var raw, want []string
	for i := range 20 {
		body := strings.Repeat(string(rune('a'+i)), 1+i*2477)
		raw, want = append(raw, post("/v3/k", "", body)), append(want, echo("/v3/k", body))
	}
	go func() { _, _ = io.WriteString(c.Conn, strings.Join(raw, "")) }()
	for _, w := range want {
		c.expect("", w) // the way depends on where the reads happen to end
	}
}

func TestManyInOneWrite(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	var raw strings.Builder
	for i := range 30 {
		raw.WriteString(post("/p/"+strconv.Itoa(i), "", strconv.Itoa(i)))
	}
	c.send(raw.String())
	for i := range 30 {
		c.expect("plain", echo("/p/"+strconv.Itoa(i), strconv.Itoa(i)))
	}
}

// pipelines are streams of requests with the answers they must get, in order,
// however they are cut and whichever way each part goes.
func pipelines() map[string][]exchanged {
	plain := func(i int, body string) exchanged {
		return exchanged{post("/p/"+strconv.Itoa(i), "", body), echo("/p/"+strconv.Itoa(i), body)}
	}
	chunked := exchanged{handedOver[3].raw, handedOver[3].want}
	return map[string][]exchanged{
		"plain":       {plain(1, "a"), plain(2, ""), plain(3, "\r\n\r\n"), plain(4, "POST / HTTP/1.1\r\n")},
		"watched":     {plain(1, askDone), plain(2, askDone), plain(3, "x"), plain(4, askDone)},
		"chunked in":  {plain(1, "a"), chunked, plain(2, "b"), chunked},
		"refused in":  {plain(1, askDone), plain(2, askRefuse), plain(3, "b")},
		"other first": {chunked, plain(1, "a")},
	}
}

// exchanged is a request and its answer's body.
type exchanged struct{ raw, want string }

// TestCutEverywhere sends each stream in two pieces, cut at every byte.
func TestCutEverywhere(t *testing.T) {
	for name, stream := range pipelines() {
		t.Run(name, func(t *testing.T) {
			_, open := startPipes(t)
			raw := wire(stream)
			for i := 1; i < len(raw); i++ {
				checkStream(t, open(t), stream, raw[:i], raw[i:])
			}
		})
	}
}

// TestByteByByte sends each stream one byte at a time.
func TestByteByByte(t *testing.T) {
	for name, stream := range pipelines() {
		t.Run(name, func(t *testing.T) {
			_, open := startPipes(t)
			checkStream(t, open(t), stream, strings.Split(wire(stream), "")...)
		})
	}
}

// TestCutAtRandom cuts long mixed streams into many pieces.
func TestCutAtRandom(t *testing.T) {
	_, open := startPipes(t)
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		stream := randomStream(random)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkStream(t, open(t), stream, cut(random, wire(stream))...) })
	}
}

// TestCutOnSockets is the same on real sockets, where pieces may also be joined.
func TestCutOnSockets(t *testing.T) {
	s := start(t)
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		stream := randomStream(random)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkStream(t, s.dial(t), stream, cut(random, wire(stream))...) })
	}
}

func randomStream(random *rand.Rand) (stream []exchanged) {
	for i := range 1 + random.IntN(12) {
		body := strings.Repeat("0123456789", random.IntN(200))
		path := "/p/" + strconv.Itoa(i)
		switch random.IntN(12) {
		case 0:
			body = askRefuse
		case 1, 2, 3:
			body = askDone
		case 4:
			stream = append(stream, exchanged{handedOver[3].raw, handedOver[3].want})
			continue
		}
		stream = append(stream, exchanged{post(path, "", body), echo(path, body)})
	}
	return stream
}

// cut splits at a few random places.
func cut(random *rand.Rand, raw string) (pieces []string) {
	for range random.IntN(8) {
		if len(raw) < 2 {
			break
		}
		i := 1 + random.IntN(len(raw)-1)
		pieces, raw = append(pieces, raw[:i]), raw[i:]
	}
	return append(pieces, raw)
}

func wire(stream []exchanged) string {
	var raw strings.Builder
	for _, e := range stream {
		raw.WriteString(e.raw)
	}
	return raw.String()
}

// checkStream sends the pieces one after the other and compares the answers.
func checkStream(t *testing.T, c *client, stream []exchanged, pieces ...string) {
	t.Helper()
	go func() {
		for _, p := range pieces {
			if _, err := io.WriteString(c.Conn, p); err != nil {
				return // the reader reports it
			}
		}
	}()
	for _, e := range stream {
		c.expect("", e.want)
	}
	_ = c.Close()
}

// TestExtraLineEnd: old clients send a line end after the body of a POST; net/http
// forgives it, so the short way has to as well.
func TestExtraLineEnd(t *testing.T) {
	for name, first := range map[string]string{"plain": post("/a", "", "1"), "full": post("/a", "X-Force: 1\r\n", "1")} {
		t.Run(name, func(t *testing.T) {
			c := start(t).dial(t)
			c.send(first + "\r\n")
			c.expect(name, echo("/a", "1"))
			c.send(post("/b", "", "2"))
			c.expect("", echo("/b", "2"))
		})
	}
}
