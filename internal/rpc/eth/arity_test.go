package eth

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// allocated is how many bytes were allocated while do ran.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMillionsOfParams refuses them for every method with Geth's words, without copying
// them and without asking the node.
func TestMillionsOfParams(t *testing.T) {
	params := []byte("[" + strings.Repeat("1,", 2_600_000) + "1]")
	ctx := developing(t, nodegate.Policy{Development: true})
	for _, remote := range []bool{false, true} {
		asked := 0
		n := New(askedNode{&asked}, Config{Remote: remote, Layer2: true, LogBlocks: 100, LogResults: 100, Namespaces: method.Optional()})
		for _, name := range append(method.Names(), "eth_neverHeardOf", "net_else", "txpool_else") {
			if method.Of(name).Socket || method.Of(name).Scoped && remote {
				continue // the front end's, or not there
			}
			var err error
			bytes := allocated(func() { _, err = n.Call(ctx, name, params) })
			if !errors.Is(err, nodegate.InvalidParams) || !strings.Contains(nodegate.AsError(err).Msg, "too many arguments, want at most ") {
				t.Errorf("%s, remote %t: %v", name, remote, err)
			}
			if bytes > 64<<10 {
				t.Errorf("%s, remote %t: %d bytes allocated", name, remote, bytes)
			}
		}
		var err error
		if bytes := allocated(func() { err = n.Subscribe(t.Context(), params, nil) }); err == nil || bytes > 64<<10 {
			t.Errorf("eth_subscribe: %v, %d bytes allocated", err, bytes)
		}
		if asked != 0 {
			t.Errorf("the node was asked %d times", asked)
		}
	}
	for _, row := range method.All() {
		if got := checkArity(row.Name, params); got.Error() != tooMany(len(row.Params)).Error() {
			t.Errorf("%s: %v", row.Name, got)
		}
	}
}

// TestMillionsOfValues refuses them at any depth.
func TestMillionsOfValues(t *testing.T) {
	many := strings.Repeat("1,", 2_600_000) + "1"
	asked := 0
	n := New(askedNode{&asked}, Config{LogBlocks: 100, LogResults: 100})
	for method, params := range map[string]string{
		"eth_getLogs": `[{"address":[` + many + `]}]`, "eth_getBalance": `[[` + many + `],"latest"]`, "eth_call": `[{"accessList":[` + many + `]},"latest"]`,
		"eth_simulateV1": `[{"blockStateCalls":[{"calls":[` + many + `]}]}]`, "eth_getProof": `["0x00000000000000000000000000000000000000aa",[` + many + `],"latest"]`,
	} {
		raw := []byte(params)
		var err error
		bytes := allocated(func() { _, err = n.Call(t.Context(), method, raw) })
		if !errors.Is(err, nodegate.InvalidParams) || bytes > 64<<10 || asked != 0 {
			t.Errorf("%s: %v, %d bytes allocated, asked %d times", method, err, bytes, asked)
		}
	}
	long := []byte(`["0x` + strings.Repeat("00", 2<<20) + `"]`)
	if _, err := n.Call(t.Context(), "eth_sendRawTransaction", long); err != nil || asked != 1 {
		t.Errorf("one long value: %v", err)
	}
}

// TestFewParamsPass leaves some parameters too many to the node.
func TestFewParamsPass(t *testing.T) {
	asked := 0
	n := New(askedNode{&asked}, Config{})
	for i, params := range []string{"[]", "[1,2,3]", "[" + strings.Repeat("1,", maxParams-1) + "1]", `["` + strings.Repeat(",", 1000) + `"]`, " [ 1 , [" + strings.Repeat("1,", 100) + "1] ] "} {
		if _, err := n.Call(t.Context(), "eth_neverHeardOf", []byte(params)); err != nil || asked != i+1 {
			t.Errorf("%.50s: %v", params, err)
		}
	}
	if _, err := n.Call(t.Context(), "eth_neverHeardOf", []byte("["+strings.Repeat("1,", maxParams)+"1]")); !errors.Is(err, nodegate.InvalidParams) {
		t.Errorf("one too many: %v", err)
	}
}

// askedNode counts how often it is asked.
type askedNode struct{ times *int }

func (n askedNode) Call(context.Context, string, []byte) ([]byte, error) {
	*n.times++
	return []byte(`"0x"`), nil
}

func (askedNode) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{}, nil }

func (askedNode) Subscribe(context.Context, []byte, nodegate.Take) error { return nil }
