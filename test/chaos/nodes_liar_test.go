package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// liar is a way of answering that no client may notice. It is given the request and its
// id, and may leave the answer to the node.
type liar struct {
	name string
	say  func(w http.ResponseWriter, r *http.Request, body, id string) (done bool)
}

// liars misbehave in form or about their head. internal/rpc/upstream/pool has more of them; a
// node that lies about a balance in good form is not found out, as docs/nodes.md says.
func liars() []liar {
	text := func(s string) func(http.ResponseWriter, *http.Request, string, string) bool {
		return func(w http.ResponseWriter, _ *http.Request, _, id string) bool {
			_, _ = io.WriteString(w, strings.ReplaceAll(s, "ID", id))
			return true
		}
	}
	head := func(number string) func(http.ResponseWriter, *http.Request, string, string) bool {
		return func(w http.ResponseWriter, _ *http.Request, body, id string) bool {
			result := `"` + number + `"`
			switch {
			case strings.Contains(body, `"eth_getBlockByNumber","params":["latest"`):
				result = `{"number":"` + number + `","hash":"0x` + strings.Repeat("ee", 32) + `","parentHash":"0x` + strings.Repeat("dd", 32) + `"}`
			case !strings.Contains(body, `"eth_blockNumber"`):
				return false
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`)
			return true
		}
	}
	return []liar{
		{"another id", text(`{"jsonrpc":"2.0","id":7777777,"result":"0xbad"}`)},
		{"a page", text(`<html><body>0xbad</body></html>`)},
		{"cut short", text(`{"jsonrpc":"2.0","id":ID,"result":"0xba`)},
		{"two answers", text(`{"jsonrpc":"2.0","id":ID,"result":"0xbad"}{"jsonrpc":"2.0","id":ID,"result":"0xbad"}`)},
		{"a member twice", text(`{"jsonrpc":"2.0","id":ID,"result":"0xbad","result":"0xbad"}`)},
		{"nothing", text("")},
		{"an absurd error", text(`{"jsonrpc":"2.0","id":ID,"error":{"code":"0xbad","message":[1]}}`)},
		{"a redirect", func(w http.ResponseWriter, r *http.Request, _, _ string) bool {
			http.Redirect(w, r, "http://127.0.0.1:1/0xbad", http.StatusTemporaryRedirect)
			return true
		}},
		{"status 500", func(w http.ResponseWriter, _ *http.Request, _, _ string) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}},
		{"endless", func(w http.ResponseWriter, r *http.Request, _, _ string) bool {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
			return true
		}},
		{"far ahead", head("0xbadbad")},
		{"far behind", head("0x1")},
	}
}

// TestLyingNode is row 33 through the whole program. Each liar has a network of its own,
// with two honest nodes beside it.
func TestLyingNode(t *testing.T) {
	list, seconds := liars(), length(4, 40)
	o := begin(t, 33, fmt.Sprintf("%d nodes that lie, each beside two honest ones, for %d s", len(list), seconds), "0 bad answers, heads never go back")
	chain := startChains(t, 1)[0]
	honest := startRelay(t, chain.rpc("dev"))
	yaml, bad := "networks:\n", make([]*relay, len(list))
	for i := range list {
		bad[i] = startRelay(t, chain.rpc("dev"))
		yaml += fmt.Sprintf("  - {name: m%d, cache: 0, ledger: {blocks: 0}, nodes: [{name: bad, url: %q}, {name: good, url: %q}, {name: better, url: %q}]}\n", i, bad[i].URL, chain.rpc("dev"), honest.URL)
	}
	g := startGate(t, yaml)
	g.allHealthy(3 * len(list))
	c := newCaller(t)
	first := c.must(t, g.rpc("m0"), "eth_getBlockByNumber", `["0x1",true]`)
	var asked, told atomic.Int64
	var wait sync.WaitGroup
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	for i, l := range list {
		lies := lie(bad[i], l)
		wait.Go(func() {
			n, err := believe(t.Context(), c, g.rpc(fmt.Sprint("m", i)), first, until)
			if asked.Add(int64(n)); err != nil {
				t.Errorf("%s: %v", l.name, err)
			}
			if told.Add(lies.Load()); lies.Load() == 0 {
				t.Errorf("%s: the liar was never asked", l.name)
			}
		})
	}
	for time.Now().Before(until) {
		c.must(t, chain.rpc("dev"), "evm_mine", "[]")
		time.Sleep(100 * time.Millisecond)
	}
	wait.Wait()
	o.say("%d answers checked, %d lies told", asked.Load(), told.Load())
}

// lie has a node misbehave from now on, and counts how often it did.
func lie(bad *relay, l liar) *atomic.Int64 {
	lies := new(atomic.Int64)
	bad.make(func(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
		_, after, _ := strings.Cut(string(body), `"id":`)
		id, _, _ := strings.Cut(after, ",")
		done := l.say(w, r, string(body), id)
		if done {
			lies.Add(1)
		}
		return done
	})
	return lies
}

// believe asks a network whose answers are known: block 1 is what it was, accounts that
// nobody has used are empty, and the newest block is never older than before.
func believe(ctx context.Context, c *caller, url, first string, until time.Time) (asked int, err error) {
	last := uint64(0)
	for time.Now().Before(until) {
		for _, q := range []struct{ method, params, want string }{
			{"eth_getBlockByNumber", `["0x1",true]`, first},
			{"eth_getBalance", fmt.Sprintf(`["0x%040x","latest"]`, 0xdead0000+asked), `"0x0"`},
			{"eth_blockNumber", "[]", ""},
		} {
			a, err := c.post(ctx, url, envelopeOf(q.method, q.params))
			if err != nil || a.result == nil || q.want != "" && string(a.result) != q.want {
				return asked, fmt.Errorf("%s: %v, %d %.200s", q.method, err, a.status, a.body)
			}
			asked++
			if q.want != "" {
				continue
			}
			n, err := strconv.ParseUint(strings.Trim(string(a.result), `"`), 0, 64)
			if err != nil || n < last || n > 1e6 {
				return asked, fmt.Errorf("the head is %s after %d", a.result, last)
			}
			last = n
		}
		time.Sleep(20 * time.Millisecond)
	}
	return asked, nil
}
