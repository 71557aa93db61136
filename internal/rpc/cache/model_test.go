package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// version is one state of the model's chain: the block at each height, and how far it
// is final. Block ids are never used twice.
type version struct {
	blocks    []uint64
	finalized int
}

func (v version) head() int { return len(v.blocks) - 1 }

func hashOf(id uint64) string { return fmt.Sprintf(`"0x%064x"`, id) }

// answer is what a node with this chain says.
func (v version) answer(name, params string) string {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(params), &list); err != nil {
		panic(err)
	}
	switch name {
	case "eth_gasPrice":
		return fmt.Sprintf(`"0x%x"`, v.blocks[v.head()])
	case "eth_getBlockByNumber":
		return v.block(v.height(list[0]))
	case "eth_getBalance":
		if at := v.height(list[1]); at <= v.head() {
			return fmt.Sprintf(`"0x%x"`, v.blocks[at])
		}
		return "error"
	case "eth_getBlockByHash":
		at := slices.IndexFunc(v.blocks, func(id uint64) bool { return hashOf(id) == string(list[0]) })
		if at < 0 {
			return "null"
		}
		return v.block(at)
	case receipt:
		return v.receipt(string(list[0]))
	case "eth_getLogs":
		return v.logs(list[0])
	}
	panic(name)
}

func (v version) height(raw []byte) int {
	if string(raw) == `"latest"` {
		return v.head()
	}
	at, ok := number(raw)
	if !ok {
		panic(string(raw))
	}
	return int(at)
}

func (v version) block(at int) string {
	if at > v.head() {
		return "null"
	}
	return fmt.Sprintf(`{"hash":%s,"number":"0x%x"}`, hashOf(v.blocks[at]), at)
}

// receipt: the block of height n has transaction n or, where its id is odd, n-1: a
// reorganization may move a transaction to the next block, or out of the chain.
func (v version) receipt(hash string) string {
	for at, id := range v.blocks {
		if hashOf(uint64(at)-id%2) == hash {
			return fmt.Sprintf(`{"blockHash":%s,"blockNumber":"0x%x"}`, hashOf(id), at)
		}
	}
	return "null"
}

func (v version) logs(raw []byte) string {
	var filter struct{ FromBlock, ToBlock json.RawMessage }
	if err := json.Unmarshal(raw, &filter); err != nil {
		panic(err)
	}
	var found []string
	for at := v.height(filter.FromBlock); at <= min(v.height(filter.ToBlock), v.head()); at++ {
		found = append(found, hashOf(v.blocks[at]))
	}
	return "[" + strings.Join(found, ",") + "]"
}

// world is the node of the model: its chain moves on by itself, and its head is told
// some time later. It may hold calls back.
type world struct {
	mu       sync.Mutex
	versions []version
	told     int // the version that the head tells
	fork     uint64
	replaced bool // since the head was told
	lost     uint64
	anew     bool // final blocks went, since the head was told
	nextID   uint64

	hold   bool
	inside chan struct{} // a held call has come in
	resume chan bool     // lets it go on; true answers by the chain of then
}

func (w *world) now() version { return w.versions[len(w.versions)-1] }

func (w *world) Call(_ context.Context, name string, params []byte) ([]byte, error) {
	w.mu.Lock()
	v, hold := w.now(), w.hold
	w.hold = false
	w.mu.Unlock()
	if hold {
		w.inside <- struct{}{}
		if <-w.resume {
			w.mu.Lock()
			v = w.now()
			w.mu.Unlock()
		}
	}
	if text := v.answer(name, string(params)); text != "error" {
		return []byte(text), nil
	}
	return nil, &nodegate.Error{Code: nodegate.NodeFault, Msg: "header not found"}
}

func (w *world) Head(context.Context) (nodegate.Head, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.versions[w.told]
	return nodegate.Head{Number: uint64(v.head()), Finalized: uint64(v.finalized), Fork: w.fork, Lost: w.lost}, nil
}

// move makes the next version: the last `drop` blocks go, `add` come.
func (w *world) move(drop, add int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.now()
	v := version{blocks: slices.Clone(old.blocks[:len(old.blocks)-drop]), finalized: old.finalized}
	if v.head() < v.finalized {
		v.finalized, w.anew = v.head(), true
	}
	for range add {
		w.nextID++
		v.blocks = append(v.blocks, w.nextID)
	}
	w.replaced = w.replaced || drop > 0
	w.versions = append(w.versions, v)
}

// tell publishes the newest version, as the pool does: the fork with the head.
func (w *world) tell(finalized int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.now()
	v.finalized = finalized
	w.versions = append(w.versions, v)
	w.told = len(w.versions) - 1
	if w.replaced {
		w.fork++
	}
	if w.anew {
		w.lost++
	}
	w.replaced, w.anew = false, false
}

// question draws a call about blocks around the head.
func (w *world) question(t *rapid.T) (name, params string) {
	v := w.now()
	at := rapid.IntRange(max(0, v.head()-3), v.head()+2).Draw(t, "height")
	switch rapid.IntRange(0, 6).Draw(t, "question") {
	case 0:
		return "eth_getBlockByNumber", fmt.Sprintf(`["0x%x",false]`, at)
	case 1:
		return "eth_getBalance", fmt.Sprintf(`["0x0","0x%x"]`, at)
	case 2:
		return receipt, fmt.Sprintf(`[%s]`, hashOf(uint64(at)))
	case 3:
		return "eth_getLogs", fmt.Sprintf(`[{"fromBlock":"0x%x","toBlock":"0x%x"}]`, at/2, at)
	case 4:
		return "eth_gasPrice", `[]`
	case 5:
		return "eth_getBlockByHash", fmt.Sprintf(`[%s,false]`, hashOf(rapid.Uint64Range(0, w.nextID).Draw(t, "id")))
	}
	return "eth_getBalance", `["0x0","latest"]`
}

// asked is one call and what it may be answered with.
type asked struct {
	name, params string
	from         int // the version that the head told when the call began
	got          string
}

func (w *world) ask(c *Cache, q *asked) {
	result, err := c.Call(context.Background(), q.name, []byte(q.params))
	q.got = string(result)
	if err != nil {
		q.got = "error"
		if !errors.Is(err, nodegate.NodeFault) {
			q.got = err.Error()
		}
	}
}

// check: the answer is that of a chain not older than the head that had been told.
func (w *world) check(t *rapid.T, q *asked) {
	for _, v := range w.versions[q.from:] {
		if v.answer(q.name, q.params) == q.got {
			return
		}
	}
	if q.name == "eth_getBlockByHash" { // true for ever, also of a block that has gone
		for _, v := range w.versions {
			if v.answer(q.name, q.params) == q.got && q.got != "null" {
				return
			}
		}
	}
	t.Fatalf("%s %s = %s, want %s of %v (head told: %v)", q.name, q.params, q.got, w.now().answer(q.name, q.params), w.now(), w.versions[q.from])
}

// TestModel lets a chain grow, reorganize and become final, with calls in between and
// in progress meanwhile.
func TestModel(t *testing.T) {
	hits, all := 0, 0
	for range 20 {
		rapid.Check(t, func(t *rapid.T) { runModel(t, &hits, &all) })
	}
	t.Logf("%d of %d reads were hits", hits, all)
	if hits < all/20 {
		t.Errorf("only %d of %d reads were hits: the model tests nothing", hits, all)
	}
}

func runModel(t *rapid.T, hits, all *int) {
	w := &world{fork: 1, nextID: 2, inside: make(chan struct{}), resume: make(chan bool)}
	w.versions = []version{{blocks: []uint64{0, 1, 2}}}
	c := New(w, Config{Bytes: 1 << 20})
	var held *asked
	var ended chan struct{}
	land := func(t *rapid.T, afresh bool) {
		if held != nil {
			w.resume <- afresh
			<-ended
			w.check(t, held)
			held = nil
		}
	}
	read := func(t *rapid.T) {
		q := &asked{from: w.told}
		q.name, q.params = w.question(t)
		if held != nil && q.name == held.name && q.params == held.params {
			return // it would wait for the held one
		}
		var trace nodegate.Trace
		result, err := c.Call(nodegate.WithTrace(context.Background(), &trace), q.name, []byte(q.params))
		if q.got = string(result); err != nil {
			q.got = "error"
		}
		*all++
		if trace.Cache == nodegate.CacheHit {
			*hits++
		}
		w.check(t, q)
	}
	t.Repeat(map[string]func(*rapid.T){
		"read": read, "read more": read, "read yet more": read,
		"read slowly": func(t *rapid.T) {
			if held != nil {
				land(t, rapid.Bool().Draw(t, "afresh"))
			}
			q, done := &asked{from: w.told}, make(chan struct{})
			q.name, q.params = w.question(t)
			w.hold = true
			go func() { w.ask(c, q); close(done) }()
			select {
			case <-w.inside:
				held, ended = q, done
			case <-done: // from memory
				w.mu.Lock()
				w.hold = false
				w.mu.Unlock()
				w.check(t, q)
			}
		},
		"land": func(t *rapid.T) { land(t, rapid.Bool().Draw(t, "afresh")) },
		"grow": func(t *rapid.T) { w.move(0, rapid.IntRange(1, 3).Draw(t, "blocks")) },
		"reorganize": func(t *rapid.T) {
			drop := rapid.IntRange(0, min(3, w.now().head()-w.now().finalized)).Draw(t, "drop")
			w.move(drop, drop+rapid.IntRange(0, 1).Draw(t, "more"))
		},
		"begin anew": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
				w.move(rapid.IntRange(0, w.now().head()).Draw(t, "drop"), rapid.IntRange(0, 4).Draw(t, "blocks"))
			}
		},
		"tell": func(t *rapid.T) {
			v := w.now()
			w.tell(rapid.IntRange(v.finalized, max(v.finalized, v.head()-2)).Draw(t, "finalized"))
		},
	})
	land(t, true)
}
