package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// TestGivenBounds: whatever comes, no bound is passed, what is kept is found, and the
// sums are right.
func TestGivenBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &given{}
		accounts := rapid.IntRange(1, 3).Draw(t, "accounts")
		for i := range rapid.IntRange(1, 1500).Draw(t, "requests") {
			key := givenKey{fmt.Sprint("account", i%accounts), fmt.Sprint("key", rapid.IntRange(0, 700).Draw(t, "key"))}
			a, err := g.begin(key, givenRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if a == nil {
				g.end(key, make([]byte, rapid.IntRange(0, givenBytes).Draw(t, "size")), rapid.IntRange(0, 9).Draw(t, "keep") > 0)
			}
		}
		bytes, entries := 0, 0
		for name, mine := range g.accounts {
			if entries += mine.Len(); mine.Len() > givenAccount || mine.Len() == 0 {
				t.Fatalf("%s has %d", name, mine.Len())
			}
		}
		for _, a := range g.answers {
			bytes += len(a.body)
		}
		if bytes != g.bytes || bytes > givenMemory || entries != len(g.answers) || g.order.Len() != entries || len(g.running) != 0 {
			t.Fatalf("%d bytes of %d, %d entries of %d, %d running", bytes, g.bytes, entries, len(g.answers), len(g.running))
		}
	})
}

// TestGivenTotal: many accounts together stay within the bounds, the oldest go first.
func TestGivenTotal(t *testing.T) {
	g := &given{}
	for i := range givenTotal + 100 {
		key := givenKey{fmt.Sprint(i), "k"}
		if _, err := g.begin(key, givenRequest{}); err != nil {
			t.Fatal(err)
		}
		g.end(key, nil, true)
	}
	if len(g.answers) != givenTotal || len(g.accounts) != givenTotal || g.answers[givenKey{"99", "k"}] != nil || g.answers[givenKey{"100", "k"}] == nil {
		t.Errorf("%d answers of %d accounts", len(g.answers), len(g.accounts))
	}
	for i := range givenRunning {
		if _, err := g.begin(givenKey{"runner", fmt.Sprint(i)}, givenRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.begin(givenKey{"runner", "more"}, givenRequest{}); !errors.Is(err, nodegate.Busy) {
		t.Errorf("one more: %v", err)
	}
}

// TestGivenTime: an answer is forgotten after a day, and its key free for another
// request.
func TestGivenTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, key := &given{}, givenKey{"a", "k"}
		begin := func(r givenRequest) (found bool, code error) {
			a, err := g.begin(key, r)
			return a != nil, err
		}
		if found, err := begin(givenRequest{1}); found || err != nil {
			t.Fatal(found, err)
		}
		for want, r := range map[string]givenRequest{"under way": {1}, "another command": {2}} {
			if _, err := begin(r); !errors.Is(err, nodegate.Conflict) || (nodegate.AsError(err).RetryAfter > 0) != (want == "under way") {
				t.Errorf("%s: %v", want, err)
			}
		}
		g.end(key, []byte("answer"), true)
		time.Sleep(givenTime)
		if found, err := begin(givenRequest{1}); !found || err != nil {
			t.Errorf("after a day: %v %v", found, err)
		}
		time.Sleep(time.Second)
		if found, err := begin(givenRequest{2}); found || err != nil || len(g.answers) != 0 || g.bytes != 0 {
			t.Errorf("later: %v %v", found, err)
		}
	})
}

// gone is a client that has left.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, errors.New("gone") }

// TestKeptAnswer: an answer that the client does not get is kept whole, one that is
// too long is not kept.
func TestKeptAnswer(t *testing.T) {
	for _, c := range []struct {
		lines int
		over  bool
	}{{100, false}, {1000, true}} {
		line := []byte(fmt.Sprintf("%99d\n", 1))
		for _, w := range []http.ResponseWriter{httptest.NewRecorder(), gone{httptest.NewRecorder()}} {
			a := newAnswer(w, func(int) error { return nil })
			a.kept = &keptAnswer{}
			var err error
			for i := 0; i < c.lines && err == nil; i++ {
				_, err = a.Write(line)
			}
			_, left := w.(gone)
			if a.kept.over != c.over || (a.kept.lost != nil) != left || (err != nil) != (left && c.over) {
				t.Errorf("%d lines, gone %v: over %v, lost %v, %v", c.lines, left, a.kept.over, a.kept.lost, err)
			}
			if want := map[bool]int{false: c.lines * len(line)}[c.over]; len(a.kept.body) != want {
				t.Errorf("%d bytes are kept, want %d", len(a.kept.body), want)
			}
		}
	}
}

// TestTags finds tags as HTTP compares them.
func TestTags(t *testing.T) {
	for list, want := range map[string]bool{
		`"a"`: true, `W/"a"`: true, `"b", "a"`: true, `*`: true, ` "a" `: true, `"b"`: false, ``: false, `a`: false, `"ab"`: false, `"a`: false, `,,`: false,
	} {
		if hasTag(list, `"a"`) != want {
			t.Errorf("%q: %v", list, !want)
		}
	}
}

// TestAccepted: what browsers and libraries send by themselves asks for no other form.
func TestAccepted(t *testing.T) {
	for accept, want := range map[string]string{
		"": "", "*/*": "", "application/json, text/plain, */*": "", "text/html,application/xhtml+xml": "", "application/x-tar": formatTAR, "application/json": formatJSON, "application/cbor, application/json": formatCBOR,
		"application/vnd.ipld.raw": formatRaw, "text/html, application/vnd.ipld.car; version=1": formatCAR,
		"application/vnd.ipld.dag-json": formatDagJSON, "application/vnd.ipld.zip": "refused", "application/vnd.ipfs.ipns-record": "refused", "application/vnd.ipld.car; =": "refused",
	} {
		h := http.Header{"Accept": {accept}}
		kind, _, err := accepted(h)
		if err != nil {
			kind = "refused"
		}
		if kind != want {
			t.Errorf("%q: %q, want %q", accept, kind, want)
		}
	}
}

// TestByteSpans reads entity-bytes; what is refused says so.
func TestByteSpans(t *testing.T) {
	for text, ok := range map[string]bool{
		"0:*": true, "5:9": true, "-5:-1": true, "-5:*": true, "0:-1": true, "-5:10": true,
		"": false, "5": false, ":": false, "9:5": false, "-1:-5": false, "a:b": false, "1:2:3": false, "0:99999999999999999999": false,
	} {
		if _, err := parseBytes(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestReadCodes walks all codes: each is a refusal in one line of text, in a sandbox.
func TestReadCodes(t *testing.T) {
	g := gateway()
	for _, code := range nodegate.Codes() {
		w := httptest.NewRecorder()
		g.readHead(w.Header())
		c := g.newCall(w, httptest.NewRequest(http.MethodGet, "/ipfs/x", nil))
		(&reading{call: c}).refuseRead(&nodegate.Error{Op: "test", Code: code, Msg: "told", Err: errors.New("hidden")})
		if w.Code < 400 || w.Header().Get("Content-Security-Policy") != "sandbox" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || len(w.Body.String()) > 100 {
			t.Errorf("%v: %d %v %s", code, w.Code, w.Header(), w.Body)
		}
	}
}
