package proven

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate"
)

var (
	rich     = common.HexToAddress("0x1100000000000000000000000000000000000011")
	contract = common.HexToAddress("0x2200000000000000000000000000000000000022")
	nobody   = common.HexToAddress("0x3300000000000000000000000000000000000033")
)

// state is what the accounts of a test have.
func state(balance uint64) map[common.Address]holding {
	holds := map[common.Address]holding{
		rich:     {nonce: 5, balance: balance},
		contract: {nonce: 1, code: []byte{0x60, 0x01, 0x50}, slots: map[uint64]uint64{0: 7, 1: 300, 9: 1 << 40}},
	}
	for i := range byte(40) { // so that tries have more than a leaf
		holds[common.Address{0x99, i}] = holding{balance: uint64(i) + 1}
	}
	return holds
}

// over is a node over a fake chain, and the chain.
func over(blocks int) (*Node, *chain) {
	c := newChain()
	for i := range blocks {
		c.add(0, state(1000+uint64(i)))
	}
	return New(c, Config{Values: true, Source: c, Hash: c.hash, Bytes: 4 << 20}), c
}

// ask makes a call. The trace must show that the answer is proven, or that there is none.
func ask(t *testing.T, n *Node, name, params string) (string, nodegate.Trace) {
	t.Helper()
	var trace nodegate.Trace
	result, err := n.Call(nodegate.WithTrace(t.Context(), &trace), name, []byte(params))
	if err != nil {
		return "error: " + nodegate.AsError(err).Msg, trace
	}
	if trace.Verified != nodegate.LevelRoots || trace.Agreed != 1 {
		t.Errorf("%s %s is answered with %s, and the trace is %+v", name, params, result, trace)
	}
	return string(result), trace
}

// questions are calls with their answers, of a block whose richest account has a balance.
func questions(block string, balance uint64) map[[2]string]string {
	r, c, x := rich.Hex(), contract.Hex(), nobody.Hex()
	slot := func(n uint64) string { return common.BigToHash(new(big.Int).SetUint64(n)).Hex() }
	low := strings.ToLower
	return map[[2]string]string{
		{"eth_getBalance", `["` + r + `",` + block + `]`}:                     fmt.Sprintf(`"%#x"`, balance),
		{"eth_getBalance", `["` + x + `",` + block + `]`}:                     `"0x0"`,
		{"eth_getTransactionCount", `["` + r + `",` + block + `]`}:            `"0x5"`,
		{"eth_getTransactionCount", `["` + x + `",` + block + `]`}:            `"0x0"`,
		{"eth_getCode", `["` + c + `",` + block + `]`}:                        `"0x600150"`,
		{"eth_getCode", `["` + r + `",` + block + `]`}:                        `"0x"`,
		{"eth_getCode", `["` + x + `",` + block + `]`}:                        `"0x"`,
		{"eth_getStorageAt", `["` + c + `","` + slot(1) + `",` + block + `]`}: `"` + slot(300) + `"`,
		{"eth_getStorageAt", `["` + c + `","` + slot(2) + `",` + block + `]`}: `"` + slot(0) + `"`,
		{"eth_getStorageAt", `["` + r + `","` + slot(1) + `",` + block + `]`}: `"` + slot(0) + `"`,
		{"eth_getStorageAt", `["` + x + `","` + slot(1) + `",` + block + `]`}: `"` + slot(0) + `"`,
		{"eth_getStorageValues", `[{"` + c + `":["` + slot(9) + `","` + slot(3) + `"],"` + low(r) + `":["` + slot(0) + `"],"` + x + `":[]},` + block + `]`}: `{"` + low(r) + `":["` +
			slot(0) + `"],"` + low(c) + `":["` + slot(1<<40) + `","` + slot(0) + `"],"` + low(x) + `":[]}`,
	}
}

// TestValues: what accounts hold is answered from proofs, of blocks that are named in every
// way, with three calls to the nodes at most. Asked again, it takes none.
func TestValues(t *testing.T) {
	n, c := over(4)
	hash := func(i int) string { return `"` + c.blocks[i].Hash().Hex() + `"` }
	for _, b := range []struct {
		block   string
		balance uint64
	}{
		{`"0x1"`, 1001}, {hash(2), 1002}, {`{"blockHash":` + hash(2) + `}`, 1002}, {`{"blockHash":` + hash(1) + `,"requireCanonical":false}`, 1001},
		{`"latest"`, 1003}, {"null", 1003}, {`"0x0"`, 1000},
	} {
		for q, want := range questions(b.block, b.balance) {
			if got, _ := ask(t, n, q[0], q[1]); got != want {
				t.Errorf("%s %s is %s, want %s", q[0], q[1], got, want)
			}
			if all, by := c.called(); all > 3 && !strings.HasSuffix(q[0], "Values") {
				t.Errorf("%s %s took %v", q[0], q[1], by)
			}
			got, trace := ask(t, n, q[0], q[1])
			if all, by := c.called(); all != 0 || got != want || trace.Cache != nodegate.CacheHit {
				t.Errorf("%s %s took %v the second time, is %s, and the trace is %+v", q[0], q[1], by, got, trace)
			}
		}
	}
}

// TestCanonical: a hash that must be on the chain is for the nodes to judge, each time.
func TestCanonical(t *testing.T) {
	n, c := over(3)
	params := `["` + rich.Hex() + `",{"blockHash":"` + c.blocks[1].Hash().Hex() + `","requireCanonical":true}]`
	for range 2 {
		if got, _ := ask(t, n, "eth_getBalance", params); got != `"0x3e9"` {
			t.Errorf("the balance is %s", got)
		}
		if _, by := c.called(); by["eth_getProof"] != 1 {
			t.Errorf("the nodes were asked %v", by)
		}
	}
}

// TestUnproven: what can't be proven is an error, whatever a node says. Only the pending
// block is the word of a node.
func TestUnproven(t *testing.T) {
	n, _ := over(3)
	r := `"` + rich.Hex() + `"`
	for _, q := range [][2]string{
		{"eth_getBalance", `[` + r + `,"0x01"]`}, {"eth_getBalance", `[` + r + `,"0x9"]`}, {"eth_getBalance", `[` + r + `,"safe"]`},
		{"eth_getBalance", `[` + r + `,"0x1","0x2"]`}, {"eth_getBalance", `["0x11","0x1"]`}, {"eth_getBalance", `[5,"0x1"]`},
		{"eth_getBalance", `[` + r + `,{"blockNumber":"0x1","blockHash":"0x2"}]`}, {"eth_getCode", `["0X11` + rich.Hex()[4:] + `","0x1"]`},
		{"eth_getTransactionCount", `[` + r + `,"` + common.Hash{5}.Hex() + `"]`}, {"eth_getStorageAt", `[` + r + `,"0x0","0x1"]`},
		{"eth_getStorageValues", `[{` + r + `:[]},"0x1"]`}, {"eth_getStorageValues", `[{` + r + `:["0x1"]},"0x1"]`},
		{"eth_getStorageValues", `[{` + r + `:[],` + strings.ToUpper(r) + `:[]},"0x1"]`},
	} {
		if got, trace := ask(t, n, q[0], q[1]); !strings.HasPrefix(got, "error: ") || trace.Verified != nodegate.LevelNone {
			t.Errorf("%s %s is %s with %+v", q[0], q[1], got, trace)
		}
	}
	var trace nodegate.Trace
	got, err := n.Call(nodegate.WithTrace(t.Context(), &trace), "eth_getBalance", []byte(`[`+r+`,"pending"]`))
	if err != nil || string(got) != falsehood || trace.Verified != nodegate.LevelNone {
		t.Errorf("the pending balance is %s, %v with %+v", got, err, trace)
	}
}

// TestNoProofs: where no node gives proofs, the error says so.
func TestNoProofs(t *testing.T) {
	n, c := over(2)
	c.errors = map[string]error{"eth_getProof": &nodegate.Error{Code: nodegate.NodeFault, Number: -32601, Msg: "the method eth_getProof does not exist"}}
	if got, _ := ask(t, n, "eth_getBalance", `["`+rich.Hex()+`","0x1"]`); !strings.Contains(got, "none of its nodes returns proofs") {
		t.Errorf("the balance is %s", got)
	}
}

// TestReorg: a block that is replaced while its state is asked for doesn't matter: the answer
// is of the block that is there now.
func TestReorg(t *testing.T) {
	n, c := over(3)
	enter, leave := make(chan struct{}), make(chan struct{})
	c.enter, c.leave = enter, leave
	var running sync.WaitGroup
	running.Go(func() {
		<-enter
		c.forget()
		c.add(1, state(77))
		leave <- struct{}{}
		<-enter
		leave <- struct{}{}
	})
	if got, _ := ask(t, n, "eth_getBalance", `["`+rich.Hex()+`","0x2"]`); got != `"0x4d"` {
		t.Errorf("the balance is %s", got)
	}
	running.Wait()
}

// TestShared: callers that ask for the same at once take one proof.
func TestShared(t *testing.T) {
	n, c := over(3)
	enter, leave := make(chan struct{}), make(chan struct{})
	c.enter, c.leave = enter, leave
	const callers = 20
	answers := make([]string, callers)
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() { answers[i], _ = ask(t, n, "eth_getBalance", `["`+rich.Hex()+`","0x2"]`) })
	}
	<-enter // nobody else gets here before the proof is there, and then nobody has to
	leave <- struct{}{}
	running.Wait()
	for _, got := range answers {
		if got != `"0x3ea"` {
			t.Errorf("the balance is %s", got)
		}
	}
	if _, by := c.called(); by["eth_getProof"] != 1 {
		t.Errorf("%d callers took %v", callers, by)
	}
}

// TestBounded: more accounts than one call may have are refused.
func TestBounded(t *testing.T) {
	n, c := over(2)
	var list []string
	for i := range maxAccounts + 1 {
		list = append(list, fmt.Sprintf(`"0x%040x":["0x%064x"]`, i, 0))
	}
	if got, _ := ask(t, n, "eth_getStorageValues", `[{`+strings.Join(list, ",")+`},"0x1"]`); !strings.HasPrefix(got, "error: ") {
		t.Errorf("%d accounts are answered with %.80s", len(list), got)
	}
	c.called()
	if got, _ := ask(t, n, "eth_getStorageValues", `[{`+strings.Join(list[:maxAccounts], ",")+`},"0x1"]`); strings.HasPrefix(got, "error: ") {
		t.Errorf("%d accounts are answered with %.80s", maxAccounts, got)
	}
	if _, by := c.called(); by["eth_getProof"] != maxAccounts {
		t.Errorf("they took %v", by)
	}
}

// TestProof: a proof that a client asks for is checked and kept, also where values are not
// proven. On a chain where none ever holds, it is passed on as the node gave it.
func TestProof(t *testing.T) {
	_, c := over(3)
	n := New(c, Config{Source: c, Hash: c.hash, Bytes: 4 << 20})
	params := `["` + contract.Hex() + `",["` + common.Hash{}.Hex() + `"],"0x2"]`
	want, err := c.answer("eth_getProof", []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if got, trace := ask(t, n, "eth_getProof", params); got != string(want) || trace.Formed {
			t.Errorf("the proof is %.80s with %+v", got, trace)
		}
		if all, by := c.called(); all != 2*(1-i) {
			t.Errorf("call %d took %v", i, by)
		}
	}
	c.lie = func(name, result string) string { return strings.Replace(result, `"nonce":"0x1"`, `"nonce":"0x2"`, 1) }
	other := strings.Replace(params, `"0x2"`, `"0x1"`, 1)
	if got, _ := ask(t, n, "eth_getProof", other); strings.Contains(got, `"nonce":"0x2"`) || c.dropped != 1 {
		t.Errorf("the proof is %.80s; %d lies were noticed", got, c.dropped)
	}

	n = New(c, Config{Source: lonely{c}, Hash: c.hash, Bytes: 4 << 20})
	var trace nodegate.Trace
	got, err := n.Call(nodegate.WithTrace(t.Context(), &trace), "eth_getProof", []byte(params))
	if err != nil || !strings.Contains(string(got), `"nonce":"0x2"`) || trace.Verified != nodegate.LevelNone {
		t.Errorf("on a chain with other tries the proof is %.80s, %v with %+v", got, err, trace)
	}
	n.held.Store(true)
	if got, err = n.Call(t.Context(), "eth_getProof", []byte(params)); err == nil {
		t.Errorf("where proofs have held a false one is returned: %.80s", got)
	}
}

// TestShortKeys: the keys of a proof may be short. Nodes get them as the client wrote them, and
// repeat them so.
func TestShortKeys(t *testing.T) {
	n, c := over(3)
	for _, keys := range []string{`"0x0"`, `"0x01","0x9"`, `"0x00000000000000000000000000000000000000000000000000000000000000a"`, `"` + common.Hash{}.Hex() + `","0x1"`} {
		params := `["` + contract.Hex() + `",[` + keys + `],"0x2"]`
		want, err := c.answer("eth_getProof", []byte(params))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := ask(t, n, "eth_getProof", params); got != string(want) {
			t.Errorf("the proof of %s is %s", keys, got)
		}
	}
	for _, key := range []string{`"0x"`, `"0X0"`, `"0"`, `0`, `""`, `"0xg"`, `"0x0`, `"0x` + strings.Repeat("0", 65) + `"`} {
		if shortWord(new([32]byte), []byte(key)) {
			t.Errorf("%s is a slot", key)
		}
	}
}

// TestProofErrors: only a node's own error is asked for again, in its words. While the nodes
// don't answer, they aren't asked twice.
func TestProofErrors(t *testing.T) {
	for code, calls := range map[nodegate.Code]int{
		nodegate.NodeFault: 2, nodegate.MethodNotFound: 2,
		nodegate.Busy: 1, nodegate.Timeout: 1, nodegate.ResponseTooLarge: 1, nodegate.AccountBusy: 1, nodegate.NoNode: 1,
	} {
		n, c := over(3)
		c.errors = map[string]error{"eth_getProof": &nodegate.Error{Code: code, Msg: "no"}}
		_, err := n.Call(t.Context(), "eth_getProof", []byte(`["`+rich.Hex()+`",[],"0x2"]`))
		if _, by := c.called(); !errors.Is(err, code) || by["eth_getProof"] != calls {
			t.Errorf("%v: the error is %v after %v", code, err, by)
		}
	}
}

// gated is a chain with one node, which lies, and answers when the gate is open.
type gated struct {
	lonely
	gate <-chan struct{}
}

func (g gated) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if strings.HasSuffix(name, "Proof") {
		<-g.gate
	}
	return g.lonely.Call(ctx, name, params)
}

// TestSharedLie: who waits for a proof of somebody else learns that it doesn't hold, too: on a
// chain with other tries both get what the node says.
func TestSharedLie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := over(3)
		c.lie = func(_, result string) string { return strings.Replace(result, `"nonce":"0x5"`, `"nonce":"0x6"`, 1) }
		gate := make(chan struct{})
		n := New(c, Config{Source: gated{lonely{c}, gate}, Hash: c.hash, Bytes: 4 << 20})
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() {
				got, err := n.Call(t.Context(), "eth_getProof", []byte(`["`+rich.Hex()+`",[],"0x2"]`))
				if err != nil || !strings.Contains(string(got), `"nonce":"0x6"`) {
					t.Errorf("the proof is %.80s, %v", got, err)
				}
			})
		}
		synctest.Wait() // one asks, and the other waits for it
		close(gate)
		running.Wait()
	})
}

// TestKept: the pieces of a state are kept by their roots, so a later block takes one proof
// for a slot, and no code again.
func TestKept(t *testing.T) {
	n, c := over(3)
	code := func(block string) { ask(t, n, "eth_getCode", `["`+contract.Hex()+`",`+block+`]`) }
	code(`"0x1"`)
	c.called()
	code(`"0x2"`)
	if _, by := c.called(); !maps.Equal(by, map[string]int{"eth_getBlockByHash": 1, "eth_getProof": 1}) {
		t.Errorf("the same code in the next block took %v", by)
	}
}
