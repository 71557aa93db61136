package nodes_test

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// payer sends transactions of one account through a server.
type payer struct {
	*front
	from    devchain.Account
	chainID *big.Int
	nonce   uint64
}

// pay sends a transaction of one wei and returns its hash.
func (p *payer) pay(t *testing.T, to common.Address) string {
	t.Helper()
	return p.send(t, &types.DynamicFeeTx{
		ChainID: p.chainID, Nonce: p.nonce, GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei), Gas: 21_000, To: &to, Value: big.NewInt(1),
	})
}

// send signs and sends a transaction and returns its hash.
func (p *payer) send(t *testing.T, unsigned *types.DynamicFeeTx) string {
	t.Helper()
	tx := types.MustSignNewTx(p.from.PrivateKey, types.LatestSignerForChainID(p.chainID), unsigned)
	p.nonce++
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if a := p.call(t, "main", "eth_sendRawTransaction", `["`+hexutil.Encode(raw)+`"]`); a.result == "" {
		t.Fatalf("sending: %+v", a)
	}
	return tx.Hash().Hex()
}

// mined waits for a receipt and returns its block.
func (p *payer) mined(t *testing.T, hash string) uint64 {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		a := p.call(t, "main", "eth_getTransactionReceipt", `["`+hash+`"]`)
		if _, rest, ok := strings.Cut(a.result, `"blockNumber":"`); ok {
			text, _, _ := strings.Cut(rest, `"`)
			return quantity(t, text)
		}
	}
	t.Fatal("no receipt of " + hash)
	return 0
}

func quantity(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.Trim(text, `"`), 0, 64)
	if err != nil {
		t.Fatalf("%q is not a quantity", text)
	}
	return n
}

// TestFresh: who has the receipt of a transaction sees its effects at `latest`, although
// the node reports new blocks only when it is asked for them.
func TestFresh(t *testing.T) {
	node := miner(t)
	f := startFront(t, "networks:\n"+network("main", "", node.URL("dev", key)))
	f.ready(t)
	from := devchain.Accounts()[0]
	p := newPayer(t, f, from)
	for i := range 50 {
		to := common.BigToAddress(big.NewInt(int64(0xf5e50000 + i)))
		block := p.mined(t, p.pay(t, to))
		if now := f.head(t); now < block {
			t.Fatalf("round %d: eth_blockNumber is %d, the receipt was of %d", i, now, block)
		}
		for call, want := range map[string]uint64{
			fmt.Sprintf(`eth_getBalance ["%s","latest"]`, to.Hex()):                    1,
			fmt.Sprintf(`eth_getTransactionCount ["%s","latest"]`, from.Address.Hex()): p.nonce,
		} {
			name, params, _ := strings.Cut(call, " ")
			if got := quantity(t, f.call(t, "main", name, params).result); got != want {
				t.Fatalf("round %d: %s is %d, want %d", i, call, got, want)
			}
		}
	}
}
