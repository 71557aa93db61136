package otterscan

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// Block is a block parameter. Otterscan writes numbers as JSON numbers.
type Block struct{ rpc.BlockNumberOrHash }

// UnmarshalJSON reads a number, a quantity, a tag, a hash or an object after EIP-1898.
func (b *Block) UnmarshalJSON(text []byte) error {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && n >= 0 {
		b.BlockNumberOrHash = rpc.BlockNumberOrHashWithNumber(rpc.BlockNumber(n))
		return nil
	}
	return b.BlockNumberOrHash.UnmarshalJSON(text)
}

// block finds a block; nil where there is none. Without a parameter it is the newest one.
func (a *API) block(at *Block) (*types.Block, error) {
	number := a.chain.CurrentBlock().Number.Uint64()
	if at != nil {
		if hash, ok := at.Hash(); ok {
			return a.chain.GetBlockByHash(hash), nil
		}
		if at.BlockNumber == nil {
			return nil, invalid("invalid argument: must specify a block")
		}
		number = a.chain.Number(*at.BlockNumber)
	}
	return a.chain.GetBlockByNumber(number), nil
}

type issuance struct {
	BlockReward *hexutil.Big `json:"blockReward"`
	UncleReward *hexutil.Big `json:"uncleReward"`
	Issuance    *hexutil.Big `json:"issuance"`
}

// Details is what is known of a block beside its transactions.
type Details struct {
	Block     map[string]any `json:"block"`
	Issuance  issuance       `json:"issuance"`
	TotalFees *hexutil.Big   `json:"totalFees"`
}

// GetBlockDetails answers ots_getBlockDetails; null where there is no such block.
func (a *API) GetBlockDetails(ctx context.Context, at Block) (*Details, error) {
	block, err := a.block(&at)
	if err != nil || block == nil {
		return nil, err
	}
	return a.details(ctx, block)
}

// GetBlockDetailsByHash answers ots_getBlockDetailsByHash.
func (a *API) GetBlockDetailsByHash(ctx context.Context, hash common.Hash) (*Details, error) {
	block := a.chain.GetBlockByHash(hash)
	if block == nil {
		return nil, fmt.Errorf("couldn't find block number for hash %s", hash)
	}
	return a.details(ctx, block)
}

func (a *API) details(ctx context.Context, block *types.Block) (*Details, error) {
	fields, err := a.eth.GetBlockByHash(ctx, block.Hash(), false)
	if err != nil {
		return nil, err
	}
	receipts, err := a.receipts(ctx, block)
	if err != nil {
		return nil, err
	}
	delete(fields, "transactions")
	fields["transactionCount"], fields["logsBloom"] = len(block.Transactions()), nil
	miner, uncles := a.chain.Rewards(block)
	sum := new(big.Int)
	for _, u := range uncles {
		sum.Add(sum, u)
	}
	all := new(big.Int).Add(miner, sum)
	return &Details{fields, issuance{(*hexutil.Big)(miner), (*hexutil.Big)(sum), (*hexutil.Big)(all)}, (*hexutil.Big)(fees(receipts))}, nil
}

func (a *API) receipts(ctx context.Context, block *types.Block) ([]map[string]any, error) {
	return a.eth.GetBlockReceipts(ctx, rpc.BlockNumberOrHashWithHash(block.Hash(), false))
}

// transactions are those of a block as eth_getBlockByHash writes them, and the block.
func (a *API) transactions(ctx context.Context, block *types.Block) (fields map[string]any, txs []map[string]any, err error) {
	if fields, err = a.eth.GetBlockByHash(ctx, block.Hash(), true); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(fields["transactions"]) // of a type that is internal to go-ethereum
	if err != nil {
		return nil, nil, err
	}
	return fields, txs, json.Unmarshal(text, &txs)
}

// Page is a part of a block's transactions.
type Page struct {
	Fullblock map[string]any   `json:"fullblock"`
	Receipts  []map[string]any `json:"receipts"`
}

// maxPage is how many transactions a page may have.
const maxPage = 255

// GetBlockTransactions answers ots_getBlockTransactions. Pages count from the end of the
// block. Of inputs the first four bytes are shown, and no logs.
func (a *API) GetBlockTransactions(ctx context.Context, at Block, page, size uint16) (*Page, error) {
	if size == 0 || size > maxPage {
		return nil, invalid("invalid argument 2: the page size must be 1 to %d", maxPage)
	}
	block, err := a.block(&at)
	if err != nil || block == nil {
		return nil, err
	}
	fields, txs, err := a.transactions(ctx, block)
	if err != nil {
		return nil, err
	}
	receipts, err := a.receipts(ctx, block)
	if err != nil {
		return nil, err
	}
	end := max(len(txs)-int(page)*int(size), 0)
	start := max(end-int(size), 0)
	txs, receipts = txs[start:end], receipts[start:end]
	for i := range txs {
		const selector = len("0x01234567")
		if input, _ := txs[i]["input"].(string); len(input) > selector {
			txs[i]["input"] = input[:selector]
		}
		receipts[i]["logs"], receipts[i]["logsBloom"] = nil, nil
	}
	fields["transactions"], fields["transactionCount"], fields["logsBloom"] = txs, len(block.Transactions()), nil
	return &Page{fields, receipts}, nil
}

// invalidParams is an error of the parameters.
type invalidParams string

func (e invalidParams) Error() string { return string(e) }

// ErrorCode is that of JSON-RPC.
func (invalidParams) ErrorCode() int { return -32602 }

func invalid(format string, args ...any) error { return invalidParams(fmt.Sprintf(format, args...)) }
