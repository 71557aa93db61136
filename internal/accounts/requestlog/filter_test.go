package requestlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestFilter: every part of a filter selects what it says, alone and together with others.
func TestFilter(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	begin := time.Now().Add(-time.Minute)
	one, two, one1 := newKey("a", "k1"), newKey("a", "k2"), 1
	for i, e := range []Entry{
		{ID: "f00d-1", Method: "eth_getLogs", Outcome: "timeout", Number: -32002, Error: "Request timed out", Took: 30 * time.Millisecond},
		{ID: "f00d-1", Place: 1, Method: "eth_call", Outcome: "ok", Node: "Alpha", Took: 5 * time.Millisecond},
		{ID: "f00d-2", Method: "eth_chainId", Outcome: "ok", Took: time.Millisecond},
		{ID: "f00d-3", Method: "eth_call", Outcome: "reverted", Number: 3, Error: "execution reverted"},
	} {
		e.At, e.Network = begin.Add(time.Duration(i)*time.Second), fmt.Sprint("net", i%2)
		k := one
		if i == 3 {
			k = two
		}
		j.Record(k.Grant, &e)
	}
	j.Record(newKey("b", "k9").Grant, &Entry{ID: "f00d-9", Method: "eth_call", Outcome: "ok", At: begin})
	for _, c := range []struct {
		key  string
		f    Filter
		want []string
	}{
		{"", Filter{}, []string{"f00d-3.0", "f00d-2.0", "f00d-1.1", "f00d-1.0"}},
		{"k1", Filter{}, []string{"f00d-2.0", "f00d-1.1", "f00d-1.0"}},
		{"", Filter{Number: -32002}, []string{"f00d-1.0"}},
		{"", Filter{AtLeast: 5 * time.Millisecond}, []string{"f00d-1.1", "f00d-1.0"}},
		{"", Filter{From: begin.Add(time.Second), To: begin.Add(3 * time.Second)}, []string{"f00d-2.0", "f00d-1.1"}},
		{"", Filter{ID: "f00d-1"}, []string{"f00d-1.1", "f00d-1.0"}},
		{"", Filter{ID: "f00d-1", Place: new(int)}, []string{"f00d-1.0"}},
		{"", Filter{ID: "f00d-2", Place: &one1}, nil},
		{"", Filter{ID: "f00d-1", Place: &one1}, []string{"f00d-1.1"}},
		{"", Filter{ID: "f00d-9"}, nil},
		{"", Filter{ID: "f00d"}, nil},
		{"", Filter{Search: "TIMED OUT"}, []string{"f00d-1.0"}},
		{"", Filter{Search: "getlogs"}, []string{"f00d-1.0"}},
		{"", Filter{Search: "alpha"}, []string{"f00d-1.1"}},
		{"", Filter{Search: "d-3"}, []string{"f00d-3.0"}},
		{"", Filter{Search: "eth_call", Outcome: "ok"}, []string{"f00d-1.1"}},
		{"", Filter{Outcome: Failed, Network: "net1"}, []string{"f00d-3.0"}},
		{"", Filter{Limit: 1}, []string{"f00d-3.0"}},
	} {
		var got []string
		p := j.Latest("a", c.key, c.f)
		for _, e := range p.Entries {
			got = append(got, fmt.Sprintf("%s.%d", e.ID, e.Place))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %+v: got %v, want %v", c.key, c.f, got, c.want)
		}
	}
	if p := j.Latest("a", "", Filter{Limit: 1}); p.Kept != 4 || p.Passed != 4 || p.Failed != 2 || !p.Oldest.Equal(begin) || !slices.Equal(p.Methods, []string{"eth_call", "eth_chainId", "eth_getLogs"}) {
		t.Errorf("got %+v", p)
	}
}

// TestManyKeys: a page over all keys of an account has the newest entries of all of them.
func TestManyKeys(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	begin := time.Now().Add(-time.Minute)
	const keys, each = 40, 60
	for i := range keys {
		k := newKey("a", fmt.Sprint("k", i))
		for n := range each {
			j.Record(k.Grant, &Entry{ID: fmt.Sprint(n*keys + i), At: begin.Add(time.Duration(n*keys+i) * time.Millisecond), Method: "eth_call", Outcome: "ok"})
		}
	}
	p := j.Latest("a", "", Filter{Limit: 50})
	if p.Passed != keys*each || len(p.Entries) != 50 {
		t.Fatalf("%d pass, %d on the page", p.Passed, len(p.Entries))
	}
	for i, e := range p.Entries {
		n := keys*each - 1 - i
		if want := fmt.Sprint("k", n%keys); e.ID != fmt.Sprint(n) || e.KeyID != want {
			t.Fatalf("entry %d is %s of %s, want %d of %s", i, e.ID, e.KeyID, n, want)
		}
	}
}

// TestReplies: responses are there only while the owner wants them, whatever holds for
// parameters.
func TestReplies(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	k := newKey("a", "k")
	send := func() *Entry {
		e := answered("eth_call")
		e.Reply = make([]byte, maxReply+1)
		j.Record(k.Grant, e)
		return &j.Latest("a", "k", Filter{Limit: 1}).Entries[0]
	}
	for _, c := range []struct{ params, replies bool }{{false, false}, {true, false}, {false, true}, {true, true}, {false, true}, {false, false}} {
		k.keep(c.params, c.replies)
		send()
		for _, e := range j.Latest("a", "k", Filter{}).Entries {
			if len(e.Params) > 0 && !c.params || len(e.Reply) > 0 && !c.replies {
				t.Errorf("%+v: kept %d bytes of parameters and %d of the response", c, len(e.Params), len(e.Reply))
			}
		}
		e := j.Latest("a", "k", Filter{Limit: 1}).Entries[0]
		if (len(e.Params) > 0) != c.params || (len(e.Reply) == maxReply && e.ReplyCut) != c.replies {
			t.Errorf("%+v: kept %d bytes of parameters and %d of the response", c, len(e.Params), len(e.Reply))
		}
		if brief := j.Latest("a", "k", Filter{Limit: 1, Brief: true}).Entries[0]; brief.Params != nil || brief.Reply != nil {
			t.Errorf("%+v: a brief entry has texts", c)
		}
	}
	checkShards(t, j)
}

// TestWholeEntry: what is recorded comes back as it was.
func TestWholeEntry(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	k := newKey("a", "k")
	k.keep(true, true)
	e := Entry{
		KeyID: "k", ID: "0123abcd-zzzzzzzzzzzzz", Place: 7, At: time.Now().UTC().Round(0), Network: "main", Method: "eth_call", Outcome: "node fault", Error: "no", Number: -32015, Node: "one",
		Cache: nodegate.CacheMiss, Level: nodegate.LevelRoots, Took: 9 * time.Millisecond, Waited: 8 * time.Millisecond, Credits: 80, Params: []byte("[]"), Reply: []byte("{}"),
	}
	j.Record(k.Grant, &e)
	if got := j.Latest("a", "", Filter{}).Entries[0]; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", e) {
		t.Errorf("got  %+v\nwant %+v", got, e)
	}
}

// TestRecordWhileRead: what somebody looks at is a copy. Requests of the same key are recorded
// meanwhile, and don't change it.
func TestRecordWhileRead(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	k := newKey("a", "k")
	k.keep(true, true)
	record := func(error string) {
		e := answered("eth_call")
		e.Outcome, e.Error, e.Params = "timeout", error, []byte(error)
		j.Record(k.Grant, e)
	}
	for range 2 * defaultEntries {
		record("before")
	}
	c := newCollector(&Filter{}, 0)
	seen := j.shardOf("k").copyOf("a", "k", c)
	for range 2 * defaultEntries {
		record("after!")
	}
	for i := range seen {
		c.add("k", &seen[i].record, seen[i].failed)
	}
	p := c.finish()
	if len(p.Entries) != defaultEntries/2 {
		t.Fatalf("%d entries", len(p.Entries))
	}
	for _, e := range p.Entries {
		if e.Error != "before" || string(e.Params) != "before" {
			t.Fatalf("%+v", e)
		}
	}
}

// TestLongID: a client's id is cut, and found by the whole of it.
func TestLongID(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	const id = "7d444840-9dc0-11d1-b245-5ffdce74fad2"
	for _, e := range []Entry{{ID: id, Method: "eth_call", Outcome: "ok"}, {ID: "f00d-1", Method: "eth_call", Outcome: "ok"}} {
		j.Record(newKey("a", "k1").Grant, &e)
	}
	for search, want := range map[string]int{id: 1, strings.ToUpper(id): 1, id[:30]: 1, id[:8]: 1, "8" + id: 0, "eth_call": 2} {
		if p := j.Latest("a", "", Filter{Search: search}); len(p.Entries) != want {
			t.Errorf("%q finds %d requests, want %d", search, len(p.Entries), want)
		}
	}
}
