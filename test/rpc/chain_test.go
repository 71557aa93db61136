package rpc_test

import (
	"encoding/json"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// The transactions that the tests send: from the first development account.
const sender = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"

// rawTransaction signs a call of the demo contract, or a transfer when data is empty.
func rawTransaction(t *testing.T, chain int64, nonce uint64, data []byte) string {
	t.Helper()
	to := devchain.DemoAddress()
	if len(data) == 0 {
		to = common.HexToAddress("0xbeef")
	}
	tx, err := types.SignNewTx(devchain.Accounts()[0].PrivateKey, types.LatestSignerForChainID(big.NewInt(chain)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chain), Nonce: nonce, GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(3e9), Gas: 100_000, To: &to, Data: data,
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return hexutil.Encode(raw)
}

// setValue is the call data of the demo contract's setValue.
func setValue(n byte) []byte {
	return append(common.FromHex("0x55241077"), common.LeftPadBytes([]byte{n}, 32)...)
}

// mine sends a transaction and waits until it is in a block, which it returns.
func mine(t *testing.T, url string, chain int64, data []byte) (hash string, block uint64) {
	t.Helper()
	var nonce hexutil.Uint64
	decode(t, call(t, url, "eth_getTransactionCount", `["`+sender+`","pending"]`), &nonce)
	decode(t, call(t, url, "eth_sendRawTransaction", `["`+rawTransaction(t, chain, uint64(nonce), data)+`"]`), &hash)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		var receipt *struct{ BlockNumber hexutil.Uint64 }
		decode(t, call(t, url, "eth_getTransactionReceipt", `["`+hash+`"]`), &receipt)
		if receipt != nil {
			return hash, uint64(receipt.BlockNumber)
		}
	}
	t.Fatal("the transaction is in no block")
	return "", 0
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
}

// TestWindowMoves has the edge of the history window: a receipt is served while
// its block is 127 behind the head and refused when it is 128 behind.
func TestWindowMoves(t *testing.T) {
	const inBlock14 = `["0x918f89f90120b9a0836ba60d0dba2116bfcc06c35e1badafa33785fe6470fce7"]`
	url := start(t, only("rollup")).url("rollup", keyA)
	ask := `{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionReceipt","params":` + inBlock14 + `}`
	for _, c := range []struct {
		head uint64
		code int
	}{{141, 0}, {142, -32002}} {
		if _, head := mine(t, url, 1338, nil); head != c.head {
			t.Fatalf("mined block %d, want %d", head, c.head)
		}
		_, body := post(t, url, ask)
		if _, _, e := answerOf(t, body); e.Code != c.code {
			t.Errorf("head %d, block 14: %.200s, want code %d", c.head, body, c.code)
		}
	}
	_, body := post(t, url, ask)
	_, _, e := answerOf(t, body)
	if want := "archive requests are not available on this network: only the latest 128 blocks are served"; e.Message != want {
		t.Errorf("refused with %q", e.Message)
	}
}

// TestPendingTransaction asks for a transaction that no block has: it has no
// place in a block, and no receipt.
func TestPendingTransaction(t *testing.T) {
	url := shared(t).url("scratch", keyA)
	var nonce hexutil.Uint64
	decode(t, call(t, url, "eth_getTransactionCount", `["`+sender+`","pending"]`), &nonce)
	var hash string // one after the next: it waits for the one between
	decode(t, call(t, url, "eth_sendRawTransaction", `["`+rawTransaction(t, 1337, uint64(nonce)+1, nil)+`"]`), &hash)
	var tx map[string]any
	decode(t, call(t, url, "eth_getTransactionByHash", `["`+hash+`"]`), &tx)
	for _, name := range []string{"blockHash", "blockNumber", "transactionIndex"} {
		if value, ok := tx[name]; !ok || value != nil {
			t.Errorf("%s is %v (there: %t), want null", name, value, ok)
		}
	}
	if tx["hash"] != hash || tx["from"] != sender {
		t.Errorf("the transaction is %v", tx)
	}
	if receipt := call(t, url, "eth_getTransactionReceipt", `["`+hash+`"]`); receipt != "null" {
		t.Errorf("its receipt is %.200s", receipt)
	}
	mine(t, url, 1337, nil) // the gap, so that the queue is empty for other tests
}
