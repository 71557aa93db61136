package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// argsBody is a body with arguments, one a line.
func argsBody(t *testing.T, lines string) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	w, err := form.CreateFormFile("file", "args")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, lines)
	_ = form.Close()
	return b.Bytes(), form.FormDataContentType()
}

// ask sends a command with a body and returns the answer.
func ask(t *testing.T, srv *httptest.Server, command, kind string, body io.Reader) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, srv.URL+"/"+command, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("X-Account", "a")
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.Status + " " + string(text)
}

const someCID = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"

// TestArgsInBody: what is wrong with arguments is answered as it was, and their memory is
// reserved while the command works.
func TestArgsInBody(t *testing.T) {
	srv, g := served(t, budget.Config{Process: 64 << 20, Account: 32 << 20})
	for name, c := range map[string]struct{ lines, want string }{
		"one":          {someCID, "200 OK {\"CidStr\""},
		"several":      {someCID + "\n\n  " + someCID + "\r\n", "200 OK {\"CidStr\""},
		"none":         {"\n", "400 Bad Request argument \"cid\" is required"},
		"too many":     {strings.Repeat(someCID+"\n", 5000), "400 Bad Request too many arguments in the body"},
		"over a MB":    {strings.Repeat(someCID+"\n", 20_000), "400 Bad Request too many arguments in the body"},
		"a long line":  {strings.Repeat("x", 100_000), "400 Bad Request the arguments in the body can't be read: bufio.Scanner: token too long"},
		"a long space": {strings.Repeat("\n", 1<<20), "400 Bad Request the arguments in the body can't be read: unexpected EOF"},
	} {
		body, kind := argsBody(t, c.lines)
		if got := ask(t, srv, "cid/format", kind, bytes.NewReader(body)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %.300s", name, got)
		}
	}
	if got := ask(t, srv, "cid/format", "text/plain", nil); !strings.HasPrefix(got, "400 Bad Request argument") {
		t.Errorf("without a body: %s", got)
	}
	settled(t, g.cfg.Memory, 0)
	if u := g.cfg.Memory.Usage(); u.Highest < 3<<20 {
		t.Errorf("reserved %d at most", u.Highest)
	}
}

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (r unread) Read([]byte) (int, error) {
	r.t.Error("the body is read")
	return 0, io.EOF
}

// TestArgsNeedAPlace: an account that has all its requests at work is refused before the
// arguments in a body are read.
func TestArgsNeedAPlace(t *testing.T) {
	_, g := served(t, budget.Config{Process: 64 << 20})
	for range defaultRequests {
		_, p, err := g.shares.enter(t.Context(), "a", false)
		if err != nil {
			t.Fatal(err)
		}
		defer p.leave()
	}
	_, kind := argsBody(t, "")
	req := httptest.NewRequest(http.MethodPost, "/", unread{t})
	req.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	g.ServeGranted(w, req, "cid/format", grantOf("a"))
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder() // what needs no body to be wrong is told as ever
	g.ServeGranted(w, httptest.NewRequest(http.MethodPost, "/", nil), "cid/format", grantOf("a"))
	if w.Code != http.StatusBadRequest {
		t.Errorf("without arguments: %d %s", w.Code, w.Body)
	}
}

// TestArgumentsTakeTurns: commands with many arguments take a turn for each. Without them,
// requests with very many would all work at once.
func TestArgumentsTakeTurns(t *testing.T) {
	srv, g := served(t, budget.Config{Process: 64 << 20})
	file := []byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nhello\r\n--b--\r\n")
	var added struct{ Hash string }
	text := ask(t, srv, "add?cid-version=1", "multipart/form-data; boundary=b", bytes.NewReader(file))
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "200 OK ")), &added); err != nil {
		t.Fatal(text)
	}
	const count = 300
	lines, kind := argsBody(t, strings.Repeat(added.Hash+"\n", count))
	for _, name := range []string{"cid/format", "cid/base32", "pin/add", "refs", "ls", "dag/stat", "pin/rm"} {
		command, _, _ := strings.Cut(name, "?")
		run, turns := g.commands[command].run, 0
		g.commands[command].run = func(ctx context.Context, c *call) error {
			fairshare.TakeTurns(ctx)
			return run(fairshare.Alone(ctx, func() {}, func() { turns++ }), c)
		}
		answer := ask(t, srv, name, kind, bytes.NewReader(lines))
		g.commands[command].run = run
		if turns < count {
			t.Errorf("%s: %d turns for %d arguments: %.200s", name, turns, count, answer)
		}
	}
}

// TestTimedOut: a client that has left is no fault of the service.
func TestTimedOut(t *testing.T) {
	own := &nodegate.Error{Code: nodegate.NotFound}
	for _, c := range []struct {
		err  error
		want nodegate.Code
	}{{context.Canceled, nodegate.Timeout}, {context.DeadlineExceeded, nodegate.Timeout}, {own, nodegate.NotFound}} {
		if got := nodegate.AsError(timedOut(c.err)).Code; got != c.want {
			t.Errorf("%v is %v, want %v", c.err, got, c.want)
		}
	}
	if timedOut(nil) != nil {
		t.Error("an error of nothing")
	}
}
