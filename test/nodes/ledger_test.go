package nodes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// presets are the built-in chains, which have every type of transaction, as two nodes that
// answer as Geth does.
func presets(t *testing.T) *front {
	t.Helper()
	return &front{Service: harness.Start(t, func(c *config.Config) {
		c.Networks = []config.Network{
			{Name: "dev", Dialect: "standard", Embedded: &config.Embedded{Preset: "devnet"}, Namespaces: []string{"evm", "debug"}},
			{Name: "rollup", Dialect: "standard", Embedded: &config.Embedded{Preset: "rollup"}, Namespaces: []string{"debug"}},
		}
		c.DefaultNetwork = "dev"
	})}
}

// counter stands before a node and counts calls by method and parameters. The looks at a
// node's head are not counted.
type counter struct {
	url   string
	mu    sync.Mutex
	calls map[string]int
	cut   bool // nothing is answered any more

	passing sync.RWMutex // held by requests
}

func countCalls(t *testing.T, to string) *counter {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{calls: map[string]int{}}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.passing.RLock()
		defer c.passing.RUnlock()
		body, _ := io.ReadAll(r.Body) // what is cut short isn't counted
		if !c.note(body) {
			http.Error(w, "cut", http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// note counts a request. It is false when the node is cut off.
func (c *counter) note(body []byte) bool {
	var call struct {
		Method string
		Params json.RawMessage
	}
	err := json.Unmarshal(body, &call)
	c.mu.Lock()
	defer c.mu.Unlock()
	looks := bytes.Contains(call.Params, []byte(`"latest"`)) || bytes.Contains(call.Params, []byte(`"safe"`)) || bytes.Contains(call.Params, []byte(`"finalized"`))
	genesis := string(call.Params) == `["0x0",false]` // who else looks which chain it is, doesn't matter
	if err == nil && strings.HasPrefix(call.Method, "eth_get") && !looks && !genesis {
		c.calls[call.Method+" "+string(call.Params)]++
	}
	return !c.cut
}

// setCut cuts the node off, or ends that. Nothing that it answers then is from before.
func (c *counter) setCut(cut bool) {
	c.passing.Lock()
	defer c.passing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

// take returns what was counted since the last time: all of it, and what was asked twice.
func (c *counter) take() (all map[string]int, twice []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.calls = c.calls, map[string]int{}
	for call, n := range all {
		if n > 1 {
			twice = append(twice, call)
		}
	}
	return all, twice
}

// untilLedger waits until the ledger of a network has a block.
func (f *front) untilLedger(t *testing.T, network string, number uint64) {
	t.Helper()
	var got answer
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = f.call(t, network, "eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, number)); got.header.Get("X-Cache") == "ledger" {
			return
		}
	}
	t.Fatalf("the ledger of %s doesn't have block %d: %+v", network, number, got)
}

// lookup is one call whose answers are compared.
type lookup struct{ method, params string }

// lookupsOf are all lookups of a block, as a node describes it.
func lookupsOf(t *testing.T, node *front, network string, number uint64) []lookup {
	t.Helper()
	var b struct {
		Hash         string
		Transactions []string
	}
	at := fmt.Sprintf("%#x", number)
	if err := json.Unmarshal([]byte(node.call(t, network, "eth_getBlockByNumber", `["`+at+`",false]`).result), &b); err != nil {
		t.Fatal(err)
	}
	list := []lookup{
		{"eth_getBlockByNumber", `["` + at + `",true]`}, {"eth_getBlockByNumber", `["` + at + `",false]`},
		{"eth_getBlockByHash", `["` + b.Hash + `",true]`}, {"eth_getBlockByHash", `["` + b.Hash + `",false]`},
		{"eth_getHeaderByNumber", `["` + at + `"]`}, {"eth_getHeaderByHash", `["` + b.Hash + `"]`},
		{"eth_getBlockReceipts", `["` + at + `"]`}, {"eth_getBlockReceipts", `["` + b.Hash + `"]`},
		{"eth_getBlockTransactionCountByNumber", `["` + at + `"]`}, {"eth_getBlockTransactionCountByHash", `["` + b.Hash + `"]`},
		{"eth_getUncleCountByBlockNumber", `["` + at + `"]`}, {"eth_getUncleCountByBlockHash", `["` + b.Hash + `"]`},
		{"eth_getUncleByBlockNumberAndIndex", `["` + at + `","0x0"]`}, {"eth_getUncleByBlockHashAndIndex", `["` + b.Hash + `","0x0"]`},
		{"debug_getRawHeader", `["` + at + `"]`}, {"debug_getRawHeader", `["` + b.Hash + `"]`},
		{"debug_getRawBlock", `["` + at + `"]`}, {"debug_getRawBlock", `["` + b.Hash + `"]`},
		{"debug_getRawReceipts", `["` + at + `"]`}, {"debug_getRawReceipts", `["` + b.Hash + `"]`},
	}
	for i, tx := range b.Transactions {
		index := fmt.Sprintf("%#x", i)
		list = append(list, lookup{"eth_getTransactionByHash", `["` + tx + `"]`}, lookup{"eth_getTransactionReceipt", `["` + tx + `"]`},
			lookup{"eth_getRawTransactionByHash", `["` + tx + `"]`}, lookup{"debug_getRawTransaction", `["` + tx + `"]`},
			lookup{"eth_getRawTransactionByBlockHashAndIndex", `["` + b.Hash + `","` + index + `"]`},
			lookup{"eth_getRawTransactionByBlockNumberAndIndex", `["` + at + `","` + index + `"]`},
			lookup{"eth_getTransactionByBlockHashAndIndex", `["` + b.Hash + `","` + index + `"]`},
			lookup{"eth_getTransactionByBlockNumberAndIndex", `["` + at + `","` + index + `"]`})
	}
	return list
}

// height is the newest block of a node.
func height(t *testing.T, node *front, network string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.Trim(node.call(t, network, "eth_blockNumber", "[]").result, `"`), 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// same compares the ledger's answers for blocks with the node's, byte by byte, and returns
// how many there were.
func (f *front) same(t *testing.T, network string, node *front, of string, first, last uint64) (compared int) {
	t.Helper()
	for n := first; n <= last; n++ {
		for _, l := range lookupsOf(t, node, of, n) {
			got := f.sameBytes(t, network, node, of, l)
			if got.header.Get("X-Cache") != "ledger" || !strings.HasPrefix(got.header.Get("X-Verified"), "roots; agreed=") {
				t.Errorf("%s %s is answered with X-Cache %q and X-Verified %q", l.method, l.params, got.header.Get("X-Cache"), got.header.Get("X-Verified"))
			}
			if compared++; t.Failed() {
				t.FailNow()
			}
		}
	}
	return compared
}

// sameBytes compares one answer with the node's.
func (f *front) sameBytes(t *testing.T, network string, node *front, of string, l lookup) answer {
	t.Helper()
	want := node.call(t, of, l.method, l.params)
	got := f.call(t, network, l.method, l.params)
	if got.result != want.result || want.result == "" {
		t.Errorf("%s %s\nis   %s\nwant %s", l.method, l.params, got.result, want.result)
	}
	return got
}

const withLedger = "    dialect: standard\n    namespaces: [debug]\n    ledger: {blocks: 1000}\n"

// TestLedger: every lookup of every block of both built-in chains, with all types of
// transactions, has the bytes that the node answers with. The node is asked for each block
// and its receipts once.
func TestLedger(t *testing.T) {
	node := presets(t)
	for name, first := range map[string]uint64{"dev": 0, "rollup": 13} {
		t.Run(name, func(t *testing.T) {
			c := countCalls(t, node.URL(name, key))
			f := startFront(t, "networks:\n"+network("main", withLedger, c.url))
			f.ready(t)
			last := height(t, node, name)
			f.untilLedger(t, "main", last)
			all, twice := c.take()
			if blocks := int(last - first + 1); len(all) < blocks || len(all) > 2*blocks || len(twice) > 0 {
				t.Errorf("%d blocks took %d calls: %v twice", blocks, len(all), twice)
			}
			n := f.same(t, "main", node, name, first, last)
			t.Logf("%d lookups have the node's bytes", n)
			if all, _ := c.take(); len(all) > 0 {
				t.Errorf("lookups were passed on: %v", all)
			}
		})
	}
}

// TestConformanceLedger is TestLedger on the chain of the official test files, which has blocks
// from before the merge with uncles, and receipts with a root instead of a status.
func TestConformanceLedger(t *testing.T) {
	dir := harness.Conformance(t)
	node := &front{Service: harness.Start(t, func(c *config.Config) {
		c.Networks = []config.Network{{
			Name: "compat", Dialect: "standard", Namespaces: []string{"debug"},
			Embedded: &config.Embedded{Genesis: filepath.Join(dir, "genesis.json"), Chain: filepath.Join(dir, "chain.rlp")},
		}}
		c.DefaultNetwork = "compat"
	})}
	f := startFront(t, "networks:\n"+network("main", withLedger, node.URL("compat", key)))
	f.ready(t)
	last := height(t, node, "compat")
	f.untilLedger(t, "main", last)
	compared, passed, uncles := 0, 0, 0
	for n := range last + 1 {
		if node.call(t, "compat", "eth_getUncleCountByBlockNumber", fmt.Sprintf(`["%#x"]`, n)).result == `"0x0"` {
			compared += f.same(t, "main", node, "compat", n, n)
			continue
		}
		uncles++ // the ledger has such a block, but not as a whole
		for _, l := range lookupsOf(t, node, "compat", n) {
			if compared++; f.sameBytes(t, "main", node, "compat", l).header.Get("X-Cache") != "ledger" {
				passed++
			}
		}
	}
	step := 10 // most queries differ only in the contract
	if full.Run() {
		step = 1
	}
	var queries []string
	for i, q := range logQueries(t, node, "compat", 0, last) {
		if i%step == 0 {
			queries = append(queries, q)
		}
	}
	f.sameLogs(t, "main", node, "compat", queries)
	t.Logf("%d lookups in %d blocks and %d log queries have the node's bytes; %d lookups in %d blocks with uncles went to the node", compared, last+1, len(queries), passed, uncles)
	if uncles == 0 || passed > 20*uncles {
		t.Errorf("%d lookups in %d blocks with uncles were passed on", passed, uncles)
	}
}

// TestLedgerFollows: while blocks come, each is fetched with two calls however many clients
// ask for it, and what clients ask at the head is never false.
func TestLedgerFollows(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	f := startFront(t, "networks:\n"+network("main", withLedger, c.url))
	f.ready(t)
	before := height(t, node, "dev")
	f.untilLedger(t, "main", before)
	c.take()
	p := newPayer(t, f, devchain.Accounts()[1])
	const blocks = 12
	for i := range blocks {
		hash := p.setValue(t, int64(i+1))
		f.reaches(t, before+uint64(i)+1)
		f.untilLedger(t, "main", before+uint64(i)+1)
		for range 5 {
			if got := f.call(t, "main", "eth_getTransactionReceipt", `["`+hash+`"]`); got.header.Get("X-Cache") != "ledger" || !strings.Contains(got.result, hash) {
				t.Errorf("the receipt of block %d: %+v", i, got)
			}
		}
	}
	f.same(t, "main", node, "dev", before, before+blocks)
	all, _ := c.take()
	perBlock := 0
	for call, n := range all {
		if strings.HasPrefix(call, "eth_getBlockReceipts ") || strings.HasSuffix(call, ",true]") {
			perBlock += n
		}
	}
	if perBlock != 2*blocks {
		t.Errorf("%d blocks took %d calls: %v", blocks, perBlock, all)
	}
}

// TestLedgerReorg: real reorgs of a node, of several depths. Afterwards the new blocks are
// answered, and the transactions that were taken back are unknown, as at the node.
func TestLedgerReorg(t *testing.T) {
	node := presets(t)
	f := startFront(t, "networks:\n"+network("main", withLedger+"    poll: 100ms\n", node.URL("dev", key)))
	f.ready(t)
	for round, depth := range []int{1, 2, 5} {
		base := height(t, node, "dev")
		f.reaches(t, base)
		f.untilLedger(t, "main", base)
		snapshot := node.call(t, "dev", "evm_snapshot", "[]").result
		p := newPayer(t, f, devchain.Accounts()[2+round]) // what was sent and taken back still counts in the nonce
		var gone []string
		for i := range depth {
			gone = append(gone, p.setValue(t, int64(100*depth+i)))
			f.reaches(t, base+uint64(i)+1)
		}
		f.untilLedger(t, "main", base+uint64(depth))
		for _, hash := range gone {
			if got := f.call(t, "main", "eth_getTransactionReceipt", `["`+hash+`"]`); got.header.Get("X-Cache") != "ledger" {
				t.Errorf("a receipt before the reorg: %+v", got)
			}
		}
		if got := node.call(t, "dev", "evm_revert", "["+snapshot+"]"); got.result != "true" {
			t.Fatalf("evm_revert: %+v", got)
		}
		node.call(t, "dev", "evm_increaseTime", "[100]")
		for range depth + 2 {
			node.call(t, "dev", "evm_mine", "[]")
		}
		f.reaches(t, base+uint64(depth)+2)
		last := height(t, node, "dev")
		f.untilLedger(t, "main", last)
		f.same(t, "main", node, "dev", base-3, last)
		for _, hash := range gone {
			for _, method := range []string{"eth_getTransactionReceipt", "eth_getTransactionByHash"} {
				got, want := f.call(t, "main", method, `["`+hash+`"]`), node.call(t, "dev", method, `["`+hash+`"]`)
				if got.result != want.result || strings.Contains(got.result, `"blockHash":"0x`) {
					t.Errorf("%s of a transaction that was taken back: %s, at the node %s", method, got.result, want.result)
				}
			}
		}
	}
}

// program starts and stops a front in one data folder.
func (f *front) program(t *testing.T) (start, stop func()) {
	t.Helper()
	start = func() {
		cfg := load(t, f.file)
		s, err := harness.Launch(cfg.Data, func(c *config.Config) { *c = *cfg })
		if err != nil {
			t.Fatal(err)
		}
		f.Service = s
	}
	stop = func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	return start, stop
}

// TestLedgerRestart: a server that starts again goes on with its copy, and asks only for the
// blocks that it missed.
func TestLedgerRestart(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	f := &front{file: filepath.Join(t.TempDir(), "nodegate.yaml")}
	f.write(t, "networks:\n"+network("main", withLedger, c.url))
	start, stop := f.program(t)
	start()
	f.ready(t)
	last := height(t, node, "dev")
	f.untilLedger(t, "main", last)
	stop()
	for range 3 {
		node.call(t, "dev", "evm_mine", "[]")
	}
	c.take()
	start()
	defer stop()
	f.ready(t)
	f.reaches(t, last+3)
	f.untilLedger(t, "main", last+3)
	all, _ := c.take()
	asked := 0
	for call := range all {
		if strings.HasSuffix(call, ",true]") || strings.HasPrefix(call, "eth_getBlockReceipts") {
			asked++
		}
	}
	if asked != 3 { // empty blocks have no receipts to ask for
		t.Errorf("three missed blocks took %v", all)
	}
	f.same(t, "main", node, "dev", 0, last+3)
}

// TestLedgerReload: a reload that opens the network again goes on with the same copy, and one
// that turns the ledger off passes everything on. No request fails meanwhile.
func TestLedgerReload(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	f := startFront(t, "networks:\n"+network("main", withLedger, c.url))
	f.ready(t)
	last := height(t, node, "dev")
	f.untilLedger(t, "main", last)
	c.take()
	stop, failed := f.load(t, "main")
	f.reload(t, "networks:\n"+network("main", withLedger+"    max_lag: 9\n", c.url))
	f.untilLedger(t, "main", last)
	node.call(t, "dev", "evm_mine", "[]")
	f.reaches(t, last+1)
	f.untilLedger(t, "main", last+1)
	all, _ := c.take()
	for call := range all {
		if strings.HasSuffix(call, ",true]") && !strings.Contains(call, fmt.Sprintf(`"%#x"`, last+1)) || strings.HasPrefix(call, "eth_getBlockReceipts") {
			t.Errorf("the copy was fetched again: %s", call)
		}
	}
	f.same(t, "main", node, "dev", 0, last+1)
	f.reload(t, "networks:\n"+network("main", "    dialect: standard\n", c.url))
	if got := f.call(t, "main", "eth_getBlockByNumber", `["0x3",true]`); got.result == "" || got.header.Get("X-Cache") == "ledger" || got.header.Get("X-Verified") != "header; agreed=1" {
		t.Errorf("without a ledger: %.60s %v", got.result, got.header)
	}
	f.reload(t, "networks:\n"+network("main", withLedger, c.url))
	f.untilLedger(t, "main", last+1)
	stop()
	if n := failed.Load(); n != 0 {
		t.Errorf("%d requests failed", n)
	}
}

// TestLedgerDialects: what clients get from the ledger is what they get from a node, in
// every dialect.
func TestLedgerDialects(t *testing.T) {
	node := presets(t)
	direct := node.URL("dev", key)
	yaml := "networks:\n"
	dialects := []string{"spec", "strict", "standard"}
	for _, d := range dialects {
		yaml += network("ledger-"+d, "    dialect: "+d+"\n    namespaces: [debug]\n    ledger: {blocks: 50}\n", direct) +
			network("plain-"+d, "    dialect: "+d+"\n    namespaces: [debug]\n", direct)
	}
	f := startFront(t, yaml)
	f.ready(t)
	last := height(t, node, "dev")
	for _, d := range dialects {
		f.untilLedger(t, "ledger-"+d, last)
		for n := range last + 1 {
			for _, l := range lookupsOf(t, node, "dev", n) {
				got, want := f.call(t, "ledger-"+d, l.method, l.params), f.call(t, "plain-"+d, l.method, l.params)
				if got.result != want.result || got.header.Get("X-Cache") != "ledger" || want.result == "" {
					t.Fatalf("%s: %s %s\nis   %s\nwant %s", d, l.method, l.params, got.result, want.result)
				}
			}
		}
	}
}

// TestLedgerLiar: of two nodes one lies. Nothing false is answered or stored, also when the
// liar is the only node left.
func TestLedgerLiar(t *testing.T) {
	node := presets(t)
	direct := node.URL("dev", key)
	liar, told := startLiar(t, direct)
	honest := countCalls(t, direct)
	f := startFront(t, "networks:\n"+network("main", withLedger, liar, honest.url))
	f.ready(t)
	last := height(t, node, "dev")
	f.untilLedger(t, "main", last)
	f.same(t, "main", node, "dev", 0, last)
	honest.setCut(true)
	for range 3 {
		node.call(t, "dev", "evm_mine", "[]")
	}
	time.Sleep(3 * time.Second)
	for n := last + 1; n <= last+3; n++ {
		for _, l := range lookupsOf(t, node, "dev", n) {
			if got := f.call(t, "main", l.method, l.params); got.header.Get("X-Cache") == "ledger" && strings.Contains(got.result, lieMark) {
				t.Errorf("a lie is answered as verified: %s %s", l.method, got.result)
			}
		}
	}
	if told.Load() == 0 {
		t.Error("no lie was told: the test shows nothing")
	}
	if found := inFiles(t, filepath.Join(f.Dir, "ledger"), []byte{0x5e, 0xed, 0x5e, 0xed}); found != "" {
		t.Errorf("a lie is in %s", found)
	}
}

// inFiles finds bytes in the files of a folder. The newest blocks are not compressed yet.
func inFiles(t *testing.T, dir string, what []byte) (found string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files++
		if bytes.Contains(data, what) {
			found = path
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%s has %d files: %v", dir, files, err)
	}
	return found
}

// TestLedgerWithoutNodes: what a hash names is answered while no node is there, and nothing
// is said about what may have changed.
func TestLedgerWithoutNodes(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	f := startFront(t, "networks:\n"+network("main", withLedger, c.url))
	f.ready(t)
	last := height(t, node, "dev")
	f.untilLedger(t, "main", last)
	c.setCut(true)
	for _, l := range lookupsOf(t, node, "dev", last) {
		if !strings.Contains(l.method, "ByHash") && !strings.Contains(l.method, "ByBlockHash") || strings.Contains(l.method, "TransactionByHash") {
			continue
		}
		if got, want := f.call(t, "main", l.method, l.params), node.call(t, "dev", l.method, l.params); got.result != want.result {
			t.Errorf("%s without nodes: %+v", l.method, got)
		}
	}
}
