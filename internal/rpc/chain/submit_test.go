package chain

import (
	"context"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// dataTx is a transaction of a development account with so many bytes of data.
func dataTx(n *Node, account int, nonce uint64, size int) *types.Transaction {
	to := common.HexToAddress(anyone)
	return types.MustSignNewTx(devchain.Accounts()[account].PrivateKey, types.LatestSigner(n.engine.eth.BlockChain().Config()), &types.DynamicFeeTx{
		ChainID: n.engine.eth.BlockChain().Config().ChainID, Nonce: nonce, To: &to, Gas: 5_000_000,
		GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(1e11), Data: make([]byte, size),
	})
}

// TestLargeSendsTakeASeat: a large transaction waits for a seat in the heavy lane, whichever
// method sends it, and a small one doesn't. Nobody keeps a seat while it waits for a block.
func TestLargeSendsTakeASeat(t *testing.T) {
	const sync, large = "eth_sendRawTransactionSync", largeSend / 2
	n := openDevnet(t)
	var leave []func()
	for range lane.Seats() {
		l, err := n.lanes.Enter(t.Context())
		mustDo(t, err)
		leave = append(leave, l)
	}
	for i, name := range []string{sendMethod, sync} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		tx := dataTx(n, i, 0, large)
		_, err := n.Call(ctx, name, rawParams(tx))
		wantCode(t, err, nodegate.Timeout)
		if n.engine.eth.TxPool().Has(tx.Hash()) || n.isMined(tx.Hash()) {
			t.Errorf("%s took no seat", name)
		}
	}
	call(t, n, sendMethod, string(rawParams(dataTx(n, 2, 0, 100))))
	for _, l := range leave {
		l()
	}
	tx := dataTx(n, 0, 0, large)
	if got := call(t, n, sendMethod, string(rawParams(tx))); got != `"`+tx.Hash().Hex()+`"` {
		t.Errorf("%s", got)
	}
	tx = dataTx(n, 1, 0, large)
	if got := call(t, n, sync, string(rawParams(tx))); !strings.Contains(got, tx.Hash().Hex()) || !strings.Contains(got, `"status":"0x1"`) {
		t.Errorf("the receipt: %s", got)
	}
	waits := strings.TrimSuffix(string(rawParams(dataTx(n, 3, 7, large))), "]") + `,1]`
	_, err := n.Call(t.Context(), sync, []byte(waits))
	if e := nodegate.AsError(err); e.Number != 4 || !strings.Contains(e.Msg, "wasn't processed in 1ms") || !strings.Contains(string(e.Data), dataTx(n, 3, 7, large).Hash().Hex()) {
		t.Errorf("%v, %s", err, e.Data)
	}
	for _, wrong := range []string{`["0x` + strings.Repeat("00", large) + `","soon"]`, `[{"a":"` + strings.Repeat("0", 2*large) + `"}]`, `["0x` + strings.Repeat("zz", large) + `"]`} {
		for _, name := range []string{sendMethod, sync} {
			if _, err := n.Call(t.Context(), name, []byte(wrong)); err == nil {
				t.Errorf("%s takes %.20s", name, wrong)
			}
		}
	}
}
