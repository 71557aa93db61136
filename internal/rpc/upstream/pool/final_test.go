package pool

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// slowLook is long enough for every node to be asked for what changes rarely.
const slowLook = 10 * time.Second

func headOf(t *testing.T, p *Pool) nodegate.Head {
	t.Helper()
	head, err := p.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// TestFinalTakenBack: a chain that is started over takes final blocks back, however far it
// has come when that is seen, and counts once.
func TestFinalTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		away            time.Duration // while it is started over
		to              uint64
		head, finalized uint64
	}{
		"it is beyond the old head":  {0, 51, 51, 41},
		"it is as high":              {0, 50, 50, 40},
		"not yet as high":            {0, 45, 50, 35},
		"while no node reported":     {time.Minute, 51, 51, 41},
		"a long time without a node": {time.Hour, 200, 200, 190},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a := newFake("a", 50)
				p, _ := openFakes(t, nil, a)
				settle()
				if head := headOf(t, p); head.Number != 50 || head.Finalized != 40 || head.Lost != 0 {
					t.Fatalf("%+v", head)
				}
				a.set(func() { a.down = c.away > 0 })
				a.reorg("bb", 1, c.to)
				time.Sleep(c.away)
				a.set(func() { a.down = false })
				time.Sleep(slowLook)
				head := headOf(t, p)
				if head.Number != c.head || head.Finalized != c.finalized || head.Lost != 1 || head.Fork < 2 {
					t.Errorf("%+v", head)
				}
				for n := c.to; n < c.to+30; n++ {
					a.grow("bb", n)
					time.Sleep(time.Second)
				}
				if head := headOf(t, p); head.Lost != 1 || head.Finalized <= c.finalized {
					t.Errorf("further on: %+v", head)
				}
			})
		})
	}
}

// TestFinalOfAStray: a node on a chain of its own takes nothing back while another still
// has the final block, and its word on what is final is not taken.
func TestFinalOfAStray(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 50), newFake("b", 50)
		p, _ := openFakes(t, nil, a, b)
		settle()
		b.reorg("bb", 1, 55)
		for n := uint64(50); n < 60; n++ {
			a.grow(genesisBranch, n)
			time.Sleep(slowLook)
			if head := headOf(t, p); head.Lost != 0 || head.Finalized > n-10 {
				t.Fatalf("with a stray node: %+v, and the chain is at %d", head, n)
			}
		}
		a.set(func() { a.down = true })
		time.Sleep(3 * slowLook)
		if head := headOf(t, p); head.Lost != 1 || head.Finalized != 45 {
			t.Errorf("when only that one is left: %+v", head)
		}
		a.set(func() { a.down = false })
		time.Sleep(5 * time.Minute)
		if head := headOf(t, p); head.Lost != 1 {
			t.Errorf("when the other is back: %+v", head)
		}
		a.reorg("bb", 1, 70)
		b.grow("bb", 70)
		time.Sleep(slowLook)
		if head := headOf(t, p); head.Lost != 1 || head.Number != 70 || head.Finalized != 60 {
			t.Errorf("when both are of one chain: %+v", head)
		}
	})
}

// TestFinalOfAnotherNode: the nodes are replaced by one whose chain was started over.
func TestFinalOfAnotherNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 50), newFake("b", 0)
		b.grow("bb", 60)
		var nodes []Node
		p, _ := openFakes(t, func(c *Config) { nodes, c.Nodes = c.Nodes, c.Nodes[:1] }, a, b)
		settle()
		before := headOf(t, p)
		p.Replace(nodes[1:])
		time.Sleep(slowLook)
		if head := headOf(t, p); before.Lost != 0 || before.Finalized != 40 || head.Lost != 1 || head.Finalized != 50 {
			t.Errorf("%+v, then %+v", before, head)
		}
	})
}

// TestFinalCostsLittle: who says that the final block is the one that is known is not
// asked for it again.
func TestFinalCostsLittle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("a", 50)
		openFakes(t, nil, a)
		settle()
		rounds, asked := a.count("eth_syncing"), a.count("eth_getBlockByNumber")
		time.Sleep(time.Minute)
		rounds, asked = a.count("eth_syncing")-rounds, a.count("eth_getBlockByNumber")-asked
		if asked > 7*rounds+5 { // the head in each of five rounds, and the two tags
			t.Errorf("%d blocks asked for in %d slow rounds", asked, rounds)
		}
	})
}

// TestNoFinalBlockYet: a chain whose finalized block is the genesis block, or that has
// none, is not one that was started over: nothing is taken back or logged.
func TestNoFinalBlockYet(t *testing.T) {
	refusal := &client.CallError{Code: -39001, Message: "finalized block not found"}
	for name, says := range map[string]func() ([]byte, error){
		"the genesis block": func() ([]byte, error) { return nil, nil },
		"null":              func() ([]byte, error) { return []byte("null"), nil },
		"an error":          func() ([]byte, error) { return nil, refusal },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := newFake("a", 5), newFake("b", 5)
				a.answer = func(_ context.Context, _ string, params []byte) ([]byte, error) {
					if bytes.Contains(params, []byte(`"finalized"`)) {
						return says()
					}
					return nil, nil
				}
				p, logs := openFakes(t, nil, a, b)
				time.Sleep(6 * slowLook)
				if head := headOf(t, p); head.Lost != 0 || head.Fork != 1 || head.Finalized != 0 || head.Number != 5 {
					t.Errorf("%+v", head)
				}
				if text := logs.String(); strings.Contains(text, "ERROR") || strings.Contains(text, "WARN") {
					t.Errorf("the log:\n%s", text)
				}
			})
		})
	}
}

// TestGenesisTakenBack: a chain that has no final block but the first and is started
// over with another first block takes that one back.
func TestGenesisTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("a", 5)
		p, _ := openFakes(t, nil, a)
		settle()
		a.set(func() { a.chain = []heads.Header{makeBlock("bb", 0, blockHash("00", 0))} })
		a.grow("bb", 5)
		time.Sleep(6 * slowLook)
		if head := headOf(t, p); head.Lost != 1 || head.Finalized != 0 || head.Number != 5 {
			t.Errorf("%+v", head)
		}
	})
}
