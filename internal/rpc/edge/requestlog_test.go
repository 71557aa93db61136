package edge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/rpc/edge"
	"github.com/nodegate/nodegate/test/full"
)

// lines are a key's entries, oldest first, in words.
func (h *house) lines() (list []string) {
	for _, e := range h.kept.Latest("account of "+goodKey, goodKey, requestlog.Filter{}).Entries {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %d %s%s", e.Network, e.Method, e.Outcome, e.Credits, e.Error, e.Params)))
	}
	slices.Reverse(list)
	return list
}

func answerOf(_ context.Context, method string) ([]byte, error) {
	switch method {
	case "bad":
		return nil, &nodegate.Error{Code: nodegate.Reverted, Msg: "execution reverted: no"}
	case "broken":
		return nil, errors.New("the cause with a secret")
	}
	return []byte(`"` + method + `"`), nil
}

// TestJournal: every way that a request can go leaves an entry with what its client
// was told.
func TestJournal(t *testing.T) {
	full.Slow(t)
	call := func(method string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":["p"]}`, method)
	}
	plain := func(h *house, body string) { h.post(t, goodKey, body) }
	for _, c := range []struct {
		name   string
		send   func(h *house)
		policy nodegate.Policy
		want   []string
	}{
		{name: "answered", send: func(h *house) { plain(h, call("echo")) }, want: []string{"net echo ok 10"}},
		{name: "failed", send: func(h *house) { plain(h, call("bad")) }, want: []string{"net bad reverted 80 execution reverted: no"}},
		{
			name: "with parameters", send: func(h *house) { plain(h, call("echo")) }, want: []string{`net echo ok 10 ["p"]`},
			policy: nodegate.Policy{Settings: nodegate.KeySettings{KeepParams: true}},
		},
		{name: "a batch", send: func(h *house) { plain(h, "["+call("echo")+",5,"+call("bad")+"]") }, want: []string{"net echo ok 10", "net other invalid request 5 invalid request", "net bad reverted 80 execution reverted: no"}},
		{name: "a notification", send: func(h *house) { plain(h, `{"jsonrpc":"2.0","method":"bad"}`) }, want: []string{"net bad reverted 80 execution reverted: no"}},
		{name: "no JSON", send: func(h *house) { plain(h, "{") }, want: []string{"net other invalid request 5 parse error"}},
		{
			name: "refused by its settings", send: func(h *house) { plain(h, call("echo")) }, want: []string{"net echo forbidden 5 rejected by the API key's settings: method echo is not allowed"},
			policy: nodegate.Policy{Settings: nodegate.KeySettings{Methods: []string{"eth_call"}}},
		},
		{
			name: "a spent day", send: func(h *house) { plain(h, call("echo")) }, want: []string{"net echo credits spent 0 daily credit limit reached"},
			policy: nodegate.Policy{Plan: nodegate.Plan{CreditsPerDay: 1}},
		},
		{
			name: "no JSON on a spent day", send: func(h *house) { plain(h, "{") }, want: []string{"net other credits spent 0 daily credit limit reached"},
			policy: nodegate.Policy{Plan: nodegate.Plan{CreditsPerDay: 1}},
		},
		{
			name: "a batch on a spent day", send: func(h *house) { plain(h, "["+call("echo")+",5,"+call("bad")+"]") },
			want:   []string{"net echo credits spent 0 daily credit limit reached", "net other credits spent 0 daily credit limit reached", "net bad credits spent 0 daily credit limit reached"},
			policy: nodegate.Policy{Plan: nodegate.Plan{CreditsPerDay: 1}},
		},
		{name: "another content type", send: func(h *house) {
			res, err := http.Post(h.url(goodKey), "text/plain", strings.NewReader(call("echo")))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
		}, want: []string{"net other media type 5 invalid content type: only application/json is supported"}},
		{name: "a WebSocket", send: func(h *house) { h.onSocket(t, call("echo"), call("bad")) }, want: []string{"net echo ok 10", "net bad reverted 80 execution reverted: no"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := buildWith(t, func(c *edge.Config) { c.Methods = []string{"echo"} })
			h.answer, h.policy = answerOf, c.policy
			c.send(h)
			got := h.lines()
			for i := range got {
				if i < len(c.want) && strings.HasPrefix(got[i], c.want[i]) {
					got[i] = c.want[i] // the texts may go on
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// onSocket sends messages one after the other.
func (h *house) onSocket(t *testing.T, messages ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+h.addr+"/net/ws/v3/"+goodKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	for _, m := range messages {
		if err := c.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Read(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJournalOfFaults: what broke inside is told by its id only, the one that the
// client has.
func TestJournalOfFaults(t *testing.T) {
	h := build(t)
	h.answer = answerOf
	_, body := h.post(t, goodKey, envelope("broken"))
	got := h.lines()
	if len(got) != 1 || strings.Contains(got[0], "secret") {
		t.Fatalf("got %q", got)
	}
	_, told, _ := strings.Cut(got[0], "internal 0 ")
	if !strings.HasPrefix(told, "internal error (id ") || !strings.Contains(body, told) {
		t.Errorf("kept %q, told %s", told, body)
	}
}

// TestJournalOfNodes: on a network whose layers tell, the entry has node and cache.
func TestJournalOfNodes(t *testing.T) {
	h := buildWith(t, func(c *edge.Config) { c.Networks[0].Traced = true })
	h.answer = func(ctx context.Context, _ string) ([]byte, error) {
		trace := nodegate.TraceFrom(ctx)
		trace.Node, trace.Cache = "first", nodegate.CacheMiss
		return []byte("1"), nil
	}
	begin := time.Now().Add(-time.Millisecond)
	h.post(t, goodKey, envelope("echo"))
	e := h.kept.Latest("account of "+goodKey, goodKey, requestlog.Filter{}).Entries
	if len(e) != 1 || e[0].Node != "first" || e[0].Cache != nodegate.CacheMiss || e[0].At.Before(begin) || e[0].At.After(time.Now()) {
		t.Errorf("got %+v", e)
	}
}

// TestJournalLevel: an entry says how well its answer was verified.
func TestJournalLevel(t *testing.T) {
	h := buildWith(t, traced)
	h.answer = tells
	h.post(t, goodKey, "["+envelope("ledger")+","+envelope("miss")+"]")
	levels := map[string]nodegate.Level{}
	for _, e := range h.kept.Latest("account of "+goodKey, goodKey, requestlog.Filter{}).Entries {
		levels[e.Method] = e.Level
	}
	if len(levels) != 2 || levels["ledger"] != nodegate.LevelRoots || levels["miss"] != nodegate.LevelNone {
		t.Errorf("the entries have the levels %v", levels)
	}
}

// TestJournalOfOneRequest: an entry has the id that the client got, the code and the
// response that it was sent, on every way that a request can take.
func TestJournalOfOneRequest(t *testing.T) {
	keep := nodegate.Policy{Settings: nodegate.KeySettings{KeepResponses: true}}
	entries := func(h *house) []requestlog.Entry {
		return h.kept.Latest("account of "+goodKey, goodKey, requestlog.Filter{}).Entries
	}
	for name, large := range map[string]bool{"the short way": false, "net/http": true} {
		t.Run(name, func(t *testing.T) {
			h := build(t)
			h.answer, h.policy = answerOf, keep
			body := envelope("bad")
			if large {
				body += strings.Repeat(" ", 70_000)
			}
			res, told := h.post(t, goodKey, body)
			list := entries(h)
			if len(list) != 1 || list[0].ID == "" || list[0].ID != res.Header.Get("X-Request-Id") || list[0].Number != 3 || list[0].Place != 0 || string(list[0].Reply) != told {
				t.Errorf("%+v of %s, answered with %s", list, res.Header.Get("X-Request-Id"), told)
			}
		})
	}
	t.Run("a batch", func(t *testing.T) {
		h := build(t)
		h.answer, h.policy = answerOf, keep
		res, told := h.post(t, goodKey, "["+envelope("echo")+","+envelope("bad")+"]")
		list := entries(h)
		if len(list) != 2 || list[0].ID != list[1].ID || list[0].ID != res.Header.Get("X-Request-Id") || list[0].Place+list[1].Place != 1 {
			t.Fatalf("%+v", list)
		}
		for _, e := range list {
			if !strings.Contains(told, string(e.Reply)) || e.Reply[0] != '{' {
				t.Errorf("%s is not a part of %s", e.Reply, told)
			}
		}
	})
	t.Run("a refusal", func(t *testing.T) {
		h := build(t)
		res, _ := h.post(t, goodKey, "{")
		if list := entries(h); len(list) != 1 || list[0].ID != res.Header.Get("X-Request-Id") || list[0].Number != -32600 {
			t.Errorf("%+v", list)
		}
	})
	t.Run("a WebSocket", func(t *testing.T) {
		h := build(t)
		h.answer = answerOf
		h.onSocket(t, envelope("echo"), envelope("echo"))
		if list := entries(h); len(list) != 2 || list[0].ID == "" || list[0].ID == list[1].ID {
			t.Errorf("%+v", list)
		}
	})
}

// TestJournalOfWaits: the time that a node took is a part of the time of the request.
func TestJournalOfWaits(t *testing.T) {
	h := buildWith(t, func(c *edge.Config) { c.Networks[0].Traced = true })
	h.answer = func(ctx context.Context, _ string) ([]byte, error) {
		nodegate.TraceFrom(ctx).Waited = 7 * time.Microsecond
		return []byte("1"), nil
	}
	h.post(t, goodKey, envelope("echo"))
	if e := h.kept.Latest("account of "+goodKey, goodKey, requestlog.Filter{}).Entries; len(e) != 1 || e[0].Waited != 7*time.Microsecond {
		t.Errorf("got %+v", e)
	}
}
