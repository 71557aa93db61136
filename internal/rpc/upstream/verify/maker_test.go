package verify

import (
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
)

// The forks that a made block can be of, by what they brought.
const (
	rootedReceipts = iota // receipts with the state's root, before they had a status
	baseFees
	withWithdrawals
	withBlobs
	withRequests
	withSlots
	forks
)

// maker makes blocks with random content.
type maker struct {
	*rand.Rand
	fork int
	key  *ecdsa.PrivateKey
}

func newMaker(seed uint64, fork int) *maker {
	key, err := crypto.HexToECDSA("4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318")
	if err != nil {
		panic(err)
	}
	return &maker{rand.New(rand.NewPCG(seed, uint64(fork))), fork, key}
}

func (m *maker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	return b
}

// number has up to 32 bytes, and small up to 8.
func (m *maker) number() *big.Int        { return new(big.Int).SetBytes(m.bytes(m.IntN(33))) }
func (m *maker) word() *uint256.Int      { return uint256.MustFromBig(m.number()) }
func (m *maker) small() uint64           { return m.Uint64() >> m.IntN(65) }
func (m *maker) hash() common.Hash       { return common.Hash(m.bytes(32)) }
func (m *maker) address() common.Address { return common.Address(m.bytes(20)) }

// data has a length at which RLP changes.
func (m *maker) data() []byte { return m.bytes([]int{0, 1, 1, 1, 2, 55, 56, 57, 256, 300}[m.IntN(10)]) }

// hashes are up to two.
func (m *maker) hashes() []common.Hash {
	list := []common.Hash{}
	for range m.IntN(3) {
		list = append(list, m.hash())
	}
	return list
}

func (m *maker) to() *common.Address {
	if m.IntN(4) == 0 {
		return nil
	}
	to := m.address()
	return &to
}

func (m *maker) accessList() types.AccessList {
	list := types.AccessList{}
	for range m.IntN(3) {
		list = append(list, types.AccessTuple{Address: m.address(), StorageKeys: m.hashes()})
	}
	return list
}

// transaction is of one of all types.
func (m *maker) transaction() *types.Transaction {
	chain := big.NewInt(1 + int64(m.Uint32()))
	id := uint256.MustFromBig(chain)
	rules := types.LatestSignerForChainID(chain)
	var data types.TxData
	switch m.IntN(6) {
	case 0:
		rules = types.HomesteadSigner{}
		fallthrough
	case 1:
		data = &types.LegacyTx{Nonce: m.small(), GasPrice: m.number(), Gas: m.small(), To: m.to(), Value: m.number(), Data: m.data()}
	case 2:
		data = &types.AccessListTx{ChainID: chain, Nonce: m.small(), GasPrice: m.number(), Gas: m.small(), To: m.to(), Value: m.number(), Data: m.data(), AccessList: m.accessList()}
	case 3:
		data = &types.DynamicFeeTx{ChainID: chain, Nonce: m.small(), GasTipCap: m.number(), GasFeeCap: m.number(), Gas: m.small(), To: m.to(), Value: m.number(), Data: m.data(), AccessList: m.accessList()}
	case 4:
		data = &types.BlobTx{ChainID: id, Nonce: m.small(), GasTipCap: m.word(), GasFeeCap: m.word(), Gas: m.small(), To: m.address(), Value: m.word(), Data: m.data(), AccessList: m.accessList(), BlobFeeCap: m.word(), BlobHashes: append(m.hashes(), m.hash())}
	case 5:
		list := []types.SetCodeAuthorization{}
		for range 1 + m.IntN(3) {
			list = append(list, types.SetCodeAuthorization{ChainID: *m.word(), Address: m.address(), Nonce: m.small(), V: uint8(m.IntN(2)), R: *m.word(), S: *m.word()})
		}
		data = &types.SetCodeTx{ChainID: id, Nonce: m.small(), GasTipCap: m.word(), GasFeeCap: m.word(), Gas: m.small(), To: m.address(), Value: m.word(), Data: m.data(), AccessList: m.accessList(), AuthList: list}
	}
	return types.MustSignNewTx(m.key, rules, data)
}

// receipt is that of a transaction.
func (m *maker) receipt(tx *types.Transaction) *types.Receipt {
	r := &types.Receipt{Type: tx.Type(), TxHash: tx.Hash(), CumulativeGasUsed: m.small(), Status: uint64(m.IntN(4)+2) / 3, Logs: []*types.Log{}}
	if m.fork == rootedReceipts {
		r.Status, r.PostState = 1, m.bytes(32)
	}
	for range m.IntN(4) * int(r.Status) {
		topics := m.hashes()
		if m.IntN(3) == 0 {
			topics = append(topics, m.hash(), m.hash())
		}
		r.Logs = append(r.Logs, &types.Log{Address: m.address(), Topics: topics, Data: m.data()})
	}
	r.Bloom = types.CreateBloom(r)
	return r
}

func (m *maker) header() *types.Header {
	h := &types.Header{
		ParentHash: m.hash(), Coinbase: m.address(), Root: m.hash(), Difficulty: m.number(), Number: new(big.Int).SetUint64(m.small()), GasLimit: m.small(),
		GasUsed: m.small(), Time: m.small(), Extra: m.bytes(m.IntN(33)), MixDigest: m.hash(), Nonce: types.EncodeNonce(m.Uint64()),
	}
	if m.fork >= baseFees {
		h.BaseFee = m.number()
	}
	if m.fork >= withBlobs {
		used, excess, root := m.small(), m.small(), m.hash()
		h.BlobGasUsed, h.ExcessBlobGas, h.ParentBeaconRoot = &used, &excess, &root
	}
	if m.fork >= withRequests {
		hash := m.hash()
		h.RequestsHash = &hash
	}
	if m.fork >= withSlots {
		hash, slot := m.hash(), m.small()
		h.BlockAccessListHash, h.SlotNumber = &hash, &slot
	}
	return h
}

// block has some transactions.
func (m *maker) block(n int) *shown {
	var body types.Body
	var receipts types.Receipts
	for range n {
		tx := m.transaction()
		body.Transactions, receipts = append(body.Transactions, tx), append(receipts, m.receipt(tx))
	}
	if m.fork >= withWithdrawals {
		body.Withdrawals = []*types.Withdrawal{}
		for range m.IntN(18) {
			body.Withdrawals = append(body.Withdrawals, &types.Withdrawal{Index: m.small(), Validator: m.small(), Address: m.address(), Amount: m.small()})
		}
	}
	return show(types.NewBlock(m.header(), &body, receipts, gethtrie.NewStackTrie(nil)), receipts)
}

// show writes what a node answers about a block, from go-ethereum's JSON of its parts.
func show(b *types.Block, receipts types.Receipts) *shown {
	block := parse(b.Header())
	list := []fields{}
	for i, tx := range b.Transactions() {
		list = append(list, placed(parse(tx), b, i))
	}
	block["transactions"], block["uncles"] = list, []string{}
	if b.Withdrawals() != nil {
		block["withdrawals"] = b.Withdrawals()
	}
	rows, index := []fields{}, uint(0)
	for i, r := range receipts {
		for _, l := range r.Logs {
			l.BlockNumber, l.BlockHash, l.TxHash, l.TxIndex, l.Index = b.NumberU64(), b.Hash(), r.TxHash, uint(i), index
			index++
		}
		row := placed(parse(r), b, i)
		if r.PostState == nil {
			delete(row, "root")
		} else {
			delete(row, "status")
		}
		rows = append(rows, row)
	}
	return &shown{Block: b, receipts: receipts, whole: write(block), receipted: write(rows)}
}

// fields are the members of an object.
type fields map[string]any

func parse(v any) fields {
	var m fields
	if err := json.Unmarshal(write(v), &m); err != nil {
		panic(err)
	}
	return m
}

func write(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// placed tells a transaction or a receipt where it is.
func placed(m fields, b *types.Block, i int) fields {
	m["blockHash"], m["blockNumber"], m["transactionIndex"] = b.Hash().Hex(), fmt.Sprintf("%#x", b.NumberU64()), fmt.Sprintf("%#x", i)
	return m
}
