package storage_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// uploadAgain sends parts with an Idempotency-Key.
func (n *tenant) uploadAgain(t testing.TB, key, command string, parts ...part) answer {
	t.Helper()
	kind, data := body(parts...)
	req := n.request(t.Context(), command, kind, bytes.NewReader(data))
	req.Header.Set("Idempotency-Key", key)
	return send(req)
}

func replayed(a answer) bool { return a.header.Get("Idempotency-Replayed") == "true" }

// TestAgain: a request that is repeated with its key gets the same answer, and
// stores nothing a second time.
func TestAgain(t *testing.T) {
	t.Parallel()
	for command, content := range map[string]string{
		"add?progress=true&pin-name=x": "some content", "block/put?pin=true": "a block", "dag/put?pin=true": `{"a":1}`, "add?silent=true": "silence",
	} {
		n := newTenant(t)
		first := n.uploadAgain(t, "one", command, file("x", []byte(content)))
		if first.status != http.StatusOK || replayed(first) {
			t.Fatalf("%s: %d %s", command, first.status, first.body)
		}
		for cid := range n.pins(t) {
			n.ok(t, "pin/rm?arg="+cid)
		}
		for _, size := range []int{0, 100, 300_000, 5 << 20} {
			again := n.uploadAgain(t, "one", command, file("x", pattern(1, size)))
			if again.status != http.StatusOK || !replayed(again) || again.body != first.body || again.err != nil {
				t.Errorf("%s again with %d bytes: %d %q %v", command, size, again.status, again.body, again.err)
			}
		}
		if pins := n.pins(t); len(pins) != 0 {
			t.Errorf("%s: stored again: %v", command, pins)
		}
		if other := n.uploadAgain(t, "two", command, file("x", []byte(content))); other.status != http.StatusOK || replayed(other) || other.body != first.body {
			t.Errorf("%s with another key: %d %q", command, other.status, other.body)
		}
		if other := newTenant(t).uploadAgain(t, "one", command, file("x", []byte(content))); other.status != http.StatusOK || replayed(other) {
			t.Errorf("%s of another account: %d %q", command, other.status, other.body)
		}
	}
}

// TestAgainRefused: keys that are none, and keys of something else.
func TestAgainRefused(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	x := file("x", []byte("x"))
	for _, key := range []string{"a b", "ü", strings.Repeat("k", 256), "tab\tbed"} {
		if a := n.uploadAgain(t, key, "add", x); a.status != http.StatusBadRequest || !strings.Contains(a.body, "Idempotency-Key") {
			t.Errorf("%q: %d %s", key, a.status, a.body)
		}
	}
	if a := n.uploadAgain(t, strings.Repeat("k", 255), "add", x); a.status != http.StatusOK {
		t.Errorf("the longest key: %d %s", a.status, a.body)
	}
	n.uploadAgain(t, "key", "add?pin-name=a", x)
	for _, command := range []string{"add?pin-name=b", "add", "block/put"} {
		if a := n.uploadAgain(t, "key", command, x); a.status != http.StatusConflict || !strings.Contains(a.body, "another command or other options") {
			t.Errorf("%s: %d %s", command, a.status, a.body)
		}
	}
	if a := n.uploadAgain(t, "fails", "add?expect-cid=QmPBRcT6Qs9vLAyoMR5TQrpTrCyLzmkdUUumFzsrMULUGJ", x); a.status != http.StatusPreconditionFailed {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := n.uploadAgain(t, "fails", "add", x); a.status != http.StatusOK || replayed(a) {
		t.Errorf("after a failure: %d %s", a.status, a.body)
	}
	large := n.uploadAgain(t, "large", "add", manyFiles(2000)...)
	if again := n.uploadAgain(t, "large", "add", manyFiles(2000)...); again.status != http.StatusOK || again.body != large.body || replayed(again) {
		t.Errorf("an answer that is too long to remember: %d, %d and %d bytes", again.status, len(large.body), len(again.body))
	}
}

func manyFiles(n int) (parts []part) {
	for i := range n {
		parts = append(parts, file(fmt.Sprint("file ", i), []byte(fmt.Sprint(i))))
	}
	return parts
}

// TestAgainAtOnce: of many requests with one key at once exactly one stores. The
// others get its answer, or are told that it is in progress.
func TestAgainAtOnce(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	for round := range 5 {
		var mu sync.Mutex
		var wait sync.WaitGroup
		stored, answers := 0, map[string]int{}
		for range 20 {
			wait.Go(func() {
				for range 200 {
					a := n.uploadAgain(t, fmt.Sprint("round-", round), fmt.Sprint("add?pin-name=round", round), file("x", pattern(1300+round, 400_000)))
					if a.status == http.StatusConflict && a.header.Get("Retry-After") == "01" {
						continue
					}
					mu.Lock()
					defer mu.Unlock()
					if a.status != http.StatusOK || a.err != nil {
						t.Errorf("%d %s %v", a.status, a.body, a.err)
					}
					if answers[a.body]++; !replayed(a) {
						stored++
					}
					return
				}
				t.Error("never answered")
			})
		}
		wait.Wait()
		if stored != 1 || len(answers) != 1 {
			t.Errorf("%d stored, answers %v", stored, answers)
		}
	}
}

// TestPinNameRace: adds without a name at the same time never take a name away.
func TestPinNameRace(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	for round := range 10 {
		content := file("x", pattern(1400+round, 2000))
		var wait sync.WaitGroup
		var cid string
		for i := range 9 {
			wait.Go(func() {
				if i == 4 {
					cid = n.add(t, "pin-name=kept", content)[0]
					return
				}
				n.add(t, "", content)
			})
		}
		wait.Wait()
		n.ok(t, "pin/add?arg="+cid)
		if p := n.pins(t)[cid]; p.Name != "kept" {
			t.Errorf("round %d: %+v", round, p)
		}
	}
}
