package pool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

const (
	balanceCall = "eth_getBalance"
	balanceAt   = `["0x00000000000000000000000000000000000000aa","0x5"]`
)

// agreeOn makes a call that two nodes must agree on.
func agreeOn(t *testing.T, p *Pool, name, params string) (string, nodegate.Trace, error) {
	t.Helper()
	var told nodegate.Trace
	result, err := p.Agreeing(2).Call(nodegate.WithTrace(t.Context(), &told), name, []byte(params))
	return string(result), told, err
}

// asked is how often nodes got a method.
func asked(name string, fakes ...*fake) (sum int) {
	for _, f := range fakes {
		sum += f.count(name)
	}
	return sum
}

// TestAgreed: what two nodes say alike is given out at the level agreed, also where their
// software writes it in another way, and errors and nulls too. Each node is asked once.
func TestAgreed(t *testing.T) {
	reverted := func(words string) error {
		return &client.CallError{Code: 3, Message: words, Data: []byte(`"0x08c379a0"`)}
	}
	for _, c := range []struct {
		what, name, params string
		first, second      string
		errs               [2]error
	}{
		{"the same", balanceCall, balanceAt, `"0xaa"`, `"0xaa"`, [2]error{}},
		{"capital letters", "eth_call", `[{},"0x5"]`, `"0xaa"`, `"0xAA"`, [2]error{}},
		{"members in another order", "eth_createAccessList", `[{},"0x5"]`, `{"gasUsed":"0x1","accessList":[]}`, `{"accessList": [], "gasUsed": "0x1", "error": null}`, [2]error{}},
		{"a null", "eth_getTransactionByHash", "[" + someHash + "]", "null", "null", [2]error{}},
		{"a revert", "eth_call", `[{},"0x5"]`, "", "", [2]error{reverted("execution reverted: no"), reverted("VM execution error")}},
	} {
		t.Run(c.what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b, third := newFake("a", 100), newFake("b", 100), newFake("c!", 100)
				a.answers(c.name, c.first, c.errs[0])
				b.answers(c.name, c.second, c.errs[1])
				p, logs := openFakes(t, nil, a, b, third)
				settle()
				got, told, err := agreeOn(t, p, c.name, c.params)
				if c.errs[0] != nil {
					if !errors.Is(err, nodegate.NodeFault) || string(nodegate.AsError(err).Data) != `"0x08c379a0"` {
						t.Errorf("%v", err)
					}
				} else if err != nil || got != c.first && got != c.second {
					t.Errorf("%s, %v", got, err)
				}
				if told.Verified != nodegate.LevelAgreed || told.Agreed != 2 {
					t.Errorf("level %s of %d nodes", told.Verified, told.Agreed)
				}
				if a.count(c.name) != 1 || b.count(c.name) != 1 || third.count(c.name) != 0 {
					t.Errorf("the nodes were asked %d, %d and %d times", a.count(c.name), b.count(c.name), third.count(c.name))
				}
				if strings.Contains(logs.String(), "responses to the same call") {
					t.Error(logs)
				}
			})
		})
	}
}

// TestAgreedOnNothing: two nodes that say different things answer nothing, and the log names
// them, once.
func TestAgreedOnNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		a.answers(balanceCall, `"0x1"`, nil)
		b.answers(balanceCall, `"0x2"`, nil)
		p, logs := openFakes(t, nil, a, b)
		settle()
		for range 3 {
			got, told, err := agreeOn(t, p, balanceCall, balanceAt)
			if got != "" || !errors.Is(err, nodegate.Unverified) || told.Verified != nodegate.LevelNone {
				t.Errorf("%q at level %q, %v", got, told.Verified, err)
			}
		}
		if n := asked(balanceCall, a, b); n != 6 {
			t.Errorf("3 calls asked %d times", n)
		}
		if text := logs.String(); strings.Count(text, "nodes returned different responses") != 1 || !strings.Contains(text, `nodes="a, b"`) && !strings.Contains(text, `nodes="b, a"`) {
			t.Errorf("the log: %s", text)
		}
	})
}

// TestOutvoted: of three nodes, the one that says something else never answers, and is named.
func TestOutvoted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b, liar := newFake("a", 100), newFake("b", 100), newFake("liar", 100)
		liar.answers(balanceCall, `"0x5eed"`, nil)
		p, logs := openFakes(t, nil, a, b, liar)
		settle()
		for range 30 {
			got, told, err := agreeOn(t, p, balanceCall, balanceAt)
			if err == nil && (got != `"0x1"` || told.Agreed != 2) || err != nil && !errors.Is(err, nodegate.Unverified) {
				t.Fatalf("%s of %d nodes, %v", got, told.Agreed, err)
			}
			if err != nil {
				t.Errorf("refused: %v", err)
			}
			time.Sleep(20 * time.Second)
		}
		if n := asked(balanceCall, a, b, liar); n > 90 {
			t.Errorf("30 calls asked three nodes %d times", n)
		}
		if !strings.Contains(logs.String(), "another response than the others agree on") || !strings.Contains(logs.String(), "nodes=liar") {
			t.Errorf("the log: %s", logs)
		}
	})
}

// TestAgreedHung: a node that hangs holds a call up for half of its time if another can be
// asked, and for all of it otherwise, but no longer.
func TestAgreedHung(t *testing.T) {
	hang := func(f *fake) {
		f.set(func() {
			f.answer = func(ctx context.Context, method string, _ []byte) ([]byte, error) {
				if method != balanceCall {
					return nil, nil
				}
				<-ctx.Done()
				return nil, &client.Fault{Sent: true, Err: ctx.Err()}
			}
		})
	}
	for others := range 2 {
		bubble(t, func(t *testing.T) {
			fakes := []*fake{newFake("a", 100), newFake("hung", 100), newFake("backup!", 100)}[:2+others]
			hang(fakes[1])
			p, _ := openFakes(t, func(c *Config) { c.Timeout = 4 * time.Second }, fakes...)
			settle()
			start := time.Now()
			got, told, err := agreeOn(t, p, balanceCall, balanceAt)
			took := time.Since(start)
			if others == 1 && (err != nil || got != `"0x1"` || told.Agreed != 2 || took > 3*time.Second) {
				t.Errorf("with another node: %s of %d, %v, after %s", got, told.Agreed, err, took)
			}
			if others == 0 && (!errors.Is(err, nodegate.Unverified) || took > 5*time.Second) {
				t.Errorf("without another node: %s, %v, after %s", got, err, took)
			}
		})
	}
}

// TestAgreedAlone: a network whose second node is away answers nothing about state, and says
// how many answered. What is not about blocks or state is the word of one.
func TestAgreedAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		a.answers("eth_gasPrice", `"0x7"`, nil)
		p, _ := openFakes(t, nil, a, b)
		settle()
		b.set(func() { b.down = true })
		if got, _, err := agreeOn(t, p, balanceCall, balanceAt); !errors.Is(err, nodegate.Unverified) || !strings.Contains(err.Error(), "from 2 nodes, and 1 responded") {
			t.Errorf("%s, %v", got, err)
		}
		if got, told, err := agreeOn(t, p, "eth_gasPrice", "[]"); err != nil || got != `"0x7"` || told.Verified != nodegate.LevelNone {
			t.Errorf("%s at level %q, %v", got, told.Verified, err)
		}
	})
}

// TestAgreedLogs: a log query that nodes answer in parts only is agreed on part by part.
func TestAgreedLogs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, func(c *Config) { c.Nodes[0].MaxLogRange, c.Nodes[1].MaxLogRange = 10, 10 }, a, b)
		settle()
		got, told, err := agreeOn(t, p, "eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x14"}]`)
		if err != nil || got != "[]" || told.Verified != nodegate.LevelAgreed || told.Agreed != 2 {
			t.Errorf("%s at level %q of %d, %v", got, told.Verified, told.Agreed, err)
		}
		if a.count("eth_getLogs") != 2 || b.count("eth_getLogs") != 2 {
			t.Errorf("two parts asked %d and %d times", a.count("eth_getLogs"), b.count("eth_getLogs"))
		}
	})
}
