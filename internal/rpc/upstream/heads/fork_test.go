package heads

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// quiet is a tracker of nodes that report only what a test has them report.
func quiet(count int) (*Tracker, []*Node) {
	tr := New(Config{Log: slog.New(slog.DiscardHandler), Changed: func() {}, Reset: func() {}})
	nodes := make([]*Node, count)
	for i := range nodes {
		nodes[i] = &Node{Name: string(rune('a' + i)), Aside: func() bool { return false }, SetWhy: func(string) {}}
		nodes[i].Checked.Store(true)
	}
	tr.Follow(nodes)
	tr.Settled()
	return tr, nodes
}

// blockHash names a block of a branch.
func blockHash(branch string, number uint64) string {
	return fmt.Sprintf(`"0x%s%062x"`, branch, number)
}

// reportBlock has a node report a block; a branch's name is two hex digits.
func reportBlock(tr *Tracker, n *Node, branch string, number uint64, parent string) {
	tr.Report(n, Header{Number: number, Time: uint64(time.Now().Unix()), Hash: blockHash(branch, number), Parent: blockHash(parent, number-1)})
}

// TestForkCounts: what counts as another version of the chain, step by step.
func TestForkCounts(t *testing.T) {
	type step struct {
		node   int
		branch string
		number uint64
		parent string
		want   uint64 // the fork after it
	}
	for name, steps := range map[string][]step{
		"a plain chain":                  {{0, "aa", 100, "aa", 1}, {0, "aa", 101, "aa", 1}, {0, "aa", 102, "aa", 1}},
		"the same again":                 {{0, "aa", 100, "aa", 1}, {0, "aa", 100, "aa", 1}},
		"an unproven gap":                {{0, "aa", 100, "aa", 1}, {0, "aa", 103, "aa", 2}, {0, "aa", 104, "aa", 2}},
		"a gap that another node proves": {{0, "aa", 100, "aa", 1}, {1, "aa", 100, "aa", 1}, {1, "aa", 101, "aa", 1}, {1, "aa", 102, "aa", 1}, {0, "aa", 102, "aa", 1}},
		"a late node":                    {{0, "aa", 100, "aa", 1}, {0, "aa", 101, "aa", 1}, {1, "aa", 99, "aa", 1}, {1, "aa", 100, "aa", 1}, {1, "aa", 101, "aa", 1}},
		"a node that goes back":          {{0, "aa", 100, "aa", 1}, {0, "aa", 101, "aa", 1}, {0, "aa", 100, "aa", 1}, {0, "aa", 101, "aa", 1}},
		"another block of the height":    {{0, "aa", 100, "aa", 1}, {0, "bb", 100, "aa", 2}, {0, "bb", 101, "bb", 2}},
		"another parent":                 {{0, "aa", 100, "aa", 1}, {0, "bb", 101, "bb", 2}, {0, "bb", 102, "bb", 2}},
		"a shorter branch":               {{0, "aa", 100, "aa", 1}, {0, "aa", 101, "aa", 1}, {0, "bb", 100, "bb", 2}, {0, "bb", 101, "bb", 3}, {0, "bb", 102, "bb", 3}},
		"another node says otherwise":    {{0, "aa", 100, "aa", 1}, {1, "bb", 100, "aa", 2}, {0, "bb", 101, "bb", 3}},
		// Both are known to differ; which of them goes on is what clients see next.
		"the other one goes on":           {{0, "aa", 100, "aa", 1}, {1, "bb", 100, "aa", 2}, {1, "bb", 101, "bb", 3}},
		"a new node far below":            {{0, "aa", 300, "aa", 1}, {1, "aa", 100, "aa", 2}, {1, "aa", 101, "aa", 2}},
		"a node that came to the new one": {{0, "aa", 100, "aa", 1}, {1, "aa", 100, "aa", 1}, {0, "bb", 101, "bb", 2}, {1, "bb", 101, "bb", 3}},
	} {
		t.Run(name, func(t *testing.T) {
			tr, nodes := quiet(2)
			for i, s := range steps {
				reportBlock(tr, nodes[s.node], s.branch, s.number, s.parent)
				if got := tr.told.Load().Fork; got != s.want {
					t.Fatalf("step %d: fork %d, want %d", i+1, got, s.want)
				}
			}
		})
	}
}

// TestForkWhenAnotherIsFollowed: two nodes differ, and the one that clients saw goes.
func TestForkWhenAnotherIsFollowed(t *testing.T) {
	tr, nodes := quiet(2)
	reportBlock(tr, nodes[0], "aa", 100, "aa")
	reportBlock(tr, nodes[1], "bb", 100, "aa")
	before := tr.told.Load().Fork
	nodes[0].Syncing.Store(true)
	tr.Reconsider()
	if after := tr.told.Load().Fork; after <= before {
		t.Errorf("fork %d, then %d", before, after)
	}
}

// TestAstray: a node that stays behind on an orphaned branch is known to, until it
// follows.
func TestAstray(t *testing.T) {
	type step struct {
		node   int
		branch string
		number uint64
		parent string
		want   uint64 // from where the second node, b, is astray
	}
	for name, steps := range map[string][]step{
		"on the same branch":               {{1, "aa", 100, "aa", 0}, {0, "aa", 100, "aa", 0}, {0, "aa", 101, "aa", 0}},
		"two at the top":                   {{0, "aa", 100, "aa", 0}, {1, "bb", 100, "aa", 0}},
		"its newest is orphaned":           {{1, "aa", 100, "aa", 0}, {0, "bb", 100, "aa", 100}, {0, "bb", 101, "bb", 100}, {0, "bb", 102, "bb", 100}, {1, "bb", 102, "bb", 0}},
		"it follows one by one":            {{1, "aa", 100, "aa", 0}, {0, "bb", 100, "aa", 100}, {0, "bb", 101, "bb", 100}, {1, "bb", 100, "aa", 0}, {1, "bb", 101, "bb", 0}},
		"it goes on there":                 {{1, "aa", 100, "aa", 0}, {0, "bb", 100, "aa", 100}, {0, "bb", 101, "bb", 100}, {0, "bb", 102, "bb", 100}, {1, "aa", 101, "aa", 91}},
		"it overtakes the others":          {{1, "aa", 100, "aa", 0}, {0, "bb", 100, "aa", 100}, {0, "bb", 101, "bb", 100}, {1, "aa", 102, "aa", 0}},
		"nothing to compare it with":       {{1, "aa", 100, "aa", 0}, {0, "bb", 103, "bb", 0}, {0, "bb", 104, "bb", 0}},
		"late, and of the right branch":    {{0, "aa", 100, "aa", 0}, {0, "aa", 101, "aa", 0}, {1, "aa", 100, "aa", 0}},
		"late, and of the wrong branch":    {{0, "aa", 100, "aa", 0}, {0, "aa", 101, "aa", 0}, {0, "aa", 102, "aa", 0}, {1, "bb", 101, "bb", 91}},
		"late, and only just of the wrong": {{0, "aa", 100, "aa", 0}, {0, "aa", 101, "aa", 0}, {0, "aa", 102, "aa", 0}, {1, "bb", 101, "aa", 101}},
	} {
		t.Run(name, func(t *testing.T) {
			tr, nodes := quiet(2)
			for _, n := range nodes {
				tr.ReportFinal(n, 95, Place{Number: 90}, Place{})
			}
			for i, s := range steps {
				reportBlock(tr, nodes[s.node], s.branch, s.number, s.parent)
				if got := nodes[1].Astray.Load(); got != s.want {
					t.Fatalf("step %d: astray from %d, want %d", i+1, got, s.want)
				}
				if nodes[0].Astray.Load() != 0 && name != "it overtakes the others" {
					t.Fatalf("step %d: the other one is astray", i+1)
				}
			}
		})
	}
}

// TestForkWithoutLead: a node that syncs is not followed, but it may be all there is,
// and its answers change.
func TestForkWithoutLead(t *testing.T) {
	tr, nodes := quiet(1)
	reportBlock(tr, nodes[0], "aa", 100, "aa")
	nodes[0].Syncing.Store(true)
	reportBlock(tr, nodes[0], "bb", 100, "bb")
	if head := tr.told.Load(); head.Fork != 2 || head.Number != 100 {
		t.Errorf("%+v", head)
	}
}

// TestForkOfSyncing: a node that catches up far below what is final costs no fork.
func TestForkOfSyncing(t *testing.T) {
	tr, nodes := quiet(2)
	reportBlock(tr, nodes[0], "aa", 1000, "aa")
	reportBlock(tr, nodes[1], "aa", 10, "aa")
	tr.ReportFinal(nodes[0], 950, Place{Number: 900}, Place{})
	before := tr.told.Load().Fork
	for n := uint64(60); n < 900; n += 50 {
		reportBlock(tr, nodes[1], "aa", n, "aa")
	}
	if after := tr.told.Load().Fork; after != before {
		t.Errorf("fork %d, then %d", before, after)
	}
}

// TestForkAfterShared: a block that others told of and that comes without a known
// parent is another version; one with a known parent is progress.
func TestForkAfterShared(t *testing.T) {
	for _, c := range []struct{ number, want uint64 }{{101, 1}, {102, 2}} {
		tr, nodes := quiet(1)
		reportBlock(tr, nodes[0], "aa", 100, "aa")
		tr.learnShared(102)
		if head, ok := tr.Head(t.Context()); !ok || head.Number != 102 || head.Fork != 1 {
			t.Fatalf("%+v, %v", head, ok)
		}
		reportBlock(tr, nodes[0], "aa", c.number, "aa")
		if head, _ := tr.Head(t.Context()); head.Fork != c.want {
			t.Errorf("block %d: fork %d, want %d", c.number, head.Fork, c.want)
		}
	}
}

// modelNode is a node of the model: its chain from block 0 on, by block ids.
type modelNode struct {
	node  *Node
	chain []uint64
}

func (m *modelNode) head() uint64 { return uint64(len(m.chain) - 1) }

func (m *modelNode) header() Header {
	parent := uint64(0)
	if m.head() > 0 {
		parent = m.chain[m.head()-1]
	}
	token := func(id uint64) string { return fmt.Sprintf(`"0x%064x"`, id) }
	return Header{Number: m.head(), Time: uint64(time.Now().Unix()), Hash: token(m.chain[m.head()]), Parent: token(parent)}
}

// keptAnswer is what a cache keeps: which block a node had at a height.
type keptAnswer struct {
	by        *modelNode
	height    uint64
	id, fork  uint64
	confirmed bool // clients were shown this very block
}

// forkModel is a network whose nodes reorganize, fall behind and catch up.
type forkModel struct {
	tracker *Tracker
	nodes   []*modelNode
	ids     uint64
	shown   []uint64 // the chain whose head clients were shown last
	kept    []keptAnswer
}

func newForkModel(t *rapid.T) *forkModel {
	tr, nodes := quiet(rapid.IntRange(1, 4).Draw(t, "nodes"))
	m := &forkModel{tracker: tr, ids: 10}
	chain := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, n := range nodes {
		m.nodes = append(m.nodes, &modelNode{n, slices.Clone(chain)})
	}
	m.report(m.nodes[0])
	return m
}

// report tells the tracker of a node's head, and notes what clients see then.
func (m *forkModel) report(n *modelNode) {
	m.tracker.Report(n.node, n.header())
	m.look()
}

// look notes what clients see.
func (m *forkModel) look() {
	h := m.tracker
	h.mu.Lock()
	defer h.mu.Unlock()
	var nodes []*Node
	for _, n := range m.nodes {
		if n.node.claim.made {
			nodes = append(nodes, n.node)
		}
	}
	top := m.tracker.top(nodes)
	if i := slices.IndexFunc(m.nodes, func(n *modelNode) bool { return n.node == top }); i >= 0 && top.claim.Number == h.told.Load().Number {
		m.shown = slices.Clone(m.nodes[i].chain)
	}
}

// step lets one thing happen.
func (m *forkModel) step(t *rapid.T) {
	n := m.nodes[rapid.IntRange(0, len(m.nodes)-1).Draw(t, "which")]
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0: // a reorganization, to a shorter, equal or longer chain
		depth := rapid.IntRange(1, 5).Draw(t, "depth")
		n.chain = n.chain[:max(len(n.chain)-depth, 2)]
		m.mine(n, rapid.IntRange(0, 6).Draw(t, "new"))
		m.report(n)
	case 1: // takes over what another node has, all of it or a part
		from := m.nodes[rapid.IntRange(0, len(m.nodes)-1).Draw(t, "from")]
		n.chain = slices.Clone(from.chain[:len(from.chain)-rapid.IntRange(0, min(4, len(from.chain)-2)).Draw(t, "late")])
		m.report(n)
	case 2: // no longer followed, or again
		n.node.Syncing.Store(!n.node.Syncing.Load())
		m.tracker.Reconsider()
		m.look()
	case 3:
		m.ask(t, n)
	default:
		m.mine(n, rapid.IntRange(1, 3).Draw(t, "new"))
		m.report(n)
	}
}

func (m *forkModel) mine(n *modelNode, count int) {
	for range count {
		m.ids++
		n.chain = append(n.chain, m.ids)
	}
}

// ask keeps an answer of a node under the fork of the moment.
func (m *forkModel) ask(t *rapid.T, n *modelNode) {
	head := m.tracker.told.Load()
	if !n.node.claim.made {
		return
	}
	height := rapid.Uint64Range(0, min(n.head(), head.Number)).Draw(t, "height")
	m.kept = append(m.kept, keptAnswer{
		by: n, height: height, id: n.chain[height], fork: head.Fork,
		confirmed: height < uint64(len(m.shown)) && m.shown[height] == n.chain[height],
	})
}

// check: under an unchanged fork the node that gave an answer still gives it, and an
// answer of the chain that clients were shown is of the chain that they are shown now.
func (m *forkModel) check(t *rapid.T, before nodegate.Head) {
	head := *m.tracker.told.Load()
	if head.Fork < before.Fork || head.Number < before.Number {
		t.Fatalf("%+v after %+v", head, before)
	}
	m.kept = slices.DeleteFunc(m.kept, func(k keptAnswer) bool { return k.fork != head.Fork })
	for _, k := range m.kept {
		if k.height < uint64(len(k.by.chain)) && k.by.chain[k.height] != k.id {
			t.Fatalf("node %s has changed block %d under fork %d", k.by.node.Name, k.height, k.fork)
		}
		if k.confirmed && k.height < uint64(len(m.shown)) && m.shown[k.height] != k.id {
			t.Fatalf("block %d was replaced for clients under fork %d", k.height, k.fork)
		}
	}
}

// TestForkCoversEveryChange: whatever nodes do, no answer outlives its fork.
func TestForkCoversEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newForkModel(t)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			before := *m.tracker.told.Load()
			m.step(t)
			m.check(t, before)
		}
	})
}

// TestForkSparesProgress: while one node reports every block of a chain that does not
// reorganize, no lateness and no gap of the others counts.
func TestForkSparesProgress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newForkModel(t)
		for _, n := range m.nodes {
			m.report(n)
		}
		lead := m.nodes[0]
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "new") {
				m.mine(lead, 1)
				m.report(lead)
				continue
			}
			n := m.nodes[rapid.IntRange(0, len(m.nodes)-1).Draw(t, "which")]
			late := rapid.IntRange(0, min(100, len(lead.chain)-10)).Draw(t, "late")
			n.chain = slices.Clone(lead.chain[:max(len(lead.chain)-late, len(n.chain))])
			m.report(n)
		}
		if fork := m.tracker.told.Load().Fork; fork != 1 {
			t.Fatalf("fork %d", fork)
		}
	})
}
