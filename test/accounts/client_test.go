package accounts_test

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

	"github.com/nodegate/nodegate/test/harness"
)

// chainID is the cheapest call: 5 credits.
const chainID = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`

// balance costs 80.
const balance = `{"jsonrpc":"2.0","id":7,"method":"eth_getBalance","params":["0x0000000000000000000000000000000000000001","latest"]}`

// callOf is a request as text.
func callOf(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

// reply is an answer over HTTP, or to a handshake.
type reply struct {
	status int
	header http.Header
	body   string
}

// send posts a body; header is a list of names and values.
func send(t testing.TB, url, body string, header ...string) reply {
	t.Helper()
	return exchange(t, http.DefaultClient, http.MethodPost, url, body, header...)
}

func exchange(t testing.TB, client *http.Client, method, url, body string, header ...string) reply {
	t.Helper()
	r, err := try(context.Background(), client, method, url, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// try is exchange for goroutines and for servers that may be gone.
func try(ctx context.Context, client *http.Client, method, url, body string, header ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(data)}, err
}

// rpcError is what an answer says went wrong; zero when it has a result.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// answerOf decodes one envelope and fails on anything that is none.
func answerOf(t testing.TB, body string) (id string, e rpcError) {
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
	return string(envelope.ID), e
}

// want checks an answer's status, code and message; code 0 is a result.
func (r reply) want(t testing.TB, status, code int, message, id string) rpcError {
	t.Helper()
	gotID, e := answerOf(t, r.body)
	same := e.Message == message || strings.HasSuffix(message, ": ") && strings.HasPrefix(e.Message, message) && len(e.Message) > len(message)
	if r.status != status || e.Code != code || !same || gotID != id {
		t.Errorf("got %d, id %s, %d %q; want %d, id %s, %d %q", r.status, gotID, e.Code, e.Message, status, id, code, message)
	}
	return e
}

// dial opens a WebSocket that must be let in.
func dial(t testing.TB, url string, header ...string) *websocket.Conn {
	t.Helper()
	c, r := handshake(t, url, header...)
	if c == nil {
		t.Fatalf("the handshake was refused: %d %s", r.status, r.body)
	}
	return c
}

// handshake tries to open a WebSocket. Without one it returns the answer instead.
func handshake(t testing.TB, url string, header ...string) (*websocket.Conn, reply) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	options := &websocket.DialOptions{HTTPHeader: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		options.HTTPHeader.Add(header[i], header[i+1])
	}
	c, res, err := websocket.Dial(ctx, url, options)
	if err == nil {
		t.Cleanup(func() { _ = c.CloseNow() })
		return c, reply{status: res.StatusCode, header: res.Header}
	}
	if res == nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(res.Body) // the library keeps its first kilobyte
	return nil, reply{res.StatusCode, res.Header, string(data)}
}

func write(t testing.TB, c *websocket.Conn, message string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, c *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	_, data, err := c.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ask sends a message and reads its answer, which has no status.
func ask(t testing.TB, c *websocket.Conn, message string) reply {
	t.Helper()
	write(t, c, message)
	return reply{body: read(t, c)}
}

// closing reads until the server closes the socket, and says how and when.
func closing(t testing.TB, c *websocket.Conn) (websocket.CloseError, time.Time) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	for {
		_, _, err := c.Read(ctx)
		if err == nil {
			continue
		}
		var closed websocket.CloseError
		if !asClose(err, &closed) {
			t.Fatalf("the socket ended without a close frame: %v", err)
		}
		return closed, time.Now()
	}
}

// rawConn is a TCP connection on which a test writes HTTP by hand.
type rawConn struct {
	net.Conn
	in *bufio.Reader
}

func rawDial(t testing.TB, s *harness.Service) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", s.Host())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(waitTime))
	return &rawConn{Conn: c, in: bufio.NewReader(c)}
}

// post sends a request with these header lines and no others but the needed ones.
func (c *rawConn) post(t testing.TB, path, body, lines string) reply {
	t.Helper()
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", path, len(body), lines, body)
	if err != nil {
		t.Fatal(err)
	}
	return c.read(t)
}

func (c *rawConn) read(t testing.TB) reply {
	t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(data)}
}
