package pool

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// quietPool is a pool of nodes that report only what a test has them report.
func quietPool(count int) (*Pool, []*node) {
	p := assemble(Config{}.withDefaults(), dialer{})
	nodes := make([]*node, count)
	for i := range nodes {
		nodes[i] = bareNode(Node{Name: string(rune('a' + i))})
		nodes[i].Checked.Store(true)
	}
	p.nodes.set(nodes)
	p.heads.Settled()
	return p, nodes
}

// reportBlock has a node report a block; a branch's name is two hex digits.
func reportBlock(p *Pool, n *node, branch string, number uint64, parent string) {
	h := makeBlock(branch, number, blockHash(parent, number-1))
	h.Time = uint64(time.Now().Unix())
	p.heads.Report(&n.Node, h)
}

// TestAstrayNotAsked: a node that stays behind on an orphaned branch is not asked for
// blocks that it has otherwise than the others, until it follows.
func TestAstrayNotAsked(t *testing.T) {
	p, nodes := quietPool(2)
	for _, n := range nodes {
		p.heads.ReportFinal(&n.Node, 95, heads.Place{Number: 90}, heads.Place{})
	}
	for i, s := range []struct {
		node   int
		branch string
		number uint64
		parent string
		want   uint64 // from where the second node is astray
	}{
		{1, "aa", 100, "aa", 0}, {0, "bb", 100, "aa", 100}, {0, "bb", 101, "bb", 100}, {0, "bb", 102, "bb", 100},
		{1, "aa", 101, "aa", 91}, {1, "bb", 102, "bb", 0},
	} {
		reportBlock(p, nodes[s.node], s.branch, s.number, s.parent)
		if got := nodes[1].Astray.Load(); got != s.want {
			t.Fatalf("step %d: astray from %d, want %d", i+1, got, s.want)
		}
		checkNotAsked(t, p, nodes[1])
	}
}

// checkNotAsked asks often enough that a node which may be picked would be. A block by
// its hash can be asked of any node.
func checkNotAsked(t *testing.T, p *Pool, n *node) {
	t.Helper()
	from := n.Astray.Load()
	for block := uint64(85); block <= n.Head.Load(); block++ {
		q := query{method: "eth_getBalance", info: method.Of("eth_getBalance"), block: block, numbered: true}
		picked := 0
		for range 50 {
			if p.nodes.pick(&q, nil).node == n {
				picked++
			}
		}
		if wrong := from != 0 && block >= from; wrong != (picked == 0) {
			t.Errorf("block %d was asked of it %d times, astray from %d", block, picked, from)
		}
	}
	q := query{method: "eth_getBlockByHash", info: method.Of("eth_getBlockByHash"), hash: []byte(blockHash("aa", 100))}
	if n.lacks(&q) {
		t.Error("a hash is not asked of it")
	}
}

// TestForkSetBack: a chain that stays below what was told is told of with a new fork,
// and what other servers still know of the old one doesn't come back.
func TestForkSetBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		shared := &board{highest: map[string]uint64{}}
		a := newFake("a", 100)
		p, _ := openFakes(t, func(c *Config) { c.Shared = shared }, a)
		settle()
		before, err := p.Head(t.Context())
		if err != nil || before.Number != 100 || before.Fork != 1 {
			t.Fatalf("%+v, %v", before, err)
		}
		a.reorg(genesisBranch, 80, 80)
		for range int(heads.ResetAfter.Seconds()) + 5 {
			time.Sleep(time.Second)
			head, err := p.Head(t.Context())
			if err != nil || head.Number < 100 && head.Fork == before.Fork {
				t.Fatalf("%+v, %v", head, err)
			}
		}
		settle()
		if head, err := p.Head(t.Context()); err != nil || head.Number != 80 || head.Fork <= before.Fork || head.Finalized != 70 || head.Lost != before.Lost+1 {
			t.Errorf("after it was set back: %+v, %v", head, err)
		}
	})
}

// TestLiarInThePool: the head that clients see is the honest nodes', before and after
// the liar begins.
func TestLiarInThePool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b, liar := newFake("a", 100), newFake("b", 100), newFake("liar", 100)
		p, _ := openFakes(t, nil, a, b, liar)
		settle()
		liar.answers("eth_getBlockByNumber", string(makeBlock("ee", 1_000_100, blockHash("ee", 5)).Raw), nil)
		for n := uint64(101); n < 160; n++ {
			a.grow(genesisBranch, n)
			b.grow(genesisBranch, n)
			time.Sleep(time.Second)
			head, err := p.Head(t.Context())
			if err != nil || head.Number < n-2 || head.Number > n {
				t.Fatalf("the head is %d, %v; want about %d", head.Number, err, n)
			}
		}
		if s := p.Status()[2]; s.Healthy || s.Why == "" {
			t.Errorf("the liar: %+v", s)
		}
		if n := liar.count("eth_getBalance"); n != 0 {
			t.Errorf("the liar was asked %d times", n)
		}
	})
}
