package native

import (
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// transactionJSON is a mined transaction as the standard writes it, members in
// go-ethereum's order so that both paths answer the same bytes.
type transactionJSON struct {
	BlockHash         common.Hash                  `json:"blockHash"`
	BlockNumber       hexutil.Uint64               `json:"blockNumber"`
	BlockTimestamp    hexutil.Uint64               `json:"blockTimestamp"`
	From              common.Address               `json:"from"`
	Gas               hexutil.Uint64               `json:"gas"`
	GasPrice          *hexutil.Big                 `json:"gasPrice"`
	MaxFee            *hexutil.Big                 `json:"maxFeePerGas,omitempty"`
	MaxPriorityFee    *hexutil.Big                 `json:"maxPriorityFeePerGas,omitempty"`
	MaxBlobFee        *hexutil.Big                 `json:"maxFeePerBlobGas,omitempty"`
	Hash              common.Hash                  `json:"hash"`
	Input             hexutil.Bytes                `json:"input"`
	Nonce             hexutil.Uint64               `json:"nonce"`
	To                *common.Address              `json:"to"`
	Index             hexutil.Uint64               `json:"transactionIndex"`
	Value             *hexutil.Big                 `json:"value"`
	Type              hexutil.Uint64               `json:"type"`
	AccessList        *types.AccessList            `json:"accessList,omitempty"`
	ChainID           *hexutil.Big                 `json:"chainId,omitempty"`
	BlobHashes        []common.Hash                `json:"blobVersionedHashes,omitempty"`
	AuthorizationList []types.SetCodeAuthorization `json:"authorizationList,omitempty"`
	V                 *hexutil.Big                 `json:"v"`
	R                 *hexutil.Big                 `json:"r"`
	S                 *hexutil.Big                 `json:"s"`
	YParity           *hexutil.Uint64              `json:"yParity,omitempty"`
}

// receiptJSON is a receipt, members in alphabetical order as go-ethereum has them.
type receiptJSON struct {
	BlobGasPrice      *hexutil.Big    `json:"blobGasPrice,omitempty"`
	BlobGasUsed       *hexutil.Uint64 `json:"blobGasUsed,omitempty"`
	BlockHash         common.Hash     `json:"blockHash"`
	BlockNumber       hexutil.Uint64  `json:"blockNumber"`
	ContractAddress   *common.Address `json:"contractAddress"`
	CumulativeGasUsed hexutil.Uint64  `json:"cumulativeGasUsed"`
	EffectiveGasPrice *hexutil.Big    `json:"effectiveGasPrice"`
	From              common.Address  `json:"from"`
	GasUsed           hexutil.Uint64  `json:"gasUsed"`
	Logs              []*types.Log    `json:"logs"`
	LogsBloom         types.Bloom     `json:"logsBloom"`
	Root              hexutil.Bytes   `json:"root,omitempty"`
	Status            *hexutil.Uint64 `json:"status,omitempty"`
	To                *common.Address `json:"to"`
	TransactionHash   common.Hash     `json:"transactionHash"`
	TransactionIndex  hexutil.Uint64  `json:"transactionIndex"`
	Type              hexutil.Uint64  `json:"type"`
}

// encoder writes the transactions and receipts of one block.
type encoder struct {
	hash    common.Hash
	number  uint64
	time    uint64
	baseFee *big.Int
	signer  types.Signer
}

func newEncoder(config *params.ChainConfig, blk *types.Block) *encoder {
	return &encoder{
		hash: blk.Hash(), number: blk.NumberU64(), time: blk.Time(), baseFee: blk.BaseFee(),
		signer: types.MakeSigner(config, blk.Number(), blk.Time()),
	}
}

func (e *encoder) encode(i int, tx *types.Transaction, receipt *types.Receipt) (encodedTx, encodedReceipt []byte, err error) {
	from, err := types.Sender(e.signer, tx)
	if err != nil {
		return nil, nil, err
	}
	if encodedTx, err = json.Marshal(e.transaction(i, tx, from)); err != nil {
		return nil, nil, err
	}
	encodedReceipt, err = json.Marshal(e.receipt(i, tx, receipt, from))
	return encodedTx, encodedReceipt, err
}

func (e *encoder) transaction(i int, tx *types.Transaction, from common.Address) *transactionJSON {
	v, r, s := tx.RawSignatureValues()
	t := &transactionJSON{
		BlockHash: e.hash, BlockNumber: hexutil.Uint64(e.number), BlockTimestamp: hexutil.Uint64(e.time),
		From: from, Gas: hexutil.Uint64(tx.Gas()), GasPrice: (*hexutil.Big)(tx.GasPrice()), Hash: tx.Hash(),
		Input: tx.Data(), Nonce: hexutil.Uint64(tx.Nonce()), To: tx.To(), Index: hexutil.Uint64(i),
		Value: (*hexutil.Big)(tx.Value()), Type: hexutil.Uint64(tx.Type()),
		V: (*hexutil.Big)(v), R: (*hexutil.Big)(r), S: (*hexutil.Big)(s),
	}
	if tx.Type() == types.LegacyTxType {
		if id := tx.ChainId(); id.Sign() != 0 { // replay-protected by EIP-155
			t.ChainID = (*hexutil.Big)(id)
		}
		return t
	}
	e.typedFields(t, tx, v)
	return t
}

// typedFields adds what transactions of type 1 and above have.
func (e *encoder) typedFields(t *transactionJSON, tx *types.Transaction, v *big.Int) {
	list, parity := tx.AccessList(), hexutil.Uint64(v.Sign())
	t.AccessList, t.YParity, t.ChainID = &list, &parity, (*hexutil.Big)(tx.ChainId())
	if tx.Type() == types.AccessListTxType {
		return
	}
	t.MaxFee, t.MaxPriorityFee = (*hexutil.Big)(tx.GasFeeCap()), (*hexutil.Big)(tx.GasTipCap())
	if e.baseFee != nil {
		t.GasPrice = (*hexutil.Big)(paidPrice(tx, e.baseFee))
	} else {
		t.GasPrice = t.MaxFee
	}
	switch tx.Type() {
	case types.BlobTxType:
		t.MaxBlobFee, t.BlobHashes = (*hexutil.Big)(tx.BlobGasFeeCap()), tx.BlobHashes()
	case types.SetCodeTxType:
		t.AuthorizationList = tx.SetCodeAuthorizations()
	}
}

// paidPrice is what a unit of gas cost: the base fee and the tip, up to the cap.
func paidPrice(tx *types.Transaction, baseFee *big.Int) *big.Int {
	price := new(big.Int).Add(tx.GasTipCap(), baseFee)
	if limit := tx.GasFeeCap(); limit.Cmp(price) < 0 {
		return limit
	}
	return price
}

func (e *encoder) receipt(i int, tx *types.Transaction, r *types.Receipt, from common.Address) *receiptJSON {
	out := &receiptJSON{
		BlockHash: e.hash, BlockNumber: hexutil.Uint64(e.number),
		CumulativeGasUsed: hexutil.Uint64(r.CumulativeGasUsed), EffectiveGasPrice: (*hexutil.Big)(r.EffectiveGasPrice),
		From: from, GasUsed: hexutil.Uint64(r.GasUsed), Logs: r.Logs, LogsBloom: r.Bloom, To: tx.To(),
		TransactionHash: tx.Hash(), TransactionIndex: hexutil.Uint64(i), Type: hexutil.Uint64(tx.Type()),
	}
	if r.Logs == nil {
		out.Logs = []*types.Log{}
	}
	if len(r.PostState) > 0 { // before Byzantium
		out.Root = r.PostState
	} else {
		status := hexutil.Uint64(r.Status)
		out.Status = &status
	}
	if tx.Type() == types.BlobTxType {
		used := hexutil.Uint64(r.BlobGasUsed)
		out.BlobGasUsed, out.BlobGasPrice = &used, (*hexutil.Big)(r.BlobGasPrice)
	}
	if r.ContractAddress != (common.Address{}) {
		out.ContractAddress = &r.ContractAddress
	}
	return out
}
