package proven

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate"
)

// holding is what an account of a fake chain has.
type holding struct {
	nonce, balance uint64
	code           []byte
	slots          map[uint64]uint64
}

// made is a block of a fake chain with its state.
type made struct {
	*types.Header
	holds    map[common.Address]holding
	accounts *trie.Trie
	storages map[common.Address]*trie.Trie
}

// chain is a fake chain with real tries: the nodes of a network, as one. What it says of
// accounts without a proof is always wrong.
type chain struct {
	mu     sync.Mutex
	blocks []*made
	byHash map[common.Hash]*made
	calls  map[string]int
	// lie changes the answer of the first node that is asked, if it is set.
	lie     func(name, result string) string
	dropped int              // lies that were noticed
	enter   chan<- struct{}  // gets a value when a proof is asked for, if it is set
	leave   <-chan struct{}  // which is answered when this has one
	errors  map[string]error // by method
	// list answers a call for an access list, if it is set.
	list   func(ctx context.Context) ([]byte, error)
	before func(name string) // is called before each call, if it is set
	refuse string            // an account that is never proven
}

const falsehood = `"0xbad0bad"`

func newChain() *chain { return &chain{byHash: map[common.Hash]*made{}, calls: map[string]int{}} }

func newTrie() *trie.Trie {
	return trie.NewEmpty(triedb.NewDatabase(rawdb.NewMemoryDatabase(), nil))
}

// add appends a block after another. Different salts make different blocks.
func (c *chain) add(salt byte, holds map[common.Address]holding) *made {
	m := &made{holds: holds, accounts: newTrie(), storages: map[common.Address]*trie.Trie{}}
	for address, h := range holds {
		storage := newTrie()
		for slot, value := range h.slots {
			word, _ := rlp.EncodeToBytes(value)
			key := common.BigToHash(new(big.Int).SetUint64(slot))
			storage.MustUpdate(crypto.Keccak256(key[:]), word)
		}
		m.storages[address] = storage
		leaf, err := rlp.EncodeToBytes(&types.StateAccount{Nonce: h.nonce, Balance: uint256.NewInt(h.balance), Root: storage.Hash(), CodeHash: crypto.Keccak256(h.code)})
		if err != nil {
			panic(err)
		}
		m.accounts.MustUpdate(crypto.Keccak256(address[:]), leaf)
	}
	m.Header = &types.Header{
		Number: big.NewInt(int64(len(c.blocks))), Difficulty: new(big.Int), BaseFee: big.NewInt(7), Root: m.accounts.Hash(), Extra: []byte{salt}, GasLimit: 30_000_000,
		UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks, c.byHash[m.Hash()] = append(c.blocks, m), m
	return m
}

// forget has all nodes forget the newest block.
func (c *chain) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.blocks) - 1
	delete(c.byHash, c.blocks[last].Hash())
	c.blocks = c.blocks[:last]
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

// hash is what the nodes report of the newest blocks.
func (c *chain) hash(number uint64) ([32]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number >= uint64(len(c.blocks)) {
		return [32]byte{}, false
	}
	return c.blocks[number].Hash(), true
}

func (c *chain) Head(context.Context) (nodegate.Head, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return nodegate.Head{Number: uint64(len(c.blocks) - 1), Fork: 1}, nil
}

// Call answers as a pool does: what isn't wanted is dropped, and another node asked.
func (c *chain) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	t := nodegate.TraceFrom(ctx)
	t.Node = "node"
	c.mu.Lock()
	c.calls[name]++
	enter := c.enter
	c.mu.Unlock()
	if c.before != nil {
		c.before(name)
	}
	if strings.HasSuffix(name, "Proof") && enter != nil {
		enter <- struct{}{}
		<-c.leave
	}
	if err := c.errors[name]; err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, "AccessList") && c.list != nil {
		return c.list(ctx)
	}
	result, err := c.answer(name, params)
	if err != nil {
		return nil, err
	}
	if c.lie != nil {
		told := []byte(c.lie(name, string(result)))
		if t.Want == nil || t.Want.Holds(told) == nil {
			return told, nil
		}
		c.dropped++
	}
	if t.Want != nil && t.Want.Holds(result) != nil {
		return nil, &nodegate.Error{Code: nodegate.NoNode, Msg: "no node available"}
	}
	return result, nil
}

func (c *chain) answer(name string, params []byte) ([]byte, error) {
	var args []any
	if err := json.Unmarshal(params, &args); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case strings.Contains(name, "getBlockBy"):
		if b := c.find(args[0]); b != nil {
			return json.Marshal(b.Header)
		}
		return []byte("null"), nil
	case len(args) < 2:
		return nil, &nodegate.Error{Code: nodegate.InvalidParams, Msg: "missing value"}
	}
	b := c.find(args[len(args)-1])
	if b == nil {
		return nil, &nodegate.Error{Code: nodegate.NodeFault, Number: -32000, Msg: "header not found"}
	}
	switch {
	case strings.HasSuffix(name, "getProof") && args[0] == c.refuse:
		return nil, &nodegate.Error{Code: nodegate.NodeFault, Number: -32000, Msg: "refused"}
	case strings.HasSuffix(name, "getProof"):
		return b.proof(args[0].(string), args[1].([]any)), nil
	case strings.HasSuffix(name, "getCode"):
		return json.Marshal(hexutil.Bytes(b.holds[common.HexToAddress(args[0].(string))].code))
	}
	return []byte(falsehood), nil
}

// find finds a block by a hash or a number. The chain is locked.
func (c *chain) find(block any) *made {
	if object, ok := block.(map[string]any); ok {
		block = object["blockHash"]
	}
	text := fmt.Sprint(block)
	if len(text) == 66 {
		return c.byHash[common.HexToHash(text)]
	}
	if text == "pending" {
		return c.blocks[len(c.blocks)-1]
	}
	n, err := hexutil.DecodeUint64(text)
	if err != nil || n >= uint64(len(c.blocks)) {
		return nil
	}
	return c.blocks[n]
}

// nodes are those of a proof, in order.
type nodes []string

func (n *nodes) Put(_, value []byte) error {
	*n = append(*n, hexutil.Encode(value))
	return nil
}

func (n *nodes) Delete([]byte) error { return nil }

func proofOf(t *trie.Trie, key []byte) nodes {
	list := nodes{}
	if err := t.Prove(crypto.Keccak256(key), &list); err != nil {
		panic(err)
	}
	return list
}

// proof writes a proof as nodes do.
func (m *made) proof(text string, keys []any) []byte {
	address := common.HexToAddress(text)
	h, there := m.holds[address]
	code, storage := common.Hash{}, common.Hash{}
	if there {
		code, storage = crypto.Keccak256Hash(h.code), m.storages[address].Hash()
	}
	slots := []any{}
	for _, k := range keys {
		key := common.HexToHash(k.(string))
		proof, value := nodes{}, uint64(0)
		if there && storage != types.EmptyRootHash {
			proof, value = proofOf(m.storages[address], key[:]), h.slots[key.Big().Uint64()]
		}
		slots = append(slots, map[string]any{"key": k, "value": hexutil.Uint64(value), "proof": proof})
	}
	out, err := json.Marshal(map[string]any{
		"address": address, "accountProof": proofOf(m.accounts, address[:]), "balance": hexutil.Uint64(h.balance), "nonce": hexutil.Uint64(h.nonce),
		"codeHash": code, "storageHash": storage, "storageProof": slots,
	})
	if err != nil {
		panic(err)
	}
	return bytes.TrimSpace(out)
}

// lonely is a chain with one node, which lies.
type lonely struct{ *chain }

func (l lonely) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	result, err := l.answer(name, params)
	if want := nodegate.TraceFrom(ctx).Want; err == nil && want != nil && want.Holds([]byte(l.lie(name, string(result)))) != nil {
		return nil, &nodegate.Error{Code: nodegate.NoNode, Msg: "no node available"}
	}
	return result, err
}
