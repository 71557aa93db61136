package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// encodings are a list of which a root is made.
type encodings [][]byte

func (e encodings) Len() int                           { return len(e) }
func (e encodings) EncodeIndex(i int, w *bytes.Buffer) { w.Write(e[i]) }

// opNode is a node of the OP stack with one block: a deposit and a transaction.
type opNode struct {
	block, blockHashes map[string]any
	receipts           []any
	header             *types.Header
}

func encode(t *testing.T, kind byte, v any) []byte {
	t.Helper()
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{kind}, raw...)
}

func newOP(t *testing.T) *opNode {
	t.Helper()
	c := newChain()
	to, from, source := common.Address{0x15}, common.HexToAddress("0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001"), common.Hash{3, 4}
	deposit := encode(t, depositType, []any{source, from, to, []byte{}, new(big.Int), uint64(1_000_000), false, []byte("attributes")})
	tx := types.MustSignNewTx(c.key, types.LatestSignerForChainID(big.NewInt(1)), &types.DynamicFeeTx{
		ChainID: big.NewInt(1), Nonce: 7, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(4e9), Gas: 50_000, To: &to,
	})
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	bloom := types.CreateBloom(&types.Receipt{})
	list := encodings{
		encode(t, depositType, []any{[]byte{1}, uint64(46_913), bloom, []*types.Log{}, uint64(99), uint64(1)}), // with nonce and version
		encode(t, types.DynamicFeeTxType, []any{[]byte{1}, uint64(67_913), bloom, []*types.Log{}}),
	}
	storage := common.Hash{8} // of a contract, in place of the root of withdrawals
	h := &types.Header{
		Number: big.NewInt(5), Difficulty: new(big.Int), GasLimit: 30_000_000, GasUsed: 67_913, Time: 1_700_000_000, BaseFee: big.NewInt(1e9), WithdrawalsHash: &storage,
		UncleHash: types.EmptyUncleHash, TxHash: types.DeriveSha(encodings{deposit, raw}, trie.NewStackTrie(nil)), ReceiptHash: types.DeriveSha(list, trie.NewStackTrie(nil)),
	}
	m := &made{Block: types.NewBlockWithHeader(h).WithBody(types.Body{Transactions: types.Transactions{tx}, Withdrawals: []*types.Withdrawal{}})}
	o := &opNode{header: h, block: object(h)}
	place := map[string]any{"blockHash": h.Hash(), "blockNumber": "0x5", "transactionIndex": "0x0"}
	shown := map[string]any{
		"type": "0x7e", "sourceHash": source, "from": from, "to": to, "mint": nil, "value": "0x0", "gas": "0xf4240", "isSystemTx": false, "input": hexutil.Bytes("attributes"),
		"hash": crypto.Keccak256Hash(deposit), "nonce": "0x63", "gasPrice": "0x0", "v": "0x0", "r": "0x0", "s": "0x0", "depositReceiptVersion": "0x1", "blockTimestamp": "0x6553f100",
	}
	second := m.txJSON(0)
	second["transactionIndex"] = "0x1"
	first := map[string]any{
		"type": "0x7e", "status": "0x1", "cumulativeGasUsed": "0xb741", "gasUsed": "0xb741", "logs": []any{}, "logsBloom": bloom, "from": from, "to": to, "contractAddress": nil,
		"effectiveGasPrice": "0x0", "transactionHash": shown["hash"], "depositNonce": "0x63", "depositReceiptVersion": "0x1",
	}
	for name, value := range place {
		shown[name], first[name] = value, value
	}
	o.receipts = []any{first, map[string]any{
		"type": "0x2", "status": "0x1", "cumulativeGasUsed": "0x10949", "gasUsed": "0x5208", "logs": []any{}, "logsBloom": bloom, "from": second["from"], "to": to, "contractAddress": nil,
		"effectiveGasPrice": second["gasPrice"], "transactionHash": tx.Hash(), "blockHash": h.Hash(), "blockNumber": "0x5", "transactionIndex": "0x1",
		"l1Fee": "0x123", "l1GasPrice": "0x7", "l1BaseFeeScalar": "0x44d",
	}}
	content, err := rlp.EncodeToBytes([]any{h, []any{deposit, raw}, []any{}, []any{}})
	if err != nil {
		t.Fatal(err)
	}
	o.block["uncles"], o.block["withdrawals"], o.block["size"] = []any{}, []any{}, hexutil.Uint64(len(content))
	o.blockHashes = object(o.block)
	o.block["transactions"], o.blockHashes["transactions"] = []any{shown, second}, []any{shown["hash"], tx.Hash()}
	return o
}

func (o *opNode) Head(context.Context) (nodegate.Head, error) {
	return nodegate.Head{Number: 5, Fork: 1}, nil
}

func (o *opNode) Call(_ context.Context, name string, params []byte) ([]byte, error) {
	switch {
	case strings.HasSuffix(name, "Receipts"):
		return json.Marshal(o.receipts)
	case strings.Contains(name, "getBlockBy") && bytes.Contains(params, []byte("true")):
		return json.Marshal(o.block)
	}
	return []byte(passed), nil
}

// TestDeposits: a block of the OP stack is proven, and answered with the members that only
// its nodes have.
func TestDeposits(t *testing.T) {
	o := newOP(t)
	n := New(o, Config{Stack: "op", Source: o, Fix: Forms{asItIs, asItIs}, Release: func() {}})
	f := newFollower(n)
	b, err := f.fetch.byHash(t.Context(), o.header.Hash())
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(store.Config{Dir: t.TempDir(), Stack: "op", Memory: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Append(b.Block); err != nil {
		t.Fatal(err)
	}
	n.store.Store(s)
	n.show(at(5, [32]byte{}, nodegate.Head{Number: 5, Fork: 1}))
	txs := o.block["transactions"].([]any)
	for call, want := range map[string]any{
		`eth_getBlockByNumber ["0x5",true]`: o.block, `eth_getBlockByNumber ["0x5",false]`: o.blockHashes, `eth_getBlockReceipts ["0x5"]`: o.receipts,
		`eth_getTransactionByBlockNumberAndIndex ["0x5","0x0"]`: txs[0], `eth_getTransactionByBlockNumberAndIndex ["0x5","0x1"]`: txs[1],
		fmt.Sprintf(`eth_getTransactionReceipt ["%s"]`, txs[0].(map[string]any)["hash"]): o.receipts[0],
	} {
		name, params, _ := strings.Cut(call, " ")
		got, err := n.Call(t.Context(), name, []byte(params))
		if err != nil || string(got) == passed {
			t.Errorf("%s: %s, %v", call, got, err)
			continue
		}
		sameJSON(t, call, got, want)
	}
}
