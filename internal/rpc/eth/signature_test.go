package eth

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// shortSigned is a transaction whose r and s both begin with a zero: values are tried
// until the signature, which is the same each time, is such a one.
func shortSigned(t *testing.T, nonce uint64) *types.Transaction {
	t.Helper()
	from := devchain.Accounts()[0]
	for value := range int64(1 << 16) {
		tx := types.MustSignNewTx(from.PrivateKey, types.LatestSigner(devchain.Devnet().Genesis().Config), &types.DynamicFeeTx{
			ChainID: big.NewInt(1337), Nonce: nonce, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(1e12), Gas: 21000, To: &common.Address{1}, Value: big.NewInt(value),
		})
		if _, r, s := tx.RawSignatureValues(); r.BitLen() <= 252 && s.BitLen() <= 252 {
			return tx
		}
	}
	t.Fatal("no signature is short")
	return nil
}

// mine sends a transaction and returns where it is.
func mine(t *testing.T, node nodegate.Node, tx *types.Transaction) (found struct{ BlockHash, BlockNumber, TransactionIndex string }) {
	t.Helper()
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	ask(t, node, "eth_sendRawTransaction", `["`+hexutil.Encode(raw)+`"]`)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		answer := ask(t, node, "eth_getTransactionReceipt", `["`+tx.Hash().Hex()+`"]`)
		if answer == "null" {
			continue
		}
		if err := json.Unmarshal([]byte(answer), &found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	t.Fatal("the transaction is not mined")
	return found
}

// TestShortSignatures asks for a mined transaction in every way there is: r and s have
// 32 bytes in the dialects of the specification, and no leading zeros in the standard's.
func TestShortSignatures(t *testing.T) {
	next := openPreset(devchain.Devnet())
	var nonce hexutil.Uint64
	if err := json.Unmarshal([]byte(ask(t, next, "eth_getTransactionCount", `["`+devchain.Accounts()[0].Address.Hex()+`","latest"]`)), &nonce); err != nil {
		t.Fatal(err)
	}
	tx := shortSigned(t, uint64(nonce))
	at := mine(t, next, tx)
	_, r, s := tx.RawSignatureValues()
	full := fmt.Sprintf(`"r":"0x%064x","s":"0x%064x"`, r, s)
	short := fmt.Sprintf(`"r":"%#x","s":"%#x"`, r, s)
	for _, d := range dialects {
		for _, remote := range []bool{false, true} {
			cfg := limits(d.Dialect)
			cfg.Remote = remote
			node := New(next, cfg)
			for _, c := range [][2]string{
				{"eth_getTransactionByHash", `["` + tx.Hash().Hex() + `"]`},
				{"eth_getTransactionByBlockHashAndIndex", `["` + at.BlockHash + `","` + at.TransactionIndex + `"]`},
				{"eth_getTransactionByBlockNumberAndIndex", `["` + at.BlockNumber + `","` + at.TransactionIndex + `"]`},
				{"eth_getBlockByNumber", `["` + at.BlockNumber + `", true]`},
				{"eth_getBlockByHash", `["` + at.BlockHash + `", true]`},
			} {
				want := full
				if d.Dialect != Strict {
					want = short
				}
				if got := ask(t, node, c[0], c[1]); !strings.Contains(got, want) {
					t.Errorf("%s, remote %v: %s answers %s, want %s", d.name, remote, c[0], got, want)
				}
			}
			if got := ask(t, node, "eth_getBlockByNumber", `["`+at.BlockNumber+`", false]`); got != ask(t, next, "eth_getBlockByNumber", `["`+at.BlockNumber+`",false]`) {
				t.Errorf("%s: a block without transactions is %s", d.name, got)
			}
		}
	}
}

// TestPaddedLists: waiting transactions are padded too, and what is no list or no
// transaction stays as it is.
func TestPaddedLists(t *testing.T) {
	zeros := strings.Repeat("0", 62)
	for _, c := range []struct{ name, params, in, want string }{
		{"eth_pendingTransactions", `[]`, `[{"r":"0x12","s":"0x34"},{"r":null}]`, `[{"r":"0x` + zeros + `12","s":"0x` + zeros + `34"},{"r":null}]`},
		{"eth_pendingTransactions", `[]`, `null`, `null`},
		{"eth_getBlockByNumber", `["0x1",true]`, `null`, `null`},
		{"eth_getBlockByNumber", `["0x1",true]`, `{"transactions":["0x12"],"s":"0x1"}`, `{"transactions":["0x12"],"s":"0x1"}`},
		{"eth_getTransactionByBlockNumberAndIndex", `["0x1","0x0"]`, `{"r":"swordfish","s":5}`, `{"r":"swordfish","s":5}`},
		{"eth_getBalance", `[]`, `{"r":"0x1"}`, `{"r":"0x1"}`},
	} {
		if got := string(Strict.beyond(c.name, []byte(c.params), []byte(c.in))); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.name, c.in, got, c.want)
		}
		if got := string(Standard.beyond(c.name, []byte(c.params), []byte(c.in))); got != c.in {
			t.Errorf("%s of %s is %s in the standard", c.name, c.in, got)
		}
	}
}
