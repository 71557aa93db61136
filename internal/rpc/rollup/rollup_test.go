package rollup

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodegate/nodegate"
)

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }

// script is a node that answers from a table: "method" or "method params" to a
// JSON value, or to an error. It notes what it was asked.
type script struct {
	answers map[string]any
	mu      sync.Mutex
	asked   []string
}

func (s *script) Call(_ context.Context, method string, params []byte) ([]byte, error) {
	s.mu.Lock()
	s.asked = append(s.asked, method+" "+string(params))
	s.mu.Unlock()
	answer, ok := s.answers[method+" "+string(params)]
	if !ok {
		answer, ok = s.answers[method]
	}
	if !ok {
		return nil, &nodegate.Error{Code: nodegate.MethodNotFound, Msg: "no " + method}
	}
	if err, ok := answer.(error); ok {
		return nil, err
	}
	return []byte(answer.(string)), nil
}

func (s *script) Head(context.Context) (nodegate.Head, error) {
	return nodegate.Head{Number: 12, GasLimit: 34}, nil
}

// feed is a script that can push.
type feed struct{ *script }

func (feed) Subscribe(_ context.Context, params []byte, take nodegate.Take) error {
	take(params, nodegate.NotEnded)
	return nil
}

const (
	pricedExtra = "0x0100007530000f42400000000000000000000000000000000000000000000000"
	idleBlock   = `{"number":"0x5","baseFeePerGas":"0x7","gasLimit":"0x1c9c380","gasUsed":"0x0","extraData":"` + pricedExtra + `"}`
	tenEther    = `"0x8ac7230489e80000"`
)

// chainScript answers for a rollup at rest: base fee 7, fixed cost 0.03 gwei,
// variable cost 1 gwei, a transfer's gas.
func chainScript(changes map[string]any) *script {
	answers := map[string]any{
		"eth_getBlockByNumber": idleBlock, "eth_getBlockByHash": idleBlock,
		"eth_estimateGas": `"0x5208"`, "eth_getBalance": tenEther,
		"eth_getTransactionCount": `"0x0"`, "eth_chainId": `"0x53a"`,
	}
	for k, v := range changes {
		answers[k] = v
	}
	return &script{answers: answers}
}

func newNode(t testing.TB, next nodegate.Node, cfg Config) *Node {
	t.Helper()
	n, err := New(next, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func wantError(t testing.TB, err error, code nodegate.Code, msg string) {
	t.Helper()
	var e *nodegate.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v (%T), want %v %q", err, err, code, msg)
	}
	if e.Code != code || !strings.HasPrefix(e.Msg, msg) {
		t.Errorf("error is %v %q, want %v %q", e.Code, e.Msg, code, msg)
	}
}

func TestPassesOn(t *testing.T) {
	fault := &nodegate.Error{Code: nodegate.NodeFault, Number: -39000, Msg: "own"}
	next := &script{answers: map[string]any{"eth_call": `"0x01"`, "eth_sendRawTransaction": fault}}
	n := newNode(t, next, Config{})
	if got, err := n.Call(t.Context(), "eth_call", []byte(`[ {} ]`)); err != nil || string(got) != `"0x01"` {
		t.Errorf("call: %s, %v", got, err)
	}
	if _, err := n.Call(t.Context(), "eth_sendRawTransaction", nil); err != fault {
		t.Errorf("error: %v", err)
	}
	if want := []string{"eth_call [ {} ]", "eth_sendRawTransaction "}; !slices.Equal(next.asked, want) {
		t.Errorf("asked %q, want %q", next.asked, want)
	}
	if head, err := n.Head(t.Context()); err != nil || head != (nodegate.Head{Number: 12, GasLimit: 34}) {
		t.Errorf("head: %v, %v", head, err)
	}
}

func TestSubscribe(t *testing.T) {
	err := newNode(t, &script{}, Config{}).Subscribe(t.Context(), nil, nil)
	wantError(t, err, nodegate.MethodNotFound, "the method eth_subscribe does not exist/is not available")

	var got []byte
	err = newNode(t, feed{&script{}}, Config{}).Subscribe(t.Context(), []byte(`["newHeads"]`), func(event []byte, _ nodegate.End) { got = event })
	if err != nil || string(got) != `["newHeads"]` {
		t.Errorf("event %s, %v", got, err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]Config{
		"margin":        {Margin: -1},
		"margin NaN":    {Margin: math.NaN()},
		"margin inf":    {Margin: math.Inf(1)},
		"multiplier":    {Multiplier: -0.5},
		"multiplier ∞":  {Multiplier: math.Inf(-1)},
		"fixed":         {FixedCostWei: -1},
		"fixed high":    {FixedCostWei: maxCostWei + 1},
		"variable":      {VariableCostWei: -1},
		"variable high": {VariableCostWei: math.MaxInt64},
		"concurrency":   {Concurrency: -1},
		"dictionary":    {Dictionary: make([]byte, maxDict+1)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(&script{}, cfg)
			wantError(t, err, nodegate.BadConfig, "rollup: ")
		})
	}
}

func TestDefaults(t *testing.T) {
	got := newNode(t, &script{}, Config{}).cfg
	if got.Margin != 1.2 || got.Multiplier != 1.2 || got.FixedCostWei != 30_000_000 ||
		got.VariableCostWei != 1_000_000_000 || got.Concurrency != 2 {
		t.Errorf("defaults are %+v", got)
	}
}
