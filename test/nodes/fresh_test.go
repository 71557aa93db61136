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

// checkFresh sends, waits for the receipt, and reads the effects at `latest`. The receipt
// and the effects may be read through other servers.
func checkFresh(t *testing.T, servers []*front, from devchain.Account, what string) {
	t.Helper()
	p := newPayer(t, servers[0], from)
	stale, n := 0, rounds(40, 300)
	for i := range n {
		at := func(k int) *front { return servers[(i+k)%len(servers)] }
		p.front = at(0)
		to := common.BytesToAddress(fmt.Append(nil, what, i))
		hash := p.pay(t, to)
		p.front = at(1)
		block := p.mined(t, hash)
		balance := at(2).call(t, "main", "eth_getBalance", `["`+to.Hex()+`","latest"]`)
		nonce := at(0).call(t, "main", "eth_getTransactionCount", `["`+from.Address.Hex()+`","latest"]`)
		if head := at(2).head(t); head < block || balance.result != `"0x1"` || quantity(t, nonce.result) != p.nonce {
			stale++
			t.Logf("round %d: receipt of %d, head %d, balance %s %s, nonce %s, want %d", i, block, head, balance.result, balance.error, nonce.result, p.nonce)
		}
	}
	if stale > 0 {
		t.Errorf("%d of %d rounds are stale", stale, n)
	}
	row(t, 60, "%s: %d of %d rounds stale", what, stale, n)
}

// TestFresh: who has the receipt of a transaction sees its effects at `latest`, although
// the node reports new blocks only when it is asked for them.
func TestFresh(t *testing.T) {
	node := miner(t)
	for i, more := range []string{"", ", ws: " + strconv.Quote(node.WS("dev", key))} {
		name := []string{"a node without WebSocket", "a node with WebSocket"}[i]
		t.Run(name, func(t *testing.T) {
			f := startFront(t, fmt.Sprintf("networks:\n  - name: main\n    nodes: [{name: n0, url: %q%s}]\n", node.URL("dev", key), more))
			f.ready(t)
			checkFresh(t, []*front{f}, devchain.Accounts()[i], name)
		})
	}
}
