package heads

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

func TestBelieved(t *testing.T) {
	const now = 1_000_000_000
	fresh := func(n uint64) point { return point{n, now - 5} }
	for name, c := range map[string]struct {
		base   point
		known  bool
		claims []point
		want   []bool
	}{
		"alone":                     {claims: []point{fresh(100)}, want: []bool{true}},
		"a liar of three":           {claims: []point{fresh(1_000_100), fresh(100), fresh(101)}, want: []bool{false, true, true}},
		"a liar of two":             {claims: []point{fresh(100), fresh(1_000_100)}, want: []bool{true, false}},
		"a stalled one of two":      {claims: []point{{100, now - 86_400*30}, fresh(200_000)}, want: []bool{true, true}},
		"a liar with a wild clock":  {claims: []point{fresh(100), {1_000_100, 1 << 60}}, want: []bool{true, false}},
		"alone and jumping":         {base: fresh(100), known: true, claims: []point{fresh(1_000_100)}, want: []bool{false}},
		"a burst that two confirm":  {base: fresh(100), known: true, claims: []point{fresh(5000), fresh(5001), fresh(100)}, want: []bool{true, true, true}},
		"all back after a long gap": {base: point{100, now - 100_000}, known: true, claims: []point{fresh(8000)}, want: []bool{true}},
		"one step":                  {base: fresh(100), known: true, claims: []point{fresh(101), fresh(100)}, want: []bool{true, true}},
	} {
		if got := believed(c.base, c.known, c.claims, now); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestLiarNeverBelieved: a head a million blocks beyond honest ones is not believed,
// whatever the honest ones do.
func TestLiarNeverBelieved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const now = 1_000_000_000
		head := rapid.Uint64Range(1, 1<<40).Draw(t, "head")
		claims := []point{{head + 1_000_000, rapid.Uint64().Draw(t, "liar's clock")}}
		for range rapid.IntRange(1, 4).Draw(t, "honest") {
			lag := rapid.Uint64Range(0, min(head, 50)).Draw(t, "lag")
			claims = append(claims, point{head - lag, now - lag*2 - 1})
		}
		got := believed(point{}, false, claims, now)
		if got[0] || slices.Contains(got[1:], false) {
			t.Fatalf("%v of %v", got, claims)
		}
	})
}

// TestHeadIsMonotone: whatever nodes report, go back to, lose and regain, in whatever
// order, what clients see only rises.
func TestHeadIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, nodes := quiet(rapid.IntRange(1, 4).Draw(t, "nodes"))
		if len(nodes) == 4 {
			nodes[3].Rank = 1
		}
		last, top := uint64(0), uint64(1000)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			n := nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "which")]
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				n.Checked.Store(!n.Checked.Load())
				tr.Reconsider()
			case 1:
				n.Syncing.Store(!n.Syncing.Load())
			case 2:
				tr.Report(n, Header{Number: top + 1_000_000, Time: uint64(time.Now().Unix()), Hash: "liar"})
			default:
				top += rapid.Uint64Range(0, 3).Draw(t, "new")
				at := top - rapid.Uint64Range(0, 20).Draw(t, "behind")
				tr.Report(n, Header{Number: at, Time: uint64(time.Now().Unix()), Hash: hexjson.Number(at)})
			}
			head := tr.Number()
			if head < last {
				t.Fatalf("the head went from %d to %d", last, head)
			}
			last = head
		}
	})
}

// TestOldHead: a head that no node reports any more is told for the set time. What it was is
// known after that too.
func TestOldHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New(Config{Log: slog.New(slog.DiscardHandler), Changed: func() {}, Reset: func() {}, MaxAge: time.Minute})
		n := &Node{Name: "a", Aside: func() bool { return false }, SetWhy: func(string) {}}
		n.Checked.Store(true)
		tr.Follow([]*Node{n})
		if _, _, ok := tr.Last(); ok {
			t.Error("a head is known before one was reported")
		}
		tr.Report(n, Header{Number: 7, Time: uint64(time.Now().Unix()), Hash: "seven"})
		tr.Settled()
		time.Sleep(time.Minute)
		if head, ok := tr.Head(t.Context()); !ok || head.Number != 7 {
			t.Errorf("after a minute: %v, %v", head, ok)
		}
		time.Sleep(time.Second)
		if _, ok := tr.Head(t.Context()); ok {
			t.Error("an old head is told")
		}
		if head, age, ok := tr.Last(); head.Number != 7 || age != 61*time.Second || !ok {
			t.Errorf("the last head: %v, %v, %v", head, age, ok)
		}
	})
}
