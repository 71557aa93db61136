package proven

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
)

// londonRules are the rules of the fake chain.
const londonRules = `"chainId":1,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,"constantinopleBlock":0,"petersburgBlock":0,` +
	`"istanbulBlock":0,"berlinBlock":0,"londonBlock":0,"terminalTotalDifficulty":0`

// The contracts of the fake chain.
var (
	slotReader = common.Address{0x41} // returns its first slot
	adder      = common.Address{0x42} // the sum of 40 slots
	follower   = common.Address{0x43} // follows 10 slots, each of which names the next
	wanderer   = common.Address{0x44} // and 40
	spinner    = common.Address{0x45} // an endless loop
)

var returns = common.FromHex("60005260206000f3")

// executable is a state with contracts.
func executable(balance uint64) map[common.Address]holding {
	holds := state(balance)
	sum, steps := []byte{0x60, 0}, map[uint64]uint64{}
	for i := range byte(40) {
		sum = append(sum, 0x60, i, 0x54, 0x01)
		steps[uint64(i)] = uint64(i) + 1
	}
	follow := func(n int) []byte {
		return append(append([]byte{0x60, 0}, bytes.Repeat([]byte{0x54}, n)...), returns...)
	}
	holds[slotReader] = holding{code: append([]byte{0x60, 0, 0x54}, returns...), slots: map[uint64]uint64{0: 77}}
	holds[adder] = holding{code: append(sum, returns...), slots: steps}
	holds[follower] = holding{code: follow(10), slots: steps}
	holds[wanderer] = holding{code: follow(40), slots: steps}
	holds[spinner] = holding{code: common.FromHex("5b600056")}
	return holds
}

func machine(t *testing.T, rules string, cfg native.Config) *native.Machine {
	t.Helper()
	m, err := native.NewMachine(1, []byte(`{"config":{`+rules+`}}`), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// executing is a node that executes calls, over a fake chain.
func executing(t *testing.T) (*Node, *chain) {
	t.Helper()
	return executingWith(t, native.Config{CallTimeout: time.Minute, Lanes: lane.New(2, 2)})
}

func executingWith(t *testing.T, cfg native.Config) (*Node, *chain) {
	t.Helper()
	c := newChain()
	c.add(0, executable(1))
	c.add(0, executable(2))
	return New(c, Config{Values: true, Source: c, Hash: c.hash, Bytes: 4 << 20, Machine: machine(t, londonRules, cfg)}), c
}

// callTo is a call of a contract in the newest block.
func callTo(a common.Address) string {
	return `[{"to":"` + strings.ToLower(a.Hex()) + `","gas":"0x2faf080","input":"0x00"},"latest"]`
}

func wordOf(n int64) string { return `"` + common.BigToHash(big.NewInt(n)).Hex() + `"` }

// TestExecute: a call is executed over proofs, a second time without asking a node, and in the
// next block with what it read before.
func TestExecute(t *testing.T) {
	n, c := executing(t)
	for range 2 {
		if got, _ := ask(t, n, "eth_call", callTo(slotReader)); got != wordOf(77) {
			t.Fatalf("the call returns %s", got)
		}
	}
	c.called()
	if got, trace := ask(t, n, "eth_call", callTo(slotReader)); got != wordOf(77) || trace.Cache != nodegate.CacheHit {
		t.Errorf("the third time it returns %s, %+v", got, trace)
	}
	if all, by := c.called(); all > 0 {
		t.Errorf("the third time it takes %v", by)
	}
	c.add(0, executable(3))
	if got, trace := ask(t, n, "eth_call", callTo(slotReader)); got != wordOf(77) || trace.Cache != nodegate.CacheMiss {
		t.Errorf("in the next block it returns %s, %+v", got, trace)
	}
	if _, by := c.called(); by["eth_getCode"] > 0 || by["eth_createAccessList"] > 0 || by["eth_getProof"] == 0 || by["eth_getProof"] > 3 {
		t.Errorf("in the next block it takes %v", by)
	}
	c.called()
	if got, _ := ask(t, n, "eth_estimateGas", `[{"from":"`+rich.Hex()+`","to":"`+nobody.Hex()+`","value":"0x1"},"latest"]`); got != `"0x5208"` {
		t.Errorf("a payment takes %s", got)
	}
	if _, by := c.called(); by["eth_createAccessList"] > 0 {
		t.Errorf("a payment takes %v", by)
	}
}

// TestExecuteMemory: what a call fetches counts toward the memory of its account, which may be
// used up.
func TestExecuteMemory(t *testing.T) {
	n, _ := executing(t)
	var held int64
	trace := nodegate.Trace{Hold: func(bytes int64) error { held += bytes; return nil }}
	if _, err := n.Call(nodegate.WithTrace(t.Context(), &trace), "eth_call", []byte(callTo(adder))); err != nil || held < 40*wordBytes {
		t.Errorf("%d bytes were reserved: %v", held, err)
	}
	full := &nodegate.Error{Op: "test", Code: nodegate.AccountBusy}
	trace = nodegate.Trace{Hold: func(int64) error { return full }}
	if _, err := n.Call(nodegate.WithTrace(t.Context(), &trace), "eth_call", []byte(callTo(follower))); !errors.Is(err, nodegate.AccountBusy) {
		t.Errorf("without memory the error is %v", err)
	}
}

// TestExecuteReverted: how a call ends is proven too.
func TestExecuteReverted(t *testing.T) {
	n, _ := executing(t)
	var trace nodegate.Trace
	_, err := n.Call(nodegate.WithTrace(t.Context(), &trace), "eth_call", []byte(`[{"gas":"0x2faf080","input":"0x600160005260206000fd"},"latest"]`))
	if !errors.Is(err, nodegate.Reverted) || trace.Verified != nodegate.LevelRoots {
		t.Errorf("the error is %v, with %+v", err, trace)
	}
}

// TestExecuteUnhinted: without an access list a call takes more rounds, and has the same result.
func TestExecuteUnhinted(t *testing.T) {
	ended := make(chan struct{}, 100)
	for name, list := range map[string]func(context.Context) ([]byte, error){
		"error": func(context.Context) ([]byte, error) {
			return nil, &nodegate.Error{Code: nodegate.NodeFault, Number: -32000, Msg: "no"}
		},
		"nonsense": func(context.Context) ([]byte, error) {
			return []byte(`{"accessList":[{"address":7},{"storageKeys":[]}]}`), nil
		},
		"not there": func(context.Context) ([]byte, error) { return nil, &nodegate.Error{Code: nodegate.MethodNotFound} },
		"never": func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			ended <- struct{}{}
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, c := executing(t)
			c.list = list
			for a, want := range map[common.Address]int64{slotReader: 77, adder: 820, follower: 10} {
				if got, _ := ask(t, n, "eth_call", callTo(a)); got != wordOf(want) {
					t.Errorf("%s returns %s", a, got)
				}
			}
		})
	}
	for range 3 {
		<-ended // nobody waits for a list when the call has ended
	}
}

// TestExecuteHinted: what an access list names is proven at once, and needn't be true.
func TestExecuteHinted(t *testing.T) {
	var keys []string
	for i := range int64(40) {
		keys = append(keys, wordOf(i))
	}
	list := fmt.Sprintf(`{"accessList":[{"address":"%s","storageKeys":[%s]},{"address":"%s","storageKeys":[%s]}],"gasUsed":"0x1"}`,
		wanderer.Hex(), strings.Join(keys, ","), nobody.Hex(), wordOf(3))
	synctest.Test(t, func(t *testing.T) {
		n, c := executing(t)
		c.list, c.refuse = func(context.Context) ([]byte, error) { return []byte(list), nil }, strings.ToLower(nobody.Hex())
		c.before = func(name string) {
			if strings.HasSuffix(name, "Proof") {
				time.Sleep(time.Second) // by the bubble's clock: the list comes before the first proof
			}
		}
		if got, _ := ask(t, n, "eth_call", callTo(wanderer)); got != wordOf(40) { // it takes too many rounds without
			t.Errorf("it returns %s", got)
		}
	})
}

// TestMissingLists: nodes that don't offer access lists are not asked each time.
func TestMissingLists(t *testing.T) {
	n, c := executing(t)
	c.list = func(context.Context) ([]byte, error) { return nil, &nodegate.Error{Code: nodegate.MethodNotFound} }
	ask(t, n, "eth_call", callTo(slotReader))
	for end := time.Now().Add(time.Minute); n.noLists.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not remembered")
		}
	}
	c.called()
	ask(t, n, "eth_call", callTo(adder))
	if _, by := c.called(); by["eth_createAccessList"] > 0 {
		t.Errorf("it takes %v", by)
	}
}

// TestExecuteRounds: a call that takes too many round trips is refused.
func TestExecuteRounds(t *testing.T) {
	n, c := executing(t)
	c.errors = map[string]error{"eth_createAccessList": errors.New("no")}
	var trace nodegate.Trace
	_, err := n.Call(nodegate.WithTrace(t.Context(), &trace), "eth_call", []byte(callTo(wanderer)))
	if !errors.Is(err, nodegate.Unverified) || !strings.Contains(err.Error(), "smaller calls") || trace.Verified != nodegate.LevelNone {
		t.Errorf("the error is %v, with %+v", err, trace)
	}
	if _, by := c.called(); by["eth_getProof"] > maxRounds+2 {
		t.Errorf("it takes %v", by)
	}
}

// TestExecuteElsewhere: what isn't executed here is the word of a node.
func TestExecuteElsewhere(t *testing.T) {
	n, c := executing(t)
	plain := `{"to":"` + strings.ToLower(slotReader.Hex()) + `","gas":"0x2faf080"`
	hash := c.blocks[1].Hash().Hex()
	for _, params := range []string{
		`[` + plain + `},"pending"]`, `[` + plain + `},{"blockHash":"` + hash + `","requireCanonical":true}]`, `[` + plain + `,"blobVersionedHashes":[]},"latest"]`,
		`[` + plain + `},"latest",{"0x0000000000000000000000000000000000000004":{"movePrecompileToAddress":"` + nobody.Hex() + `"}}]`,
		`[` + plain + `},"latest",null,{"beaconRoot":"` + hash + `"}]`,
	} {
		var trace nodegate.Trace
		got, err := n.Call(nodegate.WithTrace(t.Context(), &trace), "eth_call", []byte(params))
		if trace.Verified != nodegate.LevelNone || err == nil && string(got) != falsehood {
			t.Errorf("%s is answered with %s, %v and %+v", params, got, err, trace)
		}
	}
	for _, params := range []string{`[` + plain + `},"0x999"]`, `[` + plain + `},"` + common.Hash{1}.Hex() + `"]`} {
		if got, err := n.Call(t.Context(), "eth_call", []byte(params)); err == nil {
			t.Errorf("%s is answered with %s", params, got)
		}
	}
}

// TestExecuteForks: a block that the chain's forks can't have is refused. That is a chain with
// a fork that nodegate doesn't know, or a made-up header.
func TestExecuteForks(t *testing.T) {
	n, _ := executing(t)
	blobs := `{"target":3,"max":6,"baseFeeUpdateFraction":3338477}`
	n.cfg.Machine = machine(t, londonRules+`,"shanghaiTime":0,"cancunTime":0,"blobSchedule":{"cancun":`+blobs+`}`, native.Config{CallTimeout: time.Minute, Lanes: lane.New(2, 2)})
	_, err := n.Call(t.Context(), "eth_call", []byte(callTo(slotReader)))
	if !errors.Is(err, nodegate.Unverified) || !strings.Contains(err.Error(), "forks") {
		t.Errorf("the error is %v", err)
	}
}

// heavyCall has so much gas that it begins in the heavy lane.
func heavyCall(a common.Address) []byte {
	return []byte(`[{"to":"` + strings.ToLower(a.Hex()) + `","gas":"0x11e1a300"},"latest"]`)
}

// TestExecuteLanes: calls take their seats in the same lane as those of embedded chains, and
// end after the same time.
func TestExecuteLanes(t *testing.T) {
	lanes := lane.New(1, 1)
	short, _ := executingWith(t, native.Config{CallTimeout: 20 * time.Millisecond, Lanes: lanes})
	long, _ := executingWith(t, native.Config{CallTimeout: time.Minute, Lanes: lanes})
	leave, err := lanes.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := short.Call(t.Context(), "eth_call", heavyCall(slotReader)); !errors.Is(err, nodegate.AccountBusy) {
		t.Errorf("without a seat it is answered with %s, %v", got, err)
	}
	leave()
	if got, err := long.Call(t.Context(), "eth_call", heavyCall(slotReader)); string(got) != wordOf(77) {
		t.Errorf("with a seat it is answered with %s, %v", got, err)
	}
	var trace nodegate.Trace
	if _, err := short.Call(nodegate.WithTrace(t.Context(), &trace), "eth_call", heavyCall(spinner)); !errors.Is(err, nodegate.Timeout) || trace.Verified != nodegate.LevelNone {
		t.Errorf("an endless loop is answered with %v, %+v", err, trace)
	}
}
