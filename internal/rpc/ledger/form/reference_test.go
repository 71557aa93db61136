package form_test

import (
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
)

// This file says with go-ethereum's types and encoding/json what its API answers, for data
// that is in no chain. TestChains compares both with the answers of real nodes.

// transactionJSON has the members of go-ethereum's ethapi.RPCTransaction.
type transactionJSON struct {
	BlockHash         common.Hash                  `json:"blockHash"`
	BlockNumber       hexutil.Uint64               `json:"blockNumber"`
	BlockTimestamp    hexutil.Uint64               `json:"blockTimestamp"`
	From              common.Address               `json:"from"`
	Gas               hexutil.Uint64               `json:"gas"`
	GasPrice          *hexutil.Big                 `json:"gasPrice"`
	MaxFee            *hexutil.Big                 `json:"maxFeePerGas,omitempty"`
	MaxTip            *hexutil.Big                 `json:"maxPriorityFeePerGas,omitempty"`
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

// place is where the transactions of these tests are.
type place struct {
	hash         common.Hash
	number, time uint64
	index        uint64
	baseFee      *big.Int // nil before London
	blobPrice    *big.Int
	from         common.Address
}

func (p *place) head() *form.Head {
	h := &form.Head{Hash: p.hash, Number: p.number, Time: p.time}
	if p.baseFee != nil {
		h.HasBaseFee = true
		p.baseFee.FillBytes(h.BaseFee[:])
	}
	if p.blobPrice != nil {
		h.HasBlobGasPrice = true
		p.blobPrice.FillBytes(h.BlobGasPrice[:])
	}
	return h
}

// wantTransaction is what go-ethereum answers for a mined transaction.
func wantTransaction(t fataler, p *place, tx *types.Transaction) string {
	v, r, s := tx.RawSignatureValues()
	out := &transactionJSON{
		BlockHash: p.hash, BlockNumber: hexutil.Uint64(p.number), BlockTimestamp: hexutil.Uint64(p.time), From: p.from,
		Gas: hexutil.Uint64(tx.Gas()), GasPrice: (*hexutil.Big)(tx.GasPrice()), Hash: tx.Hash(), Input: tx.Data(),
		Nonce: hexutil.Uint64(tx.Nonce()), To: tx.To(), Index: hexutil.Uint64(p.index), Value: (*hexutil.Big)(tx.Value()),
		Type: hexutil.Uint64(tx.Type()), V: (*hexutil.Big)(v), R: (*hexutil.Big)(r), S: (*hexutil.Big)(s),
	}
	if tx.Type() == types.LegacyTxType {
		if id := tx.ChainId(); id.Sign() != 0 {
			out.ChainID = (*hexutil.Big)(id)
		}
		return marshal(t, out)
	}
	list, parity := tx.AccessList(), hexutil.Uint64(v.Sign())
	out.AccessList, out.ChainID, out.YParity = &list, (*hexutil.Big)(tx.ChainId()), &parity
	if tx.Type() >= types.DynamicFeeTxType {
		out.MaxFee, out.MaxTip = (*hexutil.Big)(tx.GasFeeCap()), (*hexutil.Big)(tx.GasTipCap())
		out.GasPrice = (*hexutil.Big)(wantPrice(tx, p.baseFee))
	}
	if tx.Type() == types.BlobTxType {
		out.MaxBlobFee, out.BlobHashes = (*hexutil.Big)(tx.BlobGasFeeCap()), tx.BlobHashes()
	}
	out.AuthorizationList = tx.SetCodeAuthorizations()
	return marshal(t, out)
}

func wantPrice(tx *types.Transaction, baseFee *big.Int) *big.Int {
	if tx.Type() < types.DynamicFeeTxType || baseFee == nil {
		return tx.GasPrice()
	}
	price := new(big.Int).Add(tx.GasTipCap(), baseFee)
	if limit := tx.GasFeeCap(); limit.Cmp(price) < 0 {
		return limit
	}
	return price
}

// wantReceipt is what go-ethereum answers for a receipt, given its consensus fields.
func wantReceipt(t fataler, p *place, tx *types.Transaction, r *types.Receipt, gasUsed, firstLog uint64) string {
	logs := []*types.Log{}
	for i, l := range r.Logs {
		moved := *l
		moved.BlockHash, moved.BlockNumber, moved.BlockTimestamp = p.hash, p.number, p.time
		moved.TxHash, moved.TxIndex, moved.Index = tx.Hash(), uint(p.index), uint(firstLog)+uint(i)
		logs = append(logs, &moved)
	}
	out := map[string]any{
		"blockHash": p.hash, "blockNumber": hexutil.Uint64(p.number), "contractAddress": nil,
		"cumulativeGasUsed": hexutil.Uint64(r.CumulativeGasUsed), "effectiveGasPrice": (*hexutil.Big)(wantPrice(tx, p.baseFee)),
		"from": p.from, "gasUsed": hexutil.Uint64(gasUsed), "logs": logs, "logsBloom": types.CreateBloom(r), "to": tx.To(),
		"transactionHash": tx.Hash(), "transactionIndex": hexutil.Uint64(p.index), "type": hexutil.Uint(tx.Type()),
	}
	if len(r.PostState) > 0 {
		out["root"] = hexutil.Bytes(r.PostState)
	} else {
		out["status"] = hexutil.Uint(r.Status)
	}
	if tx.Type() == types.BlobTxType {
		out["blobGasUsed"], out["blobGasPrice"] = hexutil.Uint64(tx.BlobGas()), (*hexutil.Big)(p.blobPrice)
	}
	if tx.To() == nil {
		out["contractAddress"] = crypto.CreateAddress(p.from, tx.Nonce())
	}
	return marshal(t, out)
}

// wantHeader has the members that go-ethereum answers for a header.
func wantHeader(h *types.Header, hash common.Hash) map[string]any {
	out := map[string]any{
		"number": (*hexutil.Big)(h.Number), "hash": hash, "parentHash": h.ParentHash, "nonce": h.Nonce, "mixHash": h.MixDigest,
		"sha3Uncles": h.UncleHash, "logsBloom": h.Bloom, "stateRoot": h.Root, "miner": h.Coinbase, "difficulty": (*hexutil.Big)(h.Difficulty),
		"extraData": hexutil.Bytes(h.Extra), "gasLimit": hexutil.Uint64(h.GasLimit), "gasUsed": hexutil.Uint64(h.GasUsed),
		"timestamp": hexutil.Uint64(h.Time), "transactionsRoot": h.TxHash, "receiptsRoot": h.ReceiptHash,
	}
	if h.BaseFee != nil {
		out["baseFeePerGas"] = (*hexutil.Big)(h.BaseFee)
	}
	for name, n := range map[string]*uint64{"blobGasUsed": h.BlobGasUsed, "excessBlobGas": h.ExcessBlobGas, "slotNumber": h.SlotNumber} {
		if n != nil {
			out[name] = hexutil.Uint64(*n)
		}
	}
	for name, hash := range map[string]*common.Hash{
		"withdrawalsRoot": h.WithdrawalsHash, "parentBeaconBlockRoot": h.ParentBeaconRoot, "requestsHash": h.RequestsHash, "blockAccessListHash": h.BlockAccessListHash,
	} {
		if hash != nil {
			out[name] = hash
		}
	}
	return out
}

// wantBlock is what go-ethereum answers for a block.
func wantBlock(t fataler, p *place, b *types.Block, full bool) string {
	out := wantHeader(b.Header(), b.Hash())
	out["size"] = hexutil.Uint64(len(encode(t, b)))
	txs := []any{}
	for i, tx := range b.Transactions() {
		if !full {
			txs = append(txs, tx.Hash())
			continue
		}
		at := *p
		at.index = uint64(i)
		txs = append(txs, json.RawMessage(wantTransaction(t, &at, tx)))
	}
	uncles := []common.Hash{}
	for _, u := range b.Uncles() {
		uncles = append(uncles, u.Hash())
	}
	out["transactions"], out["uncles"] = txs, uncles
	if b.Withdrawals() != nil {
		out["withdrawals"] = b.Withdrawals()
	}
	return marshal(t, out)
}

// fataler is a test, a benchmark or a property.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func marshal(t fataler, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func encode(t fataler, v any) []byte {
	t.Helper()
	b, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func binary(t fataler, v interface{ MarshalBinary() ([]byte, error) }) []byte {
	t.Helper()
	b, err := v.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
