package blocktag

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// script is a node that remembers what it was asked and whose head a test sets.
type script struct {
	mu    sync.Mutex
	head  nodegate.Head
	fails bool
	asked []string
}

func (s *script) Call(_ context.Context, name string, params []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, name+" "+string(params))
	return []byte(`"ok"`), nil
}

func (s *script) Head(context.Context) (nodegate.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return nodegate.Head{}, &nodegate.Error{Code: nodegate.NoNode}
	}
	return s.head, nil
}

func (s *script) set(h nodegate.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = h
}

const blockHash = `"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`

// TestResolve: the head is 0x64, safe 0x5f, finalized 0x5a. An empty want is "as it was".
func TestResolve(t *testing.T) {
	for _, c := range []struct{ name, params, want string }{
		{"eth_call", `[{"to":"0x1"},"latest"]`, `[{"to":"0x1"},"0x64"]`},
		{"eth_call", `[{"to":"0x1"},"safe"]`, `[{"to":"0x1"},"0x5f"]`},
		{"eth_call", `[{"to":"0x1"},"finalized"]`, `[{"to":"0x1"},"0x5a"]`},
		{"eth_call", `[{"to":"0x1"},"earliest"]`, `[{"to":"0x1"},"0x0"]`},
		{"eth_call", `[{"to":"0x1"},"pending"]`, ""},
		{"eth_call", `[{"to":"0x1"},"0x10"]`, ""},
		{"eth_call", `[{"to":"0x1"},` + blockHash + `]`, ""},
		{"eth_call", `[{"to":"0x1"}]`, `[{"to":"0x1"},"0x64"]`},
		{"eth_call", `[{"to":"0x1"},null]`, `[{"to":"0x1"},"0x64"]`},
		{"eth_call", `[{"to":"0x1"},null,{"0x2":{"balance":"0x1"}}]`, `[{"to":"0x1"},"0x64",{"0x2":{"balance":"0x1"}}]`},
		{"eth_call", `[{"to":"0x1"},"latest",{"z":{},"a":{}},{"b":1}]`, `[{"to":"0x1"},"0x64",{"z":{},"a":{}},{"b":1}]`},
		{"eth_call", `[{"to":"0x1"},{"blockNumber":"latest"}]`, `[{"to":"0x1"},"0x64"]`},
		{"eth_call", `[{"to":"0x1"},{"blockNumber":"finalized","requireCanonical":false}]`, `[{"to":"0x1"},"0x5a"]`},
		{"eth_call", `[{"to":"0x1"},{"blockNumber":"0x10"}]`, `[{"to":"0x1"},"0x10"]`},
		{"eth_call", `[{"to":"0x1"},{"blockNumber":"pending"}]`, `[{"to":"0x1"},"pending"]`},
		{"eth_call", `[{"to":"0x1"},{"blockHash":` + blockHash + `}]`, ""},
		{"eth_call", `[{"to":"0x1"},{"blockHash":` + blockHash + `,"blockNumber":"latest"}]`, ""},
		{"eth_call", `[{"to":"0x1"},{"blockNumber":5}]`, ""},
		{"eth_call", `[{"to":"0x1"},{}]`, ""},
		{"eth_call", `[]`, ""},
		{"eth_call", ``, ""},
		{"eth_call", `[{"to":"0x1"},"Latest"]`, ""},
		{"eth_call", `[{"to":"latest"},"0x1"]`, ""},
		{"eth_estimateGas", `[{},"latest"]`, `[{},"0x64"]`},
		{"eth_estimateGas", `[{}]`, `[{},"0x64"]`},
		{"eth_createAccessList", `[{}]`, `[{},"0x64"]`},
		{"eth_simulateV1", `[{}]`, `[{},"0x64"]`},
		{"layer2_estimateGas", `[{},"latest",{"a":{}}]`, `[{},"0x64",{"a":{}}]`},
		{"debug_traceCall", `[{},"latest",{"tracer":"callTracer"}]`, `[{},"0x64",{"tracer":"callTracer"}]`},
		{"debug_traceCall", `[{}]`, ""}, // a node insists on it, and words it
		{"eth_getStorageAt", `["0x1","0x0","latest"]`, `["0x1","0x0","0x64"]`},
		{"eth_getProof", `["0x1",["0x0"],"safe"]`, `["0x1",["0x0"],"0x5f"]`},
		{"eth_getBalance", `["0x1","latest"]`, `["0x1","0x64"]`},
		{"eth_getBalance", `["0x1",{"blockNumber":"latest"}]`, `["0x1","0x64"]`},
		{"eth_getBalance", `["0x1"]`, ""},
		{"eth_getBalance", `["latest","0x1"]`, ""},
		{"eth_getCode", `["0x1","latest"]`, `["0x1","0x64"]`},
		{"eth_getTransactionCount", `["0x1","latest"]`, `["0x1","0x64"]`},
		{"eth_getTransactionCount", `["0x1","pending"]`, ""},
		{"eth_getBlockByNumber", `["latest",true]`, `["0x64",true]`},
		{"eth_getBlockByNumber", `["latest"]`, `["0x64"]`},
		{"eth_getBlockByNumber", `["pending",true]`, ""},
		{"eth_getBlockByNumber", `[{"blockNumber":"latest"},true]`, ""}, // takes no objects
		{"eth_getBlockByNumber", `[null,true]`, ""},
		{"eth_getBlockReceipts", `["finalized"]`, `["0x5a"]`},
		{"eth_getBlockTransactionCountByNumber", `["latest"]`, `["0x64"]`},
		{"eth_getTransactionByBlockNumberAndIndex", `["earliest","0x0"]`, `["0x0","0x0"]`},
		{"eth_feeHistory", `["0x5","latest",[25,50]]`, `["0x5","0x64",[25,50]]`},
		{"eth_feeHistory", `["0x5","pending",[]]`, ""},

		{"eth_getLogs", `[{"fromBlock":"earliest","toBlock":"latest"}]`, `[{"fromBlock":"0x0","toBlock":"0x64"}]`},
		{"eth_getLogs", `[{"topics":[null],"toBlock":"safe","address":"0x1","fromBlock":"finalized"}]`, `[{"topics":[null],"toBlock":"0x5f","address":"0x1","fromBlock":"0x5a"}]`},
		{"eth_getLogs", `[{"fromBlock":"0x1"}]`, `[{"fromBlock":"0x1","toBlock":"0x64"}]`},
		{"eth_getLogs", `[{"toBlock":"0x70","address":"0x1"}]`, `[{"toBlock":"0x70","address":"0x1","fromBlock":"0x64"}]`},
		{"eth_getLogs", `[{}]`, `[{"fromBlock":"0x64","toBlock":"0x64"}]`},
		{"eth_getLogs", `[{"fromBlock":null,"toBlock":null}]`, `[{"fromBlock":"0x64","toBlock":"0x64"}]`},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x2"}]`, ""},
		{"eth_getLogs", `[{"fromBlock":"latest","toBlock":"pending"}]`, `[{"fromBlock":"0x64","toBlock":"pending"}]`},
		{"eth_getLogs", `[{"blockHash":` + blockHash + `}]`, ""},
		{"eth_getLogs", `[{"blockHash":` + blockHash + `,"fromBlock":"latest"}]`, ""},
		{"eth_getLogs", `[{"x":{"fromBlock":"latest"},"fromBlock":"latest","toBlock":"0x1"}]`, ""}, // no client's form
		{"eth_getLogs", `[{"fromBloc\u006b":"latest","toBlock":"0x1"}]`, ""},
		{"eth_getLogs", `[]`, ""},
		{"eth_getLogs", `[5]`, ""},
		{"eth_newFilter", `[{"fromBlock":"latest"}]`, ""}, // the node follows the tag

		{"eth_getTransactionReceipt", `[` + blockHash + `]`, ""},
		{"eth_gasPrice", `[]`, ""},
		{"eth_blockNumber", `[1]`, ""}, // for the node to refuse
		{"foo_bar", `["latest"]`, ""},
	} {
		node := &script{head: nodegate.Head{Number: 100, Safe: 95, Finalized: 90}}
		if _, err := New(node).Call(t.Context(), c.name, []byte(c.params)); err != nil {
			t.Errorf("%s %s: %v", c.name, c.params, err)
		}
		want := c.want
		if want == "" {
			want = c.params
		}
		if got := strings.Join(node.asked, "\n"); got != c.name+" "+want {
			t.Errorf("%s %s became %s", c.name, c.params, got)
		}
	}
}

// TestNoSafeBlock: a chain that has no safe or finalized block gets the tag itself.
func TestNoSafeBlock(t *testing.T) {
	node := &script{head: nodegate.Head{Number: 100}}
	n := New(node)
	for _, params := range []string{`[{},"safe"]`, `[{},"finalized"]`} {
		if _, err := n.Call(t.Context(), "eth_call", []byte(params)); err != nil || node.asked[len(node.asked)-1] != "eth_call "+params {
			t.Errorf("%s became %q, %v", params, node.asked, err)
		}
	}
}

// TestCallersParams: the caller's bytes stay as they were.
func TestCallersParams(t *testing.T) {
	for name, params := range map[string]string{"eth_call": `[{},"latest"]`, "eth_getLogs": `[{"fromBlock":"latest"}]`} {
		given := append(make([]byte, 0, 200), params...)
		if _, err := New(&script{}).Call(t.Context(), name, given); err != nil || string(given) != params {
			t.Errorf("%s became %s, %v", params, given, err)
		}
	}
}

// TestWithoutHead: a tag has no meaning without a head; a number has.
func TestWithoutHead(t *testing.T) {
	node := &script{fails: true}
	n := New(node)
	for name, params := range map[string]string{"eth_call": `[{},"latest"]`, "eth_getLogs": `[{}]`, "eth_blockNumber": `[]`} {
		if _, err := n.Call(t.Context(), name, []byte(params)); !errors.Is(err, nodegate.NoNode) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := n.Head(t.Context()); !errors.Is(err, nodegate.NoNode) {
		t.Errorf("head: %v", err)
	}
	if _, err := n.Call(t.Context(), "eth_call", []byte(`[{},"0x1"]`)); err != nil || len(node.asked) != 1 {
		t.Errorf("a number: %v, asked %q", err, node.asked)
	}
}

// TestForward: whatever order heads come in, on whatever goroutine, nobody sees a
// number go down, and eth_blockNumber, Head and the tags agree.
func TestForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node := &script{}
		n := New(node)
		heads := rapid.SliceOfN(rapid.Custom(anyHead), 1, 40).Draw(t, "heads")
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { watch(t, n, len(heads)) })
		}
		most := nodegate.Head{}
		for _, h := range heads {
			node.set(h)
			most.Number, most.Safe, most.Finalized = max(most.Number, h.Number), max(most.Safe, h.Safe), max(most.Finalized, h.Finalized)
			if got, err := n.Head(context.Background()); err != nil || got.Number != most.Number || got.Safe != most.Safe || got.Finalized != most.Finalized {
				t.Errorf("the head is %+v, %v, want %+v", got, err, most)
			}
		}
		all.Wait()
	})
}

func anyHead(t *rapid.T) nodegate.Head {
	return nodegate.Head{
		Number: rapid.Uint64Range(0, 40).Draw(t, "number"), GasLimit: rapid.Uint64Range(1, 3).Draw(t, "gas"),
		Safe: rapid.Uint64Range(0, 30).Draw(t, "safe"), Finalized: rapid.Uint64Range(0, 20).Draw(t, "finalized"),
	}
}

// watch reads the head in every way there is.
func watch(t *rapid.T, n *Node, times int) {
	last := nodegate.Head{}
	for range times {
		head, err := n.Head(context.Background())
		if err != nil || head.Number < last.Number || head.Safe < last.Safe || head.Finalized < last.Finalized {
			t.Errorf("the head went from %+v to %+v, %v", last, head, err)
		}
		last = head
		text, err := n.Call(context.Background(), "eth_blockNumber", nil)
		told, bad := strconv.ParseUint(strings.Trim(string(text), `"`), 0, 64)
		if err != nil || bad != nil || told < last.Number {
			t.Errorf("eth_blockNumber is %s, %v after %d", text, err, last.Number)
		}
		last.Number = max(last.Number, told)
		v, err := n.view(context.Background())
		if err != nil || string(v.number(latest)) != fmt.Sprintf(`"%#x"`, v.Number) || v.Number < last.Number {
			t.Errorf("latest is %s, %v after %d", v.number(latest), err, last.Number)
		}
		last.Number = max(last.Number, v.Number)
	}
}

// TestSetBack: only a new fork lowers the head, and a late reader of the old one
// doesn't raise it again.
func TestSetBack(t *testing.T) {
	node := &script{}
	n := New(node)
	for _, c := range []struct{ head, want nodegate.Head }{
		{nodegate.Head{Number: 100, Safe: 95, Finalized: 90, Fork: 1}, nodegate.Head{Number: 100, Safe: 95, Finalized: 90, Fork: 1}},
		{nodegate.Head{Number: 98, Safe: 80, Finalized: 80, Fork: 1}, nodegate.Head{Number: 100, Safe: 95, Finalized: 90, Fork: 1}},
		{nodegate.Head{Number: 100, Safe: 94, Finalized: 90, Fork: 2}, nodegate.Head{Number: 100, Safe: 95, Finalized: 90, Fork: 2}},
		{nodegate.Head{Number: 7, Fork: 3}, nodegate.Head{Number: 7, Fork: 3}},
		{nodegate.Head{Number: 101, Safe: 95, Finalized: 90, Fork: 2}, nodegate.Head{Number: 7, Fork: 3}},
		{nodegate.Head{Number: 8, Fork: 3}, nodegate.Head{Number: 8, Fork: 3}},
	} {
		node.set(c.head)
		if got, err := n.Head(t.Context()); err != nil || got != c.want {
			t.Errorf("after %+v the head is %+v, %v, want %+v", c.head, got, err, c.want)
		}
	}
}

// feed is a node that pushes events.
type feed struct{ script }

func (f *feed) Subscribe(_ context.Context, params []byte, take nodegate.Take) error {
	f.asked = append(f.asked, string(params))
	take(params, nodegate.NotEnded)
	return nil
}

func TestSubscribe(t *testing.T) {
	if err := New(&script{}).Subscribe(t.Context(), nil, nil); !errors.Is(err, nodegate.MethodNotFound) {
		t.Errorf("a node without events: %v", err)
	}
	node := &feed{}
	taken := 0
	if err := New(node).Subscribe(t.Context(), []byte(`["newHeads"]`), func([]byte, nodegate.End) { taken++ }); err != nil || len(node.asked) != 1 || taken != 1 {
		t.Errorf("%v, asked %q, %d events", err, node.asked, taken)
	}
}

// quiet answers at once and keeps nothing.
type quiet struct{}

func (quiet) Call(context.Context, string, []byte) ([]byte, error) { return nil, nil }
func (quiet) Head(context.Context) (nodegate.Head, error) {
	return nodegate.Head{Number: 20_000_000, Safe: 19_999_960, Finalized: 19_999_930, Fork: 1}, nil
}

var hot = []struct{ name, params string }{
	{"eth_getTransactionReceipt", `[` + blockHash + `]`},
	{"eth_blockNumber", `[]`},
	{"eth_call", `[{"from":"0x0000000000000000000000000000000000000000","to":"0x5fbdb2315678afecb367f032d93f642f64180aa3","gas":"0x2faf080","input":"0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"},"latest"]`},
	{"eth_getStorageAt", `["0x5fbdb2315678afecb367f032d93f642f64180aa3","0x0000000000000000000000000000000000000000000000000000000000000000","latest"]`},
	{"eth_getBalance", `["0x5fbdb2315678afecb367f032d93f642f64180aa3","0x1312d00"]`},
	{"eth_getLogs", `[{"address":"0x5fbdb2315678afecb367f032d93f642f64180aa3","fromBlock":"0x1312d00","toBlock":"latest"}]`},
}

// TestAllocations: what is called all the time costs next to nothing.
func TestAllocations(t *testing.T) {
	n := New(quiet{})
	for i, c := range hot {
		params, most := []byte(c.params), []float64{0, 0, 1, 1, 0, 1}[i]
		if got := testing.AllocsPerRun(100, func() { _, _ = n.Call(context.Background(), c.name, params) }); got > most {
			t.Errorf("%s allocates %v times, at most %v", c.name, got, most)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	n := New(quiet{})
	for _, c := range hot {
		b.Run(c.name, func(b *testing.B) {
			params := []byte(c.params)
			b.ReportAllocs()
			for range b.N {
				_, _ = n.Call(context.Background(), c.name, params)
			}
		})
	}
}

// TestBeside: a tag means the same block to both nodes, however old the head of one is.
func TestBeside(t *testing.T) {
	node, other := &script{head: nodegate.Head{Number: 100, Fork: 1}}, &script{head: nodegate.Head{Number: 90, Fork: 1}}
	n := New(node)
	if _, err := n.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Beside(other).Call(t.Context(), "eth_getLogs", []byte(`[{"fromBlock":"0x1","toBlock":"latest"}]`)); err != nil {
		t.Fatal(err)
	}
	if len(node.asked) != 0 || len(other.asked) != 1 || other.asked[0] != `eth_getLogs [{"fromBlock":"0x1","toBlock":"0x64"}]` {
		t.Errorf("asked %q and %q", node.asked, other.asked)
	}
}
