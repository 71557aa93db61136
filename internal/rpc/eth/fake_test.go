package eth

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/rollup"
)

// fakeNode remembers what it was asked and gives the answers it was given.
type fakeNode struct {
	head    nodegate.Head
	noHead  error
	answers map[string]string // by method, or by method and parameters
	asked   []string
}

func newFake() *fakeNode {
	return &fakeNode{head: nodegate.Head{Number: 200, GasLimit: 30_000_000}, answers: map[string]string{}}
}

func (f *fakeNode) Call(_ context.Context, method string, params []byte) ([]byte, error) {
	ask := method + " " + string(params)
	f.asked = append(f.asked, ask)
	for _, key := range []string{ask, method} {
		if answer, ok := f.answers[key]; ok {
			return []byte(answer), nil
		}
	}
	return []byte(`"0x"`), nil
}

func (f *fakeNode) Head(context.Context) (nodegate.Head, error) { return f.head, f.noHead }

// passed is the one thing that reached the node.
func (f *fakeNode) passed(t *testing.T) string {
	t.Helper()
	if len(f.asked) != 1 {
		t.Fatalf("the node was asked %q", f.asked)
	}
	return f.asked[0]
}

// limits are those of a network with nothing special about it.
func limits(d Dialect) Config { return Config{Dialect: d, LogBlocks: 10_000, LogResults: 10_000} }

var dialects = []struct {
	name string
	Dialect
}{{"spec", Spec}, {"strict", Strict}, {"standard", Standard}}

// wantError checks an error's code and the beginning of its message.
func wantError(t *testing.T, err error, code nodegate.Code, msg string) {
	t.Helper()
	var e *nodegate.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want the error %q", err, msg)
	}
	if e.Code != code || !strings.HasPrefix(e.Msg, msg) {
		t.Errorf("got %s %q, want %s %q", e.Code, e.Msg, code, msg)
	}
}

// The built-in chains, opened once: tests only read from them.
var (
	devnet = sync.OnceValue(func() nodegate.Node { return openPreset(devchain.Devnet()) })
	layer2 = sync.OnceValue(func() nodegate.Node {
		n, err := rollup.New(openPreset(devchain.Rollup()), rollup.Config{})
		if err != nil {
			panic(err)
		}
		return n
	})
)

// opened are the chains to close at the end: each has a folder for its keys.
var opened []*chain.Node

func TestMain(m *testing.M) {
	code := m.Run()
	for _, n := range opened {
		_ = n.Close()
	}
	os.Exit(code)
}

func openPreset(p devchain.Preset) nodegate.Node {
	n, err := chain.Open(chain.Config{
		Genesis: p.Genesis(), Chain: p.Chain, AnswerBytes: 32 << 20, StateBytes: 32 << 20,
		CallTimeout: 20 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	opened = append(opened, n)
	return n
}

// ask is a call that must succeed.
func ask(t testing.TB, n nodegate.Node, method, params string) string {
	t.Helper()
	result, err := n.Call(t.Context(), method, []byte(params))
	if err != nil {
		t.Fatalf("%s %s: %v", method, params, err)
	}
	return string(result)
}
