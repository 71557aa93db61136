package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// Ether is that many ether in wei.
func Ether(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }

// fundTime bounds the waiting for the block that holds a gift.
const fundTime = 20 * time.Second

// Fund sends wei to an address from a development account whose key everybody knows,
// and returns the transaction's hash when it is in a block. It is for the faucet of
// chains that hold no value.
//
// Returns ExecutionFailed when no such account has enough on this chain, and Timeout.
func (n *Node) Fund(ctx context.Context, to common.Address, wei *big.Int) (common.Hash, error) {
	ctx, cancel := context.WithTimeout(ctx, fundTime)
	defer cancel()
	n.gifts.Lock() // one at a time: each takes the next nonce
	defer n.gifts.Unlock()
	if err := ctx.Err(); err != nil { // it waited too long for its turn
		return common.Hash{}, nodegate.ErrTimeout("chain.fund", err)
	}
	tx, err := n.gift(to, wei)
	if err != nil {
		return common.Hash{}, err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return common.Hash{}, err
	}
	if _, err := n.Call(ctx, method.EthSendRawTransaction, []byte(`["`+hexutil.Encode(raw)+`"]`)); err != nil {
		return common.Hash{}, err
	}
	return tx.Hash(), n.awaitReceipt(ctx, tx.Hash())
}

// gift is the signed transaction, from the first known account that can pay it. The one
// that made the built-in chains comes first: the ten others are the users' own.
func (n *Node) gift(to common.Address, wei *big.Int) (*types.Transaction, error) {
	bc := n.engine.eth.BlockChain()
	state, err := bc.State()
	if err != nil {
		return nil, err
	}
	head := bc.CurrentBlock()
	price := new(big.Int).Add(new(big.Int).Mul(baseFee(head), big.NewInt(2)), big.NewInt(params.GWei))
	fee := new(big.Int).Mul(price, new(big.Int).SetUint64(giftGas))
	needed := new(big.Int).Add(wei, fee)
	for _, a := range append([]devchain.Account{devchain.Deployer()}, devchain.Accounts()...) {
		if state.GetBalance(a.Address).ToBig().Cmp(needed) < 0 {
			continue
		}
		nonce, price := n.giftNonce(a.Address, price)
		return types.SignNewTx(a.PrivateKey, types.LatestSigner(bc.Config()), &types.LegacyTx{
			Nonce: nonce, To: &to, Value: wei, Gas: giftGas, GasPrice: price,
		})
	}
	return nil, &nodegate.Error{Op: "chain.fund", Code: nodegate.ExecutionFailed,
		Msg: "none of the well-known development accounts has enough ether on this network: send it from an account of your own genesis"}
}

// giftNonce is the next nonce of an account. The keys are well known, so anybody may leave
// a transaction in the pool that is too cheap to be mined: it is replaced.
func (n *Node) giftNonce(a common.Address, price *big.Int) (uint64, *big.Int) {
	pool := n.engine.eth.TxPool()
	pending, _ := pool.ContentFrom(a)
	for _, tx := range pending {
		if tx.GasFeeCapIntCmp(price) < 0 {
			return tx.Nonce(), new(big.Int).Add(price, tx.GasFeeCap()) // a replacement has to pay a tenth more
		}
	}
	return pool.PoolNonce(a), price
}

// giftGas pays for a contract that takes note of what it gets.
const giftGas = 100_000

func baseFee(h *types.Header) *big.Int {
	if h.BaseFee == nil {
		return new(big.Int)
	}
	return h.BaseFee
}

// awaitReceipt returns when a transaction is in a block that is on disk.
func (n *Node) awaitReceipt(ctx context.Context, hash common.Hash) error {
	asked := []byte(`["` + hash.Hex() + `"]`)
	for wait := time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		result, err := n.Call(ctx, method.EthGetTransactionReceipt, asked)
		if err != nil {
			return err
		}
		var receipt *struct{ Status hexutil.Uint64 }
		if err := json.Unmarshal(result, &receipt); err != nil {
			return err
		}
		switch {
		case receipt != nil && uint64(receipt.Status) == types.ReceiptStatusSuccessful:
			return nil
		case receipt != nil:
			return &nodegate.Error{Op: "chain.fund", Code: nodegate.ExecutionFailed, Msg: fmt.Sprintf("the contract at this address refused the ether (transaction %s)", hash)}
		}
		select {
		case <-ctx.Done():
			return nodegate.ErrTimeout("chain.fund", ctx.Err())
		case <-time.After(wait):
		}
	}
}
