package form_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/test/full"
)

// TestChains compares what is written with what a complete go-ethereum node answers, for
// every block, transaction, receipt and log of chains that have all kinds of them.
func TestChains(t *testing.T) {
	full.Slow(t)
	for _, c := range []struct {
		name string
		make func(*testing.T) (*core.Genesis, []*types.Block)
		has  []string // what is in it at least
	}{
		{"devnet", func(t *testing.T) (*core.Genesis, []*types.Block) { return preset(t, devchain.Devnet()) }, everyType},
		{"rollup", func(t *testing.T) (*core.Genesis, []*types.Block) { return preset(t, devchain.Rollup()) }, everyType},
		{"conformance", conformance, append([]string{"receipts with a root", "uncles", "withdrawals"}, everyType...)},
		{"generated", func(t *testing.T) (*core.Genesis, []*types.Block) { return generated(t) }, append([]string{
			"type 0 unprotected creation", "type 1 creation", "type 2 creation", "uncles", "withdrawals", "receipts of failures",
			"logs with 0 topics", "logs with 1 topics", "logs with 2 topics", "logs with 3 topics", "logs with 4 topics",
		}, everyType...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			genesis, blocks := c.make(t)
			n := startNode(t, genesis, blocks)
			for number := range uint64(len(blocks) + 1) {
				n.compare(t, n.chain.GetBlockByNumber(number))
			}
			t.Logf("%d blocks, %d answers are the same: %v", len(blocks)+1, n.same, n.kinds)
			for _, kind := range c.has {
				if n.kinds[kind] == 0 {
					t.Errorf("the chain has no %s: the test compares less than it should", kind)
				}
			}
		})
	}
}

var everyType = []string{"type 0", "type 0 unprotected", "type 0 creation", "type 1", "type 2", "type 3", "type 4"}

// gethNode is a go-ethereum node that answers in process.
type gethNode struct {
	chain  *core.BlockChain
	client *rpc.Client
	writer *form.Writer
	same   int
	differ int
	kinds  map[string]int // what was compared
}

func startNode(t *testing.T, genesis *core.Genesis, blocks []*types.Block) *gethNode {
	t.Helper()
	stack, err := node.New(&node.Config{P2P: p2p.Config{NoDiscovery: true, NoDial: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stack.Close() })
	config := ethconfig.Defaults
	config.Genesis, config.SyncMode, config.StateScheme, config.NoPruning = genesis, ethconfig.FullSync, rawdb.HashScheme, true
	config.LogNoHistory, config.TxPool.NoLocals = true, true
	config.TrieCleanCache, config.TrieDirtyCache, config.SnapshotCache = 16, 16, 0
	backend, err := eth.New(stack, &config)
	if err != nil {
		t.Fatal(err)
	}
	system := filters.NewFilterSystem(backend.APIBackend, filters.Config{})
	stack.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(system)}})
	if err := stack.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := backend.BlockChain().InsertChain(blocks); err != nil {
		t.Fatal(err)
	}
	return &gethNode{chain: backend.BlockChain(), client: stack.Attach(), writer: form.New(), kinds: map[string]int{}}
}

// check compares an answer of the node with what was written after a prefix.
func (n *gethNode) check(t *testing.T, got []byte, ok bool, method string, params ...any) {
	t.Helper()
	var want json.RawMessage
	if err := n.client.CallContext(t.Context(), &want, method, params...); err != nil {
		t.Errorf("%s%v: %v", method, params, err)
		return
	}
	if !ok || !bytes.Equal(got, append([]byte(prefix), want...)) {
		t.Errorf("%s%v (%v):\ngot  %s\nwant %s%s", method, params, ok, got, prefix, want)
		if n.differ++; n.differ > 10 {
			t.FailNow()
		}
		return
	}
	n.same++
}

// prefix stands for an answer that is appended to.
const prefix = "before"

// rows is a block as a ledger has it.
type rows struct {
	block    form.Block
	txs      []*form.Tx
	receipts []*form.Receipt
}

func (r *rows) transactions() iter.Seq[*form.Tx] { return slices.Values(r.txs) }

func (r *rows) both() iter.Seq2[*form.Tx, *form.Receipt] {
	return func(yield func(*form.Tx, *form.Receipt) bool) {
		for i, tx := range r.txs {
			if !yield(tx, r.receipts[i]) {
				return
			}
		}
	}
}

// rows makes what a ledger stores of a block.
func (n *gethNode) rows(t *testing.T, b *types.Block) *rows {
	t.Helper()
	r := &rows{block: form.Block{Header: encode(t, b.Header())}}
	head, ok := n.writer.Head(r.block.Header)
	if !ok || head.Hash != b.Hash() {
		t.Fatalf("block %d: its header gives %+v", b.NumberU64(), head)
	}
	if b.ExcessBlobGas() != nil {
		head.HasBlobGasPrice = true
		eip4844.CalcBlobFee(n.chain.Config(), b.Header()).FillBytes(head.BlobGasPrice[:])
	}
	r.block.Head = &head
	for _, u := range b.Uncles() {
		r.block.Uncles = append(r.block.Uncles, u.Hash())
	}
	if b.Withdrawals() != nil {
		r.block.Withdrawals = encode(t, b.Withdrawals())
	}
	signer := types.MakeSigner(n.chain.Config(), b.Number(), b.Time())
	var raws [][]byte
	for i, tx := range b.Transactions() {
		from, err := types.Sender(signer, tx)
		if err != nil {
			t.Fatal(err)
		}
		raws = append(raws, binary(t, tx))
		r.txs = append(r.txs, &form.Tx{Index: uint64(i), Raw: raws[i], From: from})
	}
	r.block.Size = form.Size(r.block.Header, slices.Values(raws), encode(t, b.Uncles()), r.block.Withdrawals)
	n.addReceipts(t, r, b)
	return r
}

// addReceipts makes the rows of receipts, whose derived fields come from the rows alone.
func (n *gethNode) addReceipts(t *testing.T, r *rows, b *types.Block) {
	t.Helper()
	var gas, logs uint64
	var bloom [form.BloomBytes]byte
	for i, receipt := range n.chain.GetReceiptsByHash(b.Hash()) {
		raw := binary(t, receipt)
		row, sum, ok := n.writer.Slim(nil, raw)
		if !ok || !n.writer.Bloom(&bloom, row) {
			t.Fatalf("block %d: receipt %d has no row", b.NumberU64(), i)
		}
		if again, ok := n.writer.Consensus([]byte(prefix), receipt.Type, row); !ok || string(again) != prefix+string(raw) {
			t.Errorf("block %d: receipt %d is %x, and %x from its row", b.NumberU64(), i, raw, again)
		}
		r.receipts = append(r.receipts, &form.Receipt{Row: row, GasUsed: sum.Cumulative - gas, FirstLog: logs})
		gas, logs = sum.Cumulative, logs+sum.Logs
		if len(receipt.PostState) > 0 {
			n.kinds["receipts with a root"]++
		} else if receipt.Status == types.ReceiptStatusFailed {
			n.kinds["receipts of failures"]++
		}
	}
	if types.Bloom(bloom) != b.Bloom() {
		t.Errorf("block %d: its rows don't make its bloom filter", b.NumberU64())
	}
}

// compare asks the node for everything about a block.
func (n *gethNode) compare(t *testing.T, b *types.Block) {
	t.Helper()
	r, hash, number := n.rows(t, b), b.Hash(), hexutil.Uint64(b.NumberU64())
	for _, full := range []bool{false, true} {
		got, ok := n.writer.Block([]byte(prefix), &r.block, full, r.transactions())
		n.check(t, got, ok, "eth_getBlockByHash", hash, full)
		n.check(t, got, ok, "eth_getBlockByNumber", number, full)
	}
	got, ok := n.writer.Header([]byte(prefix), r.block.Head, r.block.Header, nil)
	n.check(t, got, ok, "eth_getHeaderByHash", hash)
	n.check(t, got, ok, "eth_getHeaderByNumber", number)
	got, ok = n.writer.Receipts([]byte(prefix), r.block.Head, r.both())
	n.check(t, got, ok, "eth_getBlockReceipts", number)
	got, ok = n.logs(r)
	n.check(t, got, ok, "eth_getLogs", map[string]any{"blockHash": hash})

	for i, tx := range b.Transactions() {
		got, ok := n.writer.Transaction([]byte(prefix), r.block.Head, r.txs[i])
		n.check(t, got, ok, "eth_getTransactionByHash", tx.Hash())
		n.check(t, got, ok, "eth_getTransactionByBlockHashAndIndex", hash, hexutil.Uint64(i))
		got, ok = n.writer.Receipt([]byte(prefix), r.block.Head, r.txs[i], r.receipts[i])
		n.check(t, got, ok, "eth_getTransactionReceipt", tx.Hash())
		n.count(tx)
	}
	n.kinds["uncles"] += len(b.Uncles())
	n.kinds["withdrawals"] += len(b.Withdrawals())
}

// logs writes all logs of a block, as eth_getLogs answers them.
func (n *gethNode) logs(r *rows) ([]byte, bool) {
	out := append([]byte(prefix), '[')
	for i, receipt := range r.receipts {
		at := form.Place{Transaction: n.writer.Hash(r.txs[i].Raw), Index: uint64(i), Log: receipt.FirstLog}
		logs := form.LogsOf(receipt.Row)
		for logs.Next() {
			if at.Log > 0 {
				out = append(out, ',')
			}
			out = form.AppendLog(out, r.block.Head, &at, &logs.Log)
			n.kinds[fmt.Sprintf("logs with %d topics", logs.Topics())]++
			at.Log++
		}
		if !logs.OK() {
			return nil, false
		}
	}
	return append(out, ']'), true
}

// count notes what kind of transaction was compared.
func (n *gethNode) count(tx *types.Transaction) {
	kind := fmt.Sprintf("type %d", tx.Type())
	if !tx.Protected() {
		kind += " unprotected"
	}
	if tx.To() == nil {
		kind += " creation"
	}
	n.kinds[kind]++
}

func preset(t *testing.T, p devchain.Preset) (*core.Genesis, []*types.Block) {
	return p.Genesis(), decodeChain(t, p.Chain)
}

// conformance is the chain of the official test files, which has every fork.
func conformance(t *testing.T) (*core.Genesis, []*types.Block) {
	dir := os.Getenv("NODEGATE_CONFORMANCE")
	if dir == "" {
		dir = filepath.Join("..", "shared", "conformance")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", "..", "..", dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "genesis.json"))
	if err != nil {
		t.Skipf("no conformance files: %v (set NODEGATE_CONFORMANCE to their folder)", err)
	}
	genesis := new(core.Genesis)
	if err := json.Unmarshal(text, genesis); err != nil {
		t.Fatal(err)
	}
	chain, err := os.ReadFile(filepath.Join(dir, "chain.rlp"))
	if err != nil {
		t.Fatal(err)
	}
	return genesis, decodeChain(t, chain)
}

func decodeChain(t *testing.T, chain []byte) (blocks []*types.Block) {
	t.Helper()
	stream := rlp.NewStream(bytes.NewReader(chain), 0)
	for {
		b := new(types.Block)
		if err := stream.Decode(b); errors.Is(err, io.EOF) {
			return blocks
		} else if err != nil {
			t.Fatal(err)
		}
		if b.NumberU64() > 0 {
			blocks = append(blocks, b)
		}
	}
}
