package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// chainID is a call that always works and is quick.
const chainID = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`

// chainIDAnswer is its answer on the layer-1 networks.
const chainIDAnswer = `{"jsonrpc":"2.0","id":1,"result":"0x539"}`

// post sends one body as a client would.
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

// do sends a request and reads the whole answer.
func do(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(data)
}

// request builds a request; header is a list of names and values.
func request(t *testing.T, method, url, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// both sends a body over HTTP and over a WebSocket and checks either answer.
func both(t *testing.T, s *service, network, body string, check func(t *testing.T, answer string)) {
	t.Run("http", func(t *testing.T) {
		_, answer := post(t, s.url(network, keyA), body)
		check(t, answer)
	})
	t.Run("ws", func(t *testing.T) {
		c := dial(t, s.ws(network, keyA))
		write(t, c, body)
		check(t, read(t, c))
	})
}

// rpcError is what an answer says went wrong; zero when it has a result.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// answerOf decodes one envelope and fails on anything that is none.
func answerOf(t *testing.T, body string) (id, result string, e rpcError) {
	t.Helper()
	var envelope struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   *rpcError       `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &envelope); err != nil || envelope.Version != "2.0" {
		t.Fatalf("%.300q is no envelope: %v", body, err)
	}
	if (envelope.Error == nil) == (envelope.Result == nil) {
		t.Fatalf("%.300q has not exactly one of result and error", body)
	}
	if envelope.Error != nil {
		e = *envelope.Error
	}
	return string(envelope.ID), string(envelope.Result), e
}

// call makes one HTTP call that must succeed and returns its result.
func call(t *testing.T, url, method, params string) string {
	t.Helper()
	_, body := post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	_, result, e := answerOf(t, body)
	if e.Code != 0 {
		t.Fatalf("%s%s: %d %s", method, params, e.Code, e.Message)
	}
	return result
}

func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(64 << 20)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func write(t *testing.T, c *websocket.Conn, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, []byte(body)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, data, err := c.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// closeStatus reads on until the server closes the socket and returns its status.
func closeStatus(t *testing.T, c *websocket.Conn) websocket.StatusCode {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if _, _, err := c.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// patience bounds every wait for what should come soon, on a machine that has little time.
const patience = time.Minute

// rawConn is a TCP connection on which a test writes HTTP by hand.
type rawConn struct {
	net.Conn
	in *bufio.Reader
}

func rawDial(t *testing.T, s *service) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", s.host())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &rawConn{Conn: c, in: bufio.NewReader(c)}
}

// send writes text; a peer that has closed already is the test's to notice.
func (c *rawConn) send(text string) { _, _ = io.WriteString(c, text) }

// response reads one answer, or nil when the connection ends or stays silent. Its
// body may end early: a server that refuses closes while bytes are in progress.
func (c *rawConn) response(within time.Duration) *http.Response {
	_ = c.SetReadDeadline(time.Now().Add(within))
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil
	}
	body, _ := io.ReadAll(res.Body)
	res.Body = io.NopCloser(strings.NewReader(string(body)))
	return res
}
