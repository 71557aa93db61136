package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// presetConfig is a built-in chain in a folder, or in memory where dir is empty.
func presetConfig(p devchain.Preset, dir string) Config {
	return chainConfig(p.Genesis(), p.Chain, dir)
}

func chainConfig(genesis *core.Genesis, blocks []byte, dir string) Config {
	return Config{
		Dir: dir, Genesis: genesis, Chain: blocks,
		AnswerBytes: 128 << 20, StateBytes: 64 << 20, CallTimeout: 20 * time.Second,
		Log: slog.New(slog.DiscardHandler),
	}
}

// openTemp opens a chain that the test closes.
func openTemp(t testing.TB, cfg Config) *Node {
	t.Helper()
	n, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNode(t, n) })
	return n
}

// patience is how long anything here may take before it counts as hung.
const patience = time.Minute

// closeNode closes a chain and doesn't wait forever.
func closeNode(t testing.TB, n *Node) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- n.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("close: %v", err)
		}
	case <-time.After(patience):
		t.Error("close: it hangs")
	}
}

// The chains that tests only read are opened once, and closed by TestMain: an
// import costs more than most of the tests.
var (
	sharedDevnet = openOnce(func() (*Node, error) { return Open(presetConfig(devchain.Devnet(), "")) })
	sharedRollup = openOnce(func() (*Node, error) { return Open(presetConfig(devchain.Rollup(), "")) })
	sharedCompat = openOnce(openCompat)
)

// keptOpen are the chains that TestMain closes.
var keptOpen struct {
	sync.Mutex
	nodes []*Node
}

func openOnce(open func() (*Node, error)) func() (*Node, error) {
	return sync.OnceValues(func() (*Node, error) {
		n, err := open()
		if err == nil {
			keptOpen.Lock()
			defer keptOpen.Unlock()
			keptOpen.nodes = append(keptOpen.nodes, n)
		}
		return n, err
	})
}

func closeKept() {
	for _, n := range keptOpen.nodes {
		_ = n.Close()
	}
}

// errNoFixtures says that the conformance chain is not on this machine.
var errNoFixtures = errors.New("no conformance chain: set NODEGATE_CONFORMANCE to the folder with its genesis.json and chain.rlp")

// fixtureFolder is where the conformance chain is. A relative path counts from the
// repository's root, where people and make type it.
func fixtureFolder() string {
	dir := os.Getenv("NODEGATE_CONFORMANCE")
	if dir == "" {
		dir = filepath.Join("..", "shared", "conformance")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", "..", dir)
	}
	return dir
}

func openCompat() (*Node, error) {
	dir := fixtureFolder()
	if _, err := os.Stat(dir); err != nil {
		return nil, errNoFixtures
	}
	genesis, blocks, err := Beginning("", filepath.Join(dir, "genesis.json"), filepath.Join(dir, "chain.rlp"))
	if err != nil {
		return nil, err
	}
	return Open(chainConfig(genesis, blocks, ""))
}

type sharedChain struct {
	name string
	open func() (*Node, error)
}

// sharedChains are the chains of the differential tests. The official one has what
// the built-in ones can't: every fork, and receipts from before Byzantium.
var sharedChains = []sharedChain{
	{"devnet", sharedDevnet},
	{"rollup", sharedRollup},
	{"conformance", sharedCompat},
}

func shared(t testing.TB, open func() (*Node, error)) *Node {
	t.Helper()
	n, err := open()
	if errors.Is(err, errNoFixtures) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// call asks the node as the layer above would.
func call(t testing.TB, n *Node, method, params string) string {
	t.Helper()
	type answer struct {
		result []byte
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		result, err := n.Call(context.Background(), method, []byte(params))
		done <- answer{result, err}
	}()
	select {
	case a := <-done:
		if a.err != nil {
			t.Fatalf("%s %s: %v", method, params, a.err)
		}
		return string(a.result)
	case <-time.After(patience):
		t.Fatalf("%s %s: it hangs", method, params)
	}
	return ""
}

// callInto asks and decodes.
func callInto[T any](t testing.TB, n *Node, method, params string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(call(t, n, method, params)), &v); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return v
}

func wantCode(t testing.TB, err error, code nodegate.Code) *nodegate.Error {
	t.Helper()
	var e *nodegate.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error is %v, want code %q", err, code)
	}
	return e
}

// packDemo encodes a call of the demo contract.
func packDemo(method string, args ...any) []byte {
	data, err := demoABI().Pack(method, args...)
	if err != nil {
		panic(err)
	}
	return data
}

var demoABI = sync.OnceValue(func() abi.ABI {
	parsed, err := abi.JSON(bytes.NewReader(devchain.DemoABI()))
	if err != nil {
		panic(err)
	}
	return parsed
})

// sender signs transactions of one development account, nonce after nonce.
type sender struct {
	account devchain.Account
	chainID *big.Int
	nonce   uint64
}

func newSender(n *Node, i int) *sender {
	account := devchain.Accounts()[i]
	state, err := n.engine.eth.BlockChain().State()
	if err != nil {
		panic(err)
	}
	return &sender{account: account, chainID: n.engine.eth.BlockChain().Config().ChainID, nonce: state.GetNonce(account.Address)}
}

// sign makes the account's next transaction.
func (s *sender) sign(to *common.Address, data []byte) *types.Transaction {
	return s.signGas(1_000_000, to, data)
}

// signGas is sign with another gas limit.
func (s *sender) signGas(gas uint64, to *common.Address, data []byte) *types.Transaction {
	tx := types.MustSignNewTx(s.account.PrivateKey, types.LatestSignerForChainID(s.chainID), &types.DynamicFeeTx{
		ChainID: s.chainID, Nonce: s.nonce, To: to, Data: data, Gas: gas,
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(10 * params.GWei),
	})
	s.nonce++
	return tx
}

// setValue is a transaction that writes a slot and emits a log.
func (s *sender) setValue(v int64) *types.Transaction {
	demo := devchain.DemoAddress()
	return s.sign(&demo, packDemo("setValue", big.NewInt(v)))
}

// send hands a transaction to the node as a client does.
func send(t testing.TB, n *Node, tx *types.Transaction) common.Hash {
	t.Helper()
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	call(t, n, "eth_sendRawTransaction", `["`+hexutil.Encode(raw)+`"]`)
	return tx.Hash()
}

// receipt is what the tests read of one.
type receipt struct {
	BlockHash   common.Hash    `json:"blockHash"`
	BlockNumber hexutil.Uint64 `json:"blockNumber"`
	Status      hexutil.Uint64 `json:"status"`
}

// mined waits for a transaction's receipt.
func mined(t testing.TB, n *Node, hash common.Hash) *receipt {
	t.Helper()
	var r *receipt
	eventually(t, "transaction "+hash.Hex()+" is mined", func() bool {
		result, err := n.Call(context.Background(), "eth_getTransactionReceipt", []byte(`["`+hash.Hex()+`"]`))
		return err == nil && json.Unmarshal(result, &r) == nil && r != nil
	})
	return r
}

// head is the newest block's number.
func head(t testing.TB, n *Node) uint64 {
	t.Helper()
	h, err := n.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return h.Number
}

// eventually waits for a condition that another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("never happened: " + what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
