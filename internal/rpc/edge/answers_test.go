package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// errorOf decodes the error of an answer.
func errorOf(t *testing.T, body string) (code int, message, data string) {
	t.Helper()
	var answer struct {
		Error struct {
			Code    int
			Message string
			Data    json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return answer.Error.Code, answer.Error.Message, string(answer.Error.Data)
}

// TestErrorsOfCalls has a node fail with every code. Over HTTP the code decides
// the status too; over a WebSocket and in a batch there is only the envelope.
func TestErrorsOfCalls(t *testing.T) {
	h := build(t)
	c := socket(t, h)
	for _, code := range nodegate.Codes() {
		t.Run(code.String(), func(t *testing.T) {
			h.answer = func(context.Context, string) ([]byte, error) {
				return nil, &nodegate.Error{Code: code, Msg: "so <it> is", Data: json.RawMessage(`{"a":1}`), RetryAfter: time.Second}
			}
			res, body := h.post(t, goodKey, envelope("m"))
			if want := web.Status(code); res.StatusCode != want {
				t.Errorf("status %d, want %d", res.StatusCode, want)
			}
			number, message, data := errorOf(t, body)
			if code != nodegate.Internal && (message != "so <it> is" || data != `{"a":1}`) {
				t.Errorf("answered %s", body)
			}
			for way, other := range map[string]string{"a WebSocket": exchange(t, c, envelope("m")), "a batch": one(t, h)} {
				if got, _, _ := errorOf(t, other); got != number {
					t.Errorf("by %s: %s, want code %d", way, other, number)
				}
			}
		})
	}
}

// one sends a batch of one call, which is answered with 200 whatever happens.
func one(t *testing.T, h *house) string {
	t.Helper()
	res, body := h.post(t, goodKey, "["+envelope("m")+"]")
	if res.StatusCode != http.StatusOK {
		t.Errorf("the batch has status %d", res.StatusCode)
	}
	return strings.TrimSuffix(strings.TrimPrefix(body, "["), "]")
}

// TestRetryAfterHeader tells clients when to come back, at the authenticator and behind it.
func TestRetryAfterHeader(t *testing.T) {
	h := build(t)
	busy := &nodegate.Error{Code: nodegate.Busy, Msg: "server busy", RetryAfter: 1500 * time.Millisecond}
	limited := &nodegate.Error{Code: nodegate.RateLimited, Msg: "rate limit exceeded", RetryAfter: time.Second}
	long := &nodegate.Error{Code: nodegate.RateLimited, Msg: "rate limit exceeded", RetryAfter: 15 * time.Second}
	spent := &nodegate.Error{Code: nodegate.CreditsSpent, Msg: "daily credit limit reached"}
	for _, c := range []struct {
		name   string
		err    error
		status int
		want   string
	}{{"busy", busy, 503, "02"}, {"limited", limited, 429, "01"}, {"long", long, 429, "015"}, {"spent", spent, 402, ""}} {
		t.Run(c.name, func(t *testing.T) {
			h.refuse = map[string]error{"door": c.err}
			h.answer = func(context.Context, string) ([]byte, error) { return nil, c.err }
			for _, key := range []string{"door", goodKey} {
				res, body := h.post(t, key, envelope("m"))
				if got := res.Header.Get("Retry-After"); res.StatusCode != c.status || got != c.want {
					t.Errorf("key %s: status %d, Retry-After %q, want %d and %q: %s", key, res.StatusCode, got, c.status, c.want, body)
				}
			}
		})
	}
}

// TestErrorsAtTheDoor has the authenticator refuse with every code, before a call
// and before a WebSocket.
func TestErrorsAtTheDoor(t *testing.T) {
	h := build(t)
	for _, code := range nodegate.Codes() {
		h.refuse = map[string]error{"door": &nodegate.Error{Code: code, Msg: "no"}}
		for _, path := range []string{"/net/v3/door", "/net/ws/v3/door"} {
			method := http.MethodPost
			if strings.Contains(path, "ws") {
				method = http.MethodGet
			}
			req, err := http.NewRequestWithContext(t.Context(), method, "http://"+h.addr+path, strings.NewReader(envelope("m")))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if want := web.Status(code); res.StatusCode != want || res.Header.Get("WWW-Authenticate") != "" || res.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%v at %s: %d %v, want %d", code, path, res.StatusCode, res.Header, want)
			}
		}
	}
	if n := h.calls.Load(); n != 0 {
		t.Errorf("%d calls were executed for keys that were refused", n)
	}
}

// TestServerFault tells the client an id and the log the rest: what is wrong
// inside is nobody's business outside.
func TestServerFault(t *testing.T) {
	h := build(t)
	c := socket(t, h)
	id := regexp.MustCompile(`internal error \(id ([0-9a-z-]+)\)`)
	for name, answer := range map[string]func(context.Context, string) ([]byte, error){
		"error": func(context.Context, string) ([]byte, error) { return nil, errors.New("secret detail") },
		"panic": func(context.Context, string) ([]byte, error) { panic("secret detail") },
		"wrapped": func(context.Context, string) ([]byte, error) {
			return nil, &nodegate.Error{Code: nodegate.Internal, Msg: "secret detail"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h.answer = answer
			res, body := h.post(t, goodKey, envelope("m"))
			for _, text := range []string{body, exchange(t, c, envelope("m"))} {
				found := id.FindStringSubmatch(text)
				if found == nil || strings.Contains(text, "secret") || !strings.Contains(text, "-32603") {
					t.Fatalf("answered %s", text)
				}
				if log := h.logs.String(); !strings.Contains(log, "id="+found[1]) || !strings.Contains(log, "secret detail") {
					t.Errorf("the log lacks %s or the cause:\n%s", found[1], log)
				}
			}
			if res.StatusCode != http.StatusInternalServerError {
				t.Errorf("status %d", res.StatusCode)
			}
		})
	}
	// One request's panic is not another's problem.
	h.answer = nil
	if _, body := h.post(t, goodKey, envelope("m")); !strings.Contains(body, `"result":"m"`) {
		t.Errorf("afterwards: %s", body)
	}
}

// TestFailingNotifications are executed, not answered, and not lost from the log.
func TestFailingNotifications(t *testing.T) {
	h := build(t)
	h.answer = func(context.Context, string) ([]byte, error) { return nil, errors.New("secret detail") }
	res, body := h.post(t, goodKey, `{"jsonrpc":"2.0","method":"m"}`)
	if res.StatusCode != http.StatusNoContent || body != "" || h.calls.Load() != 1 {
		t.Errorf("status %d, body %q, %d calls", res.StatusCode, body, h.calls.Load())
	}
	if !strings.Contains(h.logs.String(), "secret detail") {
		t.Errorf("the log has nothing of it:\n%s", h.logs)
	}
}

// TestBatchesAreWhole executes each element of a batch once, in order, and none of
// a batch that is too large.
func TestBatchesAreWhole(t *testing.T) {
	h := build(t)
	batch := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(envelope("m")+",", n), ",") + "]"
	}
	for n, want := range map[int]int32{0: 0, 1: 1, 10: 10, 11: 0} {
		h.reset()
		h.post(t, goodKey, batch(n))
		if got := h.calls.Load(); got != want {
			t.Errorf("a batch of %d made %d calls, want %d", n, got, want)
		}
		if got := h.let.Load(); got != 1 {
			t.Errorf("a batch of %d asked %d times for its key", n, got)
		}
	}
	h.reset()
	h.post(t, goodKey, "["+envelope("a")+`,{"jsonrpc":"2.0","method":"b"},1,`+envelope("c")+"]")
	if got := strings.Join(h.seen, " "); got != "a b c" {
		t.Errorf("executed %s", got)
	}
}
