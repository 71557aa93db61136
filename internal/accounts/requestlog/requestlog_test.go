package requestlog

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// key is a grant whose settings can be changed.
type key struct {
	*nodegate.Grant
	policy *atomic.Pointer[nodegate.Policy]
}

func newKey(account, id string) key {
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&nodegate.Policy{})
	g, _ := nodegate.NewGrant(account, id, policy)
	return key{g, policy}
}

func (k key) keepParams(keep bool) { k.keep(keep, false) }

func (k key) keep(params, replies bool) {
	k.policy.Store(&nodegate.Policy{Settings: nodegate.KeySettings{KeepParams: params, KeepResponses: replies}})
}

func answered(method string) *Entry {
	return &Entry{Network: "devnet", Method: method, Outcome: "ok", Node: "one", Cache: nodegate.CacheMiss, Level: nodegate.LevelRoots, Took: 3 * time.Millisecond, Credits: 80, Params: []byte(`["0x1"]`)}
}

func failed(method, text string) *Entry {
	return &Entry{Network: "rollup", Method: method, Outcome: nodegate.Reverted.String(), Error: text, Took: time.Millisecond, Credits: 80}
}

func methodsOf(p *Page) (list []string) {
	for _, e := range p.Entries {
		list = append(list, e.Method)
	}
	return list
}

// bytesOf counts again what a shard takes.
func bytesOf(s *shard) (bytes int) {
	for id, k := range s.keys {
		bytes += keyBytes + len(id)
		seen := map[*names]bool{}
		for _, n := range k.names {
			seen[n] = true
		}
		for _, r := range []*ring{&k.ok, &k.failed} {
			bytes += len(r.records) * recordBytes
			for i := range r.count {
				bytes += r.at(i).texts.bytes()
				seen[r.at(i).names] = true
			}
		}
		for n := range seen {
			bytes += n.bytes()
		}
	}
	return bytes
}

func TestLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(Config{})
		defer j.Close()
		k := newKey("a", "k1")
		begin := time.Now()
		for i := range 3 {
			j.Record(k.Grant, answered(fmt.Sprint("eth_m", i)))
			time.Sleep(time.Second)
			j.Record(k.Grant, failed(fmt.Sprint("eth_f", i), "execution reverted: no"))
			time.Sleep(time.Second)
		}
		p := j.Latest("a", "k1", Filter{})
		if got := methodsOf(p); !slices.Equal(got, []string{"eth_f2", "eth_m2", "eth_f1", "eth_m1", "eth_f0", "eth_m0"}) {
			t.Errorf("got %v", got)
		}
		if p.Kept != 6 || p.Passed != 6 || p.Failed != 3 || !p.Oldest.Equal(begin) || !slices.Equal(p.Networks, []string{"devnet", "rollup"}) || !slices.Equal(p.Outcomes, []string{"ok", "reverted"}) {
			t.Errorf("got %+v", p)
		}
		want := Entry{KeyID: "k1", At: begin.UTC(), Network: "devnet", Method: "eth_m0", Outcome: "ok", Node: "one", Cache: nodegate.CacheMiss, Level: nodegate.LevelRoots, Took: 3 * time.Millisecond, Credits: 80}
		if got := p.Entries[5]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := p.Entries[0]; got.Error != "execution reverted: no" || !got.Failed() {
			t.Errorf("got %+v", got)
		}
		for _, c := range []struct {
			f    Filter
			want []string
		}{
			{Filter{Outcome: Failed, Limit: 2}, []string{"eth_f2", "eth_f1"}},
			{Filter{Outcome: "ok"}, []string{"eth_m2", "eth_m1", "eth_m0"}},
			{Filter{Outcome: "reverted", Method: "eth_f1"}, []string{"eth_f1"}},
			{Filter{Network: "rollup", Outcome: "ok"}, nil},
			{Filter{Method: "eth_m1"}, []string{"eth_m1"}},
		} {
			if got := methodsOf(j.Latest("a", "k1", c.f)); !slices.Equal(got, c.want) {
				t.Errorf("%+v: got %v, want %v", c.f, got, c.want)
			}
		}
	})
}

// TestForeign: the key of another account has nothing, whoever names it.
func TestForeign(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	j.Record(newKey("a", "ka").Grant, answered("eth_call"))
	for _, c := range [][2]string{{"b", "ka"}, {"", "ka"}, {"a", "kb"}, {"*", "ka"}} {
		if p := j.Latest(c[0], c[1], Filter{}); p.Kept != 0 || len(p.Entries) != 0 {
			t.Errorf("account %q sees %+v of %q", c[0], p, c[1])
		}
	}
	if counts := j.Counts("b"); len(counts) != 0 {
		t.Errorf("b sees %v", counts)
	}
	if counts := j.Counts("a"); len(counts) != 1 || counts["ka"] != (Count{1, 0}) {
		t.Errorf("a sees %v", counts)
	}
}

// TestHour: an entry is shown for an hour, and its memory is free soon after.
func TestHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(Config{})
		defer j.Close()
		k := newKey("a", "k")
		j.Record(k.Grant, failed("eth_call", "a text"))
		time.Sleep(Kept - time.Second)
		j.Record(k.Grant, answered("eth_call"))
		if p := j.Latest("a", "k", Filter{}); p.Kept != 2 || p.Failed != 1 {
			t.Errorf("before the hour: %+v", p)
		}
		time.Sleep(2 * time.Second)
		if p := j.Latest("a", "k", Filter{}); p.Kept != 1 || p.Failed != 0 {
			t.Errorf("after the hour: %+v", p)
		}
		if c := j.Counts("a")["k"]; c != (Count{1, 0}) {
			t.Errorf("after the hour: %+v", c)
		}
		time.Sleep(Kept + sweepEvery)
		for i := range j.shards {
			s := &j.shards[i]
			s.mu.Lock()
			if s.bytes != 0 || len(s.keys) != 0 || s.newest != nil || s.oldest != nil {
				t.Errorf("%d bytes and %d keys are left", s.bytes, len(s.keys))
			}
			s.mu.Unlock()
		}
	})
}

// TestFailuresStay: a key that is busy with good requests keeps its failed ones.
func TestFailuresStay(t *testing.T) {
	j := New(Config{Entries: 100})
	defer j.Close()
	k := newKey("a", "k")
	j.Record(k.Grant, failed("eth_call", "the one"))
	for range 10_000 {
		j.Record(k.Grant, answered("eth_call"))
	}
	p := j.Latest("a", "k", Filter{Outcome: Failed})
	if len(p.Entries) != 1 || p.Entries[0].Error != "the one" || p.Kept != 51 {
		t.Errorf("got %+v", p)
	}
}

// TestParams: parameters are there only while the owner wants them, also without
// another request.
func TestParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(Config{})
		defer j.Close()
		k := newKey("a", "k")
		params := func() (list []string) {
			for _, e := range j.Latest("a", "k", Filter{}).Entries {
				list = append(list, string(e.Params))
			}
			return list
		}
		check := func(what string, want ...string) {
			t.Helper()
			if got := params(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		j.Record(k.Grant, answered("eth_call"))
		check("off", "")
		k.keepParams(true)
		check("those before it was on", "")
		time.Sleep(time.Second)
		j.Record(k.Grant, answered("eth_call"))
		check("on", `["0x1"]`, "")
		k.keepParams(false)
		check("off again", "", "")
		k.keepParams(true)
		check("and on: what was dropped does not come back", "", "")
		j.Record(k.Grant, answered("eth_call"))
		k.keepParams(false)
		j.Record(k.Grant, answered("eth_call"))
		k.keepParams(true)
		check("off for one request", "", "", "", "")
		j.Record(k.Grant, answered("eth_call"))
		k.keepParams(false)
		time.Sleep(sweepEvery + time.Second) // nobody asks and nothing is recorded
		k.keepParams(true)
		check("off for a minute", "", "", "", "", "")
	})
}

// TestTextsAreCut: long texts are shortened between characters.
func TestTextsAreCut(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	k := newKey("a", "k")
	k.keepParams(true)
	e := failed(strings.Repeat("m", 300), strings.Repeat("ü", maxError))
	e.Params = make([]byte, maxParams+1)
	j.Record(k.Grant, e)
	got := j.Latest("a", "k", Filter{}).Entries[0]
	if len(got.Error) != maxError || len(got.Params) != maxParams || !got.Cut || len(got.Method) != maxName {
		t.Errorf("%d, %d, %v, %d", len(got.Error), len(got.Params), got.Cut, len(got.Method))
	}
	e = failed("eth_call", "x"+strings.Repeat("ü", maxError))
	j.Record(k.Grant, e)
	if got := j.Latest("a", "k", Filter{Method: "eth_call"}).Entries[0].Error; got != "x"+strings.Repeat("ü", maxError/2-1) {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-4:])
	}
}

// TestBounds: whatever is recorded, the memory stays within its bound and is counted
// right, each ring within its limit, and each key has its own entries, newest first.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit, bytes := rapid.IntRange(1, 60).Draw(rt, "entries"), rapid.Int64Range(0, 20_000).Draw(rt, "bytes")*shards
		j := New(Config{Entries: limit, Bytes: bytes + 1})
		defer j.Close()
		keys := make([]key, 12)
		for i := range keys {
			keys[i] = newKey(fmt.Sprint("account", i%2), fmt.Sprint("key", i))
		}
		begin := time.Now()
		for i := range rapid.IntRange(1, 300).Draw(rt, "requests") {
			k := keys[rapid.IntRange(0, len(keys)-1).Draw(rt, "key")]
			e := answered(fmt.Sprint("eth_m", rapid.IntRange(0, 40).Draw(rt, "method")))
			if rapid.Bool().Draw(rt, "failed") {
				e = failed(e.Method, strings.Repeat("x", rapid.IntRange(0, 700).Draw(rt, "text")))
			}
			e.Params = make([]byte, rapid.IntRange(0, 1500).Draw(rt, "params"))
			e.Reply = make([]byte, rapid.IntRange(0, 3000).Draw(rt, "reply"))
			e.At = begin.Add(time.Duration(i))
			e.Node = k.KeyID
			if rapid.IntRange(0, 9).Draw(rt, "change") == 0 {
				k.keep(rapid.Bool().Draw(rt, "keep params"), rapid.Bool().Draw(rt, "keep replies"))
			}
			if rapid.IntRange(0, 40).Draw(rt, "sweep") == 0 {
				j.sweep(e.At.Add(Kept - time.Duration(rapid.IntRange(0, 20).Draw(rt, "age"))))
			}
			j.Record(k.Grant, e)
		}
		checkBounds(rt, j, keys, limit)
	})
}

func checkBounds(rt *rapid.T, j *Log, keys []key, limit int) {
	for i := range j.shards {
		s := &j.shards[i]
		if got := bytesOf(s); got != s.bytes || got > s.room {
			rt.Fatalf("%d bytes, counted as %d, of %d", got, s.bytes, s.room)
		}
		n := 0
		for k := s.newest; k != nil; k = k.older {
			n++
		}
		if n != len(s.keys) {
			rt.Fatalf("%d keys in the list and %d in the map", n, len(s.keys))
		}
	}
	for _, k := range keys {
		p := j.Latest(k.AccountID, k.KeyID, Filter{})
		if p.Kept > max(limit, 2) {
			rt.Fatalf("%d entries of one key, at most %d", p.Kept, limit)
		}
		for i, e := range p.Entries {
			if e.Node != k.KeyID || i > 0 && e.At.After(p.Entries[i-1].At) || len(e.Params) > 0 && wanted(k.Grant)&params == 0 || len(e.Reply) > 0 && wanted(k.Grant)&reply == 0 {
				rt.Fatalf("entry %d of %s is %+v", i, k.KeyID, e)
			}
		}
	}
}

// TestManyWriters is for the race detector.
func TestManyWriters(t *testing.T) {
	j := New(Config{Entries: 50, Bytes: 200_000})
	defer j.Close()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 2000 {
				k := newKey("a", fmt.Sprint("k", i%40))
				k.keepParams(i%3 == 0)
				j.Record(k.Grant, answered("eth_call"))
				j.Record(k.Grant, failed("eth_call", "no"))
				if i%50 == 0 {
					j.Latest("a", fmt.Sprint("k", w), Filter{})
					j.Counts("a")
					j.sweep(time.Now())
				}
			}
		})
	}
	all.Wait()
	checkShards(t, j)
}

func checkShards(t *testing.T, j *Log) {
	t.Helper()
	for i := range j.shards {
		if s := &j.shards[i]; bytesOf(s) != s.bytes || s.bytes > s.room {
			t.Errorf("%d bytes, counted as %d, of %d", bytesOf(s), s.bytes, s.room)
		}
	}
}

// TestNil: without a journal nothing is recorded.
func TestNil(t *testing.T) {
	var j *Log
	j.Record(newKey("a", "k").Grant, answered("eth_call"))
	if p := j.Latest("a", "k", Filter{}); p.Kept != 0 || len(j.Counts("a")) != 0 {
		t.Errorf("got %+v", p)
	}
	j.Close()
}

// TestNoAllocation: the normal case costs the garbage collector nothing.
func TestNoAllocation(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	k, e := newKey("a", "k"), answered("eth_call")
	bad := failed("eth_call", "execution reverted: no")
	for range 1000 {
		j.Record(k.Grant, e)
		j.Record(k.Grant, bad)
	}
	if n := testing.AllocsPerRun(1000, func() { j.Record(k.Grant, e); j.Record(k.Grant, bad) }); n != 0 {
		t.Errorf("%v allocations for two requests, want none", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	for _, keys := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint(keys, " keys"), func(b *testing.B) {
			j := New(Config{})
			defer j.Close()
			grants := make([]key, keys)
			for i := range grants {
				grants[i] = newKey(fmt.Sprint("account", i%100), fmt.Sprint("YR3AYN7QPGXNBP5ZKP", i))
			}
			e, i := answered("eth_call"), 0
			e.At = time.Now()
			b.ReportAllocs()
			for b.Loop() {
				j.Record(grants[i%keys].Grant, e)
				i++
			}
		})
	}
}
