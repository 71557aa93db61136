package ledger

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate"
)

// made is a block of a fake chain. It never changes.
type made struct {
	*types.Block
	receipts types.Receipts
	answers  sync.Map // of what is asked for to what an honest node answers
	kept     bool     // in plainBlocks
}

// origin is what a block of a plain chain is made from.
type origin struct {
	parent common.Hash
	nonce  uint64 // also counts the transactions of blocks that were taken back
	every  time.Duration
	size   uint64
}

// plainBlocks holds the blocks of chains that nothing happened to, by origin. Nearly all tests
// start with such a chain, and signing takes most of the time.
var plainBlocks sync.Map

// chain is a fake chain whose blocks hash: the nodes of a network, as one. It says with
// go-ethereum's types and encoding/json what nodes answer.
type chain struct {
	key *ecdsa.PrivateKey

	mu     sync.Mutex
	blocks []*made // canonical, by height
	byHash map[common.Hash]*made
	head   nodegate.Head
	nonce  uint64
	away   bool          // every call fails
	delay  time.Duration // of every call
	calls  map[string]int
	// lie changes answers, if it is set.
	lie func(name string, answer map[string]any)
	// lieReceipts changes the receipts of a block, if it is set.
	lieReceipts func(list []any) any
	// failReceipts is the error of calls for receipts.
	failReceipts error
	uncles       []*types.Header  // of the blocks that are added
	every        time.Duration    // between two blocks
	size         uint64           // transactions of each block; 0 is few, and none in every fourth
	pruned       uint64           // blocks before it are not there any more
	pretend      map[uint64]*made // blocks of another branch that headers are given of
}

func newChain() *chain {
	key, err := crypto.HexToECDSA("4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318")
	if err != nil {
		panic(err)
	}
	c := &chain{key: key, every: 12 * time.Second, byHash: map[common.Hash]*made{}, calls: map[string]int{}}
	c.add(0)
	c.head = nodegate.Head{Fork: 1}
	return c
}

// add appends a block. Different salts make different blocks.
func (c *chain) add(salt int64) {
	from, plain := origin{nonce: c.nonce, every: c.every, size: c.size}, salt == 0 && c.uncles == nil
	if len(c.blocks) > 0 {
		last := c.blocks[len(c.blocks)-1]
		from.parent, plain = last.Hash(), plain && last.kept
	}
	known, ok := plainBlocks.Load(from)
	if !ok || !plain {
		known = c.build(salt, plain)
	}
	m := known.(*made)
	if plain {
		plainBlocks.Store(from, m)
	}
	c.nonce += uint64(len(m.Transactions()))
	c.blocks, c.byHash[m.Hash()] = append(c.blocks, m), m
}

// build makes the block that follows the last one.
func (c *chain) build(salt int64, kept bool) *made {
	n := uint64(len(c.blocks))
	zero, root := uint64(0), common.Hash{7}
	h := &types.Header{
		Number: new(big.Int).SetUint64(n), Difficulty: new(big.Int), GasLimit: 30_000_000, Time: 1_700_000_000 + uint64(time.Duration(n)*c.every/time.Second), BaseFee: big.NewInt(1_000_000_000),
		Extra: fmt.Appendf(nil, "salt %d", salt), WithdrawalsHash: &types.EmptyWithdrawalsHash, BlobGasUsed: &zero, ExcessBlobGas: &zero, ParentBeaconRoot: &root,
	}
	var txs types.Transactions
	var receipts types.Receipts
	if n > 0 {
		h.ParentHash = c.blocks[n-1].Hash()
		txs, receipts = c.transactions(n, salt)
	}
	h.GasUsed = 50_000 * uint64(len(txs))
	withdrawals := []*types.Withdrawal{{Index: n, Validator: 3, Address: common.Address{4}, Amount: 5}}
	b := types.NewBlock(h, &types.Body{Transactions: txs, Uncles: c.uncles, Withdrawals: withdrawals}, receipts, trie.NewStackTrie(nil))
	for i, r := range receipts {
		r.BlockHash, r.BlockNumber, r.TransactionIndex = b.Hash(), b.Number(), uint(i)
	}
	return &made{Block: b, receipts: receipts, kept: kept}
}

// transactions makes those of a block: none in every fourth.
func (c *chain) transactions(number uint64, salt int64) (txs types.Transactions, receipts types.Receipts) {
	signer := types.LatestSignerForChainID(big.NewInt(1))
	to, gas := common.Address{9}, uint64(0)
	count := number % 4
	if c.size > 0 {
		count = c.size
	}
	for i := range count {
		nonce := c.nonce + 1 + i
		var data types.TxData = &types.LegacyTx{Nonce: nonce, GasPrice: big.NewInt(3_000_000_000), Gas: 90_000, To: &to, Value: big.NewInt(salt), Data: []byte{1, byte(i)}}
		switch i {
		case 1:
			data = &types.DynamicFeeTx{ChainID: big.NewInt(1), Nonce: nonce, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(4_000_000_000), Gas: 90_000, Data: []byte{byte(salt), 2}}
		case 2:
			data = &types.BlobTx{ChainID: uint256.NewInt(1), Nonce: nonce, GasTipCap: uint256.NewInt(2), GasFeeCap: uint256.NewInt(5e9), Gas: 90_000, To: to, BlobFeeCap: uint256.NewInt(9), BlobHashes: []common.Hash{{1, byte(salt)}}}
		}
		tx := types.MustSignNewTx(c.key, signer, data)
		gas += 50_000
		r := &types.Receipt{Type: tx.Type(), Status: 1, CumulativeGasUsed: gas, TxHash: tx.Hash(), GasUsed: 50_000, Logs: []*types.Log{
			{Address: to, Topics: []common.Hash{{1}, {byte(i)}}, Data: []byte("data")}, {Address: common.Address{byte(number)}, Topics: []common.Hash{}},
		}}
		r.Bloom = types.CreateBloom(r)
		txs, receipts = append(txs, tx), append(receipts, r)
	}
	return txs, receipts
}

// grow makes blocks, and the last of them the head.
func (c *chain) grow(blocks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range blocks {
		c.add(0)
	}
	c.head.Number = uint64(len(c.blocks) - 1)
	if c.head.Number > 20 {
		c.head.Finalized = c.head.Number - 20
	}
}

// reorg takes blocks back and puts others in their place.
func (c *chain) reorg(back, blocks int, salt int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks = c.blocks[:len(c.blocks)-back]
	for range blocks {
		c.add(salt)
	}
	c.head.Number = uint64(len(c.blocks) - 1)
	c.head.Fork++
}

// set changes how the chain behaves.
func (c *chain) set(change func(*chain)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *chain) at(number uint64) *made {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks[number]
}

// called returns how many calls there were since the last time.
func (c *chain) called() (all int, by map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by, c.calls = c.calls, map[string]int{}
	for _, n := range by {
		all += n
	}
	return all, by
}

func (c *chain) Head(context.Context) (nodegate.Head, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nodegate.Head{}, &nodegate.Error{Code: nodegate.NoNode}
	}
	return c.head, nil
}

func (c *chain) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	c.mu.Lock()
	delay := c.delay
	c.calls[name]++
	c.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, &nodegate.Error{Code: nodegate.NoNode}
	}
	return c.answer(name, params)
}

// answer answers as a node. Names of methods are told apart by what they are about.
func (c *chain) answer(name string, params []byte) ([]byte, error) {
	var args []any
	if err := json.Unmarshal(params, &args); err != nil {
		return nil, err
	}
	b := c.find(fmt.Sprint(args[0]))
	if b == nil || b.NumberU64() < c.pruned && b.NumberU64() > 0 {
		return []byte("null"), nil
	}
	switch {
	case strings.HasSuffix(name, "Receipts"):
		if c.failReceipts != nil {
			return nil, c.failReceipts
		}
		if c.lie == nil && c.lieReceipts == nil {
			return b.answer("receipts", func() any { return b.receiptsJSON() }), nil
		}
		list := b.receiptsJSON()
		for _, r := range list {
			if c.lie != nil {
				c.lie("receipt", r.(map[string]any))
			}
		}
		if c.lieReceipts != nil {
			return json.Marshal(c.lieReceipts(list))
		}
		return json.Marshal(list)
	case strings.Contains(name, "getBlockBy"):
		if p := c.pretend[b.NumberU64()]; p != nil && args[1] == false {
			b = p
		}
		full := args[1] == true
		if c.lie == nil {
			return b.answer(fmt.Sprint("block ", full), func() any { return b.json(full) }), nil
		}
		out := b.json(full)
		c.lie("block", out)
		return json.Marshal(out)
	}
	return nil, &nodegate.Error{Code: nodegate.MethodNotFound}
}

// answer is what an honest node answers, encoded once. Whoever gets it may change it.
func (m *made) answer(what string, value func() any) []byte {
	known, ok := m.answers.Load(what)
	if !ok {
		raw, err := json.Marshal(value())
		if err != nil {
			panic(err)
		}
		known, _ = m.answers.LoadOrStore(what, raw)
	}
	return bytes.Clone(known.([]byte))
}

func (c *chain) find(block string) *made {
	if len(block) == 66 {
		return c.byHash[common.HexToHash(block)]
	}
	n := hexutil.MustDecodeUint64(block)
	if n >= uint64(len(c.blocks)) {
		return nil
	}
	return c.blocks[n]
}

// object is a value as encoding/json has it, without members that are null.
func object(v any) (out map[string]any) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		panic(err)
	}
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

func (m *made) json(full bool) map[string]any {
	out := object(m.Header())
	out["size"], out["uncles"], out["withdrawals"] = hexutil.Uint64(m.Size()), []any{}, m.Withdrawals()
	if len(m.Uncles()) > 0 {
		out["uncles"] = []common.Hash{m.Uncles()[0].Hash()}
	}
	list := []any{}
	for i, tx := range m.Transactions() {
		if full {
			list = append(list, m.txJSON(i))
		} else {
			list = append(list, tx.Hash())
		}
	}
	out["transactions"] = list
	return out
}

func (m *made) sender(i int) common.Address {
	from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(1)), m.Transactions()[i])
	if err != nil {
		panic(err)
	}
	return from
}

// price is what a unit of gas cost in a transaction.
func (m *made) price(tx *types.Transaction) *hexutil.Big {
	if tx.Type() < types.DynamicFeeTxType {
		return (*hexutil.Big)(tx.GasPrice())
	}
	return (*hexutil.Big)(new(big.Int).Add(tx.GasTipCap(), m.BaseFee()))
}

func (m *made) txJSON(i int) map[string]any {
	tx := m.Transactions()[i]
	out := object(tx)
	out["blockHash"], out["blockNumber"], out["transactionIndex"] = m.Hash(), (*hexutil.Big)(m.Number()), hexutil.Uint64(i)
	out["blockTimestamp"], out["from"], out["gasPrice"] = hexutil.Uint64(m.Time()), m.sender(i), m.price(tx)
	out["to"] = tx.To()
	out["l1Index"] = "0x5" // a member of this network alone
	return out
}

func (m *made) receiptsJSON() []any {
	list := []any{}
	for i := range m.receipts {
		list = append(list, m.receiptJSON(i))
	}
	return list
}

func (m *made) receiptJSON(i int) map[string]any {
	r, tx := m.receipts[i], m.Transactions()[i]
	first := 0
	for _, before := range m.receipts[:i] {
		first += len(before.Logs)
	}
	logs := []any{}
	for j, l := range r.Logs {
		moved := *l
		moved.BlockHash, moved.BlockNumber, moved.BlockTimestamp = m.Hash(), m.NumberU64(), m.Time()
		moved.TxHash, moved.TxIndex, moved.Index = tx.Hash(), uint(i), uint(first+j)
		logs = append(logs, object(&moved))
	}
	out := map[string]any{
		"blockHash": m.Hash(), "blockNumber": (*hexutil.Big)(m.Number()), "contractAddress": nil, "cumulativeGasUsed": hexutil.Uint64(r.CumulativeGasUsed),
		"effectiveGasPrice": m.price(tx), "from": m.sender(i), "gasUsed": hexutil.Uint64(r.GasUsed), "logs": logs, "logsBloom": r.Bloom,
		"status": hexutil.Uint64(r.Status), "to": tx.To(), "transactionHash": tx.Hash(), "transactionIndex": hexutil.Uint64(i), "type": hexutil.Uint64(tx.Type()),
	}
	if tx.To() == nil {
		out["contractAddress"] = crypto.CreateAddress(m.sender(i), tx.Nonce())
	}
	if tx.Type() == types.BlobTxType {
		out["blobGasPrice"], out["blobGasUsed"] = "0x1", hexutil.Uint64(131072)
	}
	return out
}

// sameJSON compares two values whatever the order of their members.
func sameJSON(t *testing.T, what string, got []byte, want any) {
	t.Helper()
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v in %s", what, err, got)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(a, b) {
		return
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	same = max(0, same-40)
	t.Errorf("%s: ...%.120s, want ...%.120s", what, x[same:], y[same:])
}
