package native

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/maypok86/otter/v2"
)

type accountKey struct {
	root common.Hash
	addr common.Address
}

type slotKey struct {
	root common.Hash
	addr common.Address
	slot common.Hash
}

// Estimated memory of an entry with its share of the table.
const (
	accountWeight = 320
	slotWeight    = 256
	nodeOverhead  = 192
)

// stateCache remembers accounts and slots by state root. A root never changes
// its content, so nothing here is ever invalidated.
type stateCache struct {
	bc       *core.BlockChain
	code     *state.CodeReader
	accounts table[accountKey, *types.StateAccount]
	slots    table[slotKey, common.Hash]
	nodes    table[common.Hash, []byte]
}

func newStateCache(bc *core.BlockChain, budget uint64) (*stateCache, error) {
	c := &stateCache{bc: bc, code: bc.CodeDB().Reader()}
	var err error
	if c.accounts, err = otter.New(&otter.Options[accountKey, *types.StateAccount]{MaximumSize: int(max(budget/4/accountWeight, 64))}); err != nil {
		return nil, err
	}
	if c.slots, err = otter.New(&otter.Options[slotKey, common.Hash]{MaximumSize: int(max(budget/4/slotWeight, 64))}); err != nil {
		return nil, err
	}
	c.nodes, err = otter.New(&otter.Options[common.Hash, []byte]{
		MaximumWeight: max(budget/2, 1),
		Weigher:       func(_ common.Hash, node []byte) uint32 { return uint32(len(node) + nodeOverhead) },
	})
	return c, err
}

// view opens the state of one root for reading.
func (c *stateCache) view(root common.Hash) (*stateView, error) {
	nodes, err := c.bc.TrieDB().NodeReader(root)
	if err != nil {
		return nil, err
	}
	return &stateView{CodeReader: c.code, cache: c, root: root, nodes: nodeSource{nodes, c.nodes}}, nil
}

// stateView reads one state. It implements go-ethereum's state.Reader and is safe
// for concurrent use; many calls share what it reads through the cache.
type stateView struct {
	*state.CodeReader
	cache *stateCache
	root  common.Hash
	nodes nodeSource
}

// missed is never so: all of the state is there.
func (v *stateView) missed() bool { return false }

// Account returns a copy, since the EVM changes what it gets. Nil is an absent account.
func (v *stateView) Account(addr common.Address) (*types.StateAccount, error) {
	acct, err := v.account(addr)
	if acct == nil || err != nil {
		return nil, err
	}
	return acct.Copy(), nil
}

// account returns the shared account: read only.
func (v *stateView) account(addr common.Address) (*types.StateAccount, error) {
	key := accountKey{v.root, addr}
	if acct, ok := v.cache.accounts.GetIfPresent(key); ok {
		return acct, nil
	}
	acct, err := v.proveAccount(addr, nil)
	if err == nil {
		v.cache.accounts.Set(key, acct)
	}
	return acct, err
}

// proveAccount reads an account from the trie, showing each node on the way.
func (v *stateView) proveAccount(addr common.Address, visit func([]byte)) (*types.StateAccount, error) {
	leaf, err := walk(v.nodes, common.Hash{}, v.root, crypto.Keccak256Hash(addr[:]), visit)
	if leaf == nil || err != nil {
		return nil, err
	}
	acct := new(types.StateAccount)
	if err := rlp.DecodeBytes(leaf, acct); err != nil {
		return nil, errTrie
	}
	return acct, nil
}

// Storage returns one slot, zero when it is absent.
func (v *stateView) Storage(addr common.Address, slot common.Hash) (common.Hash, error) {
	key := slotKey{v.root, addr, slot}
	if value, ok := v.cache.slots.GetIfPresent(key); ok {
		return value, nil
	}
	acct, err := v.account(addr)
	if err != nil {
		return common.Hash{}, err
	}
	var value common.Hash
	if acct != nil {
		if value, err = v.proveSlot(addr, acct.Root, slot, nil); err != nil {
			return common.Hash{}, err
		}
	}
	v.cache.slots.Set(key, value)
	return value, nil
}

// proveSlot reads a slot from its account's trie, showing each node on the way.
func (v *stateView) proveSlot(addr common.Address, root, slot common.Hash, visit func([]byte)) (value common.Hash, err error) {
	leaf, err := walk(v.nodes, crypto.Keccak256Hash(addr[:]), root, crypto.Keccak256Hash(slot[:]), visit)
	if leaf == nil || err != nil {
		return common.Hash{}, err
	}
	_, content, _, err := rlp.Split(leaf)
	if err != nil || len(content) > common.HashLength {
		return common.Hash{}, errTrie
	}
	value.SetBytes(content)
	return value, nil
}

// storageAt answers eth_getStorageAt for a full key or a short quantity.
func (p *Path) storageAt(a *args) ([]byte, bool, error) {
	addr, ok := a.address(0)
	key, okKey := a.text(1)
	if !ok || !okKey || a.n != 3 {
		return nil, false, nil
	}
	slot, ok := storageKey(key)
	blk := p.block(a, 2)
	if !ok || blk == nil {
		return nil, false, nil
	}
	view, err := p.states.view(blk.header.Root)
	if err != nil {
		return nil, false, nil
	}
	value, err := view.Storage(addr, slot)
	if err != nil {
		return nil, false, nil
	}
	return QuoteHex(value[:]), true, nil
}

// storageKey reads a slot as 32 bytes or as a quantity.
func storageKey(s []byte) (slot common.Hash, ok bool) {
	if fixedHex(slot[:], s) {
		return slot, true
	}
	n, ok := quantity(s)
	if !ok {
		return slot, false
	}
	for i := common.HashLength - 1; n > 0; i-- {
		slot[i] = byte(n)
		n >>= 8
	}
	return slot, true
}
