package pool

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// strangeTx is a transaction of a type that only its own chain can encode.
func strangeTx(value string) string {
	return `{"hash":` + someHash + `,"type":"0x64","value":"` + value + `","blockHash":null,"blockNumber":null,"transactionIndex":null}`
}

// TestOwnType: a type that two nodes show is the chain's own; one that a lone node shows
// beside others that know better is a lie.
func TestOwnType(t *testing.T) {
	const name = "eth_getTransactionByHash"
	params := []byte("[" + someHash + "]")
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		a.answers(name, strangeTx("0x1"), nil)
		b.answers(name, strangeTx("0x1"), nil)
		p, logs := openFakes(t, nil, a, b)
		settle()
		for range 4 {
			if got, err := p.Call(t.Context(), name, params); err != nil || string(got) != strangeTx("0x1") {
				t.Fatalf("%s, %v", got, err)
			}
		}
		if asked := a.count(name) + b.count(name); asked != 5 {
			t.Errorf("the nodes were asked %d times for 4 calls: one more was needed to agree", asked)
		}
		if !strings.Contains(logs.String(), "nodes agree on data") {
			t.Errorf("the exception is not logged: %s", logs)
		}
	})
}

// TestOnlyNode: with nobody to compare with, a type that isn't known passes, and a node that
// is down doesn't change that.
func TestOnlyNode(t *testing.T) {
	const name = "eth_getTransactionByHash"
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		a.answers(name, strangeTx("0x1"), nil)
		b.answers(name, "", &client.Fault{Sent: true, Err: context.DeadlineExceeded})
		p, _ := openFakes(t, nil, a, b)
		settle()
		for range 4 {
			if got, err := p.Call(t.Context(), name, []byte("["+someHash+"]")); err != nil || string(got) != strangeTx("0x1") {
				t.Fatalf("%s, %v", got, err)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestAgreedHeaders: a chain whose headers hash in another way is not disturbed, and costs no
// calls: its nodes agree on the newest block.
func TestAgreedHeaders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, logs := openFakes(t, nil, a, b)
		settle()
		before := a.count("eth_getBlockByNumber") + b.count("eth_getBlockByNumber")
		for range 10 {
			if _, err := p.Call(t.Context(), "eth_getBlockByNumber", []byte(`["0x5",false]`)); err != nil {
				t.Fatal(err)
			}
		}
		if asked := a.count("eth_getBlockByNumber") + b.count("eth_getBlockByNumber") - before; asked != 10 {
			t.Errorf("10 calls asked nodes %d times", asked)
		}
		if strings.Contains(logs.String(), "false answer") {
			t.Error(logs)
		}
	})
}

// TestNullOfKnown: a transaction of a block that was seen is asked for elsewhere before a
// null is believed, whatever the budget.
func TestNullOfKnown(t *testing.T) {
	const name = "eth_getTransactionReceipt"
	bubble(t, func(t *testing.T) {
		receipt := `{"transactionHash":` + someHash + `,"x":"0x1"}`
		a, b, c := newFake("a", 100), newFake("b", 100), newFake("c", 100)
		block := strings.Replace(string(makeBlock(genesisBranch, 5, blockHash(genesisBranch, 4)).Raw), `"transactions":[]`, `"transactions":[`+someHash+`]`, 1)
		for _, f := range []*fake{a, b, c} {
			f.answers(name, "null", nil)
			f.answers("eth_getBlockByHash", block, nil)
		}
		c.answers(name, receipt, nil)
		p, _ := openFakes(t, nil, a, b, c)
		settle()
		if _, err := p.Call(t.Context(), "eth_getBlockByHash", []byte("["+blockHash(genesisBranch, 5)+",false]")); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			if got, err := p.Call(t.Context(), name, []byte("["+someHash+"]")); err != nil || string(got) != receipt {
				t.Fatalf("%s, %v", got, err)
			}
		}
	})
}
