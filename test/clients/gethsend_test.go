package clients_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// stranger is an address that only this test sends to.
func stranger(t *testing.T) common.Address {
	return common.BytesToAddress(crypto.Keccak256([]byte(t.Name())))
}

// transfer signs a call of the demo contract with today's fees.
func (c *gethClient) transfer(t *testing.T, to common.Address, amount int64) *types.Transaction {
	t.Helper()
	call := c.pack(t, "transfer", to, big.NewInt(amount))
	gas, err := c.EstimateGas(c.ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	tip, fee, nonce := c.fees(t, c.account)
	return c.sign(c.account, &types.DynamicFeeTx{
		ChainID: new(big.Int).SetUint64(c.facts.ChainID), Nonce: nonce, GasTipCap: tip, GasFeeCap: fee, Gas: gas, To: call.To, Data: call.Data,
	})
}

func (c *gethClient) sign(by devchain.Account, tx types.TxData) *types.Transaction {
	signer := types.LatestSignerForChainID(new(big.Int).SetUint64(c.facts.ChainID))
	return types.MustSignNewTx(by.PrivateKey, signer, tx)
}

// fees returns a tip and a fee that the next block accepts, and the account's nonce.
func (c *gethClient) fees(t *testing.T, of devchain.Account) (tip, fee *big.Int, nonce uint64) {
	t.Helper()
	tip, err := c.SuggestGasTipCap(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	price, err := c.SuggestGasPrice(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if nonce, err = c.PendingNonceAt(c.ctx, of.Address); err != nil {
		t.Fatal(err)
	}
	return tip, price.Mul(price, big.NewInt(2)), nonce
}

// mined waits for the receipt of a transaction and checks that it succeeded.
func (c *gethClient) mined(t *testing.T, hash common.Hash) *types.Receipt {
	t.Helper()
	for {
		receipt, err := c.TransactionReceipt(c.ctx, hash)
		if err == nil {
			if receipt.Status != types.ReceiptStatusSuccessful {
				t.Fatalf("%s has status %d", hash, receipt.Status)
			}
			return receipt
		}
		if !errors.Is(err, ethereum.NotFound) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (c *gethClient) checkSend(t *testing.T) {
	to := stranger(t)
	tx := c.transfer(t, to, 3)
	if err := c.SendTransaction(c.ctx, tx); err != nil {
		t.Fatal(err)
	}
	c.checkTransfer(t, c.mined(t, tx.Hash()), to, 3)
	if err := c.SendTransaction(c.ctx, tx); err != nil { // a known one is answered with its hash
		t.Errorf("sent again: %v", err)
	}
}

// checkTransfer looks for the outcome of a transfer in its log and in the new state.
func (c *gethClient) checkTransfer(t *testing.T, r *types.Receipt, to common.Address, amount int64) {
	t.Helper()
	want := common.BigToHash(big.NewInt(amount))
	if len(r.Logs) != 1 || r.Logs[0].Topics[2] != common.BytesToHash(to[:]) || common.BytesToHash(r.Logs[0].Data) != want {
		t.Errorf("logs %v, want one of %d for %s", r.Logs, amount, to)
	}
	balance, err := c.CallContract(c.ctx, c.pack(t, "balanceOf", to), r.BlockNumber)
	if err != nil || common.BytesToHash(balance) != want {
		t.Errorf("the balance is %x, want %d (%v)", balance, amount, err)
	}
}

// checkSendSync sends and gets the receipt in one request.
func (c *gethClient) checkSendSync(t *testing.T) {
	to := stranger(t)
	timeout := 10 * time.Second
	receipt, err := c.SendTransactionSync(c.ctx, c.transfer(t, to, 4), &timeout)
	if err != nil {
		t.Fatal(err)
	}
	c.checkTransfer(t, receipt, to, 4)
}

// checkBlob sends a transaction that carries a blob, with the proofs of its cells; the
// rollup refuses it. An
// account is bound to one pool while its transactions wait, so blobs have their own.
func (c *gethClient) checkBlob(t *testing.T) {
	account := devchain.Accounts()[blobAccount]
	tip, fee, nonce := c.fees(t, account)
	blob := new(kzg4844.Blob)
	commitment, err := kzg4844.BlobToCommitment(blob)
	if err != nil {
		t.Fatal(err)
	}
	proofs, err := kzg4844.ComputeCellProofs(blob)
	if err != nil {
		t.Fatal(err)
	}
	sidecar := types.NewBlobTxSidecar(types.BlobSidecarVersion1, []kzg4844.Blob{*blob}, []kzg4844.Commitment{commitment}, proofs)
	tx := c.sign(account, &types.BlobTx{
		ChainID: uint256.NewInt(c.facts.ChainID), Nonce: nonce, GasTipCap: uint256.MustFromBig(tip), GasFeeCap: uint256.MustFromBig(fee),
		Gas: 21_000, To: stranger(t), BlobFeeCap: uint256.NewInt(1e9), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
	err = c.SendTransaction(c.ctx, tx)
	if c.facts.Name == "rollup" {
		if err == nil || !strings.HasPrefix(err.Error(), types.ErrTxTypeNotSupported.Error()) {
			t.Errorf("a blob on the rollup: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if receipt := c.mined(t, tx.Hash()); receipt.Type != types.BlobTxType || receipt.BlobGasUsed != 131_072 {
		t.Errorf("type %d, blob gas %d", receipt.Type, receipt.BlobGasUsed)
	}
}

func (c *gethClient) checkSubscriptions(t *testing.T) {
	to := stranger(t)
	heads, logs := make(chan *types.Header, 16), make(chan types.Log, 16)
	following, err := c.SubscribeNewHead(c.ctx, heads)
	if err != nil {
		t.Fatal(err)
	}
	defer following.Unsubscribe()
	query := ethereum.FilterQuery{Addresses: []common.Address{c.facts.Demo}, Topics: [][]common.Hash{{}, {}, {common.BytesToHash(to[:])}}}
	watching, err := c.SubscribeFilterLogs(c.ctx, query, logs)
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Unsubscribe()
	tx := c.transfer(t, to, 5)
	if err := c.SendTransaction(c.ctx, tx); err != nil {
		t.Fatal(err)
	}
	log := receive(t, c.ctx, logs)
	if log.TxHash != tx.Hash() || log.BlockHash != c.mined(t, tx.Hash()).BlockHash {
		t.Errorf("log of %s in block %s, want %s", log.TxHash, log.BlockHash, tx.Hash())
	}
	for receive(t, c.ctx, heads).Hash() != log.BlockHash {
		t.Log("the head of an earlier transaction arrived late")
	}
}

func receive[T any](t *testing.T, ctx context.Context, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		t.Fatal("no event arrived")
		panic("unreachable")
	}
}

// checkBatch mixes answers and errors in one request.
func (c *gethClient) checkBatch(t *testing.T) {
	batch := make([]rpc.BatchElem, 0, len(c.facts.Transactions)+1)
	for _, tx := range c.facts.Transactions {
		batch = append(batch, rpc.BatchElem{Method: "eth_getTransactionByHash", Args: []any{tx.Hash}, Result: new(types.Transaction)})
	}
	batch = append(batch, rpc.BatchElem{Method: "eth_nothing", Result: new(any)})
	if err := c.Client.Client().BatchCallContext(c.ctx, batch); err != nil {
		t.Fatal(err)
	}
	for i, tx := range c.facts.Transactions {
		if got := batch[i].Result.(*types.Transaction).Hash(); batch[i].Error != nil || got != tx.Hash {
			t.Errorf("%s: %s, want %s (%v)", tx.Name, got, tx.Hash, batch[i].Error)
		}
	}
	wantCode(t, batch[len(batch)-1].Error, -32601)
}

func (c *gethClient) checkErrors(t *testing.T) {
	client := c.Client.Client()
	wantCode(t, client.CallContext(c.ctx, nil, "eth_nothing"), -32601)
	wantCode(t, client.CallContext(c.ctx, nil, "admin_nodeInfo"), -32601)
	wantCode(t, client.CallContext(c.ctx, nil, "eth_getStorageAt", "0x12", "0x0", "latest"), -32602)
	wantCode(t, client.CallContext(c.ctx, nil, "eth_getProof", c.facts.Demo, []string{}, "latest", 1), -32602)
}

func (c *gethClient) checkLayer2(t *testing.T) {
	var estimate struct{ GasLimit, BaseFeePerGas, PriorityFeePerGas *hexutil.Big }
	call := map[string]any{"from": c.account.Address, "to": c.facts.Demo, "data": hexutil.Bytes(c.pack(t, "setValue", big.NewInt(1)).Data)}
	if err := c.Client.Client().CallContext(c.ctx, &estimate, "linea_estimateGas", call); err != nil {
		t.Fatal(err)
	}
	gas, base, priority := estimate.GasLimit.ToInt(), estimate.BaseFeePerGas.ToInt(), estimate.PriorityFeePerGas.ToInt()
	if gas.Int64() < 21_000 || base.Int64() != 7 || priority.Int64() < 1_000_000 {
		t.Errorf("gas limit %v, base fee %v, priority fee %v", gas, base, priority)
	}
	_, err := c.TransactionReceipt(c.ctx, c.facts.tx(t, "legacy call").Hash)
	wantCode(t, err, -32002)
}

func wantCode(t *testing.T, err error, code int) {
	t.Helper()
	var coded rpc.Error
	if !errors.As(err, &coded) || coded.ErrorCode() != code {
		t.Errorf("%v, want code %d", err, code)
	}
}

// checkClosedDoors tries what is refused before the request is read.
func checkClosedDoors(t *testing.T, svc *service) {
	for _, want := range []struct {
		network, key, message string
		status, code          int
	}{
		{"devnet", badKey, "invalid API key", http.StatusUnauthorized, -32041},
		{"devnet", "", "API key required", http.StatusUnauthorized, -32041},
		{"nowhere", key, "unknown network", http.StatusNotFound, -32001},
	} {
		client, err := ethclient.Dial(svc.http(want.network, want.key))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.BlockNumber(t.Context())
		var refused rpc.HTTPError
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, want.code, want.message)
		if !errors.As(err, &refused) || refused.StatusCode != want.status || string(refused.Body) != body {
			t.Errorf("%v, want %d %s", err, want.status, body)
		}
		if _, err := ethclient.Dial(svc.ws(want.network, want.key)); err == nil || !strings.Contains(err.Error(), fmt.Sprint(want.status)) {
			t.Errorf("WebSocket: %v, want %d", err, want.status)
		}
	}
}
