package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
)

// gasPerByte is what a byte costs that a transaction leaves on disk: that of a log costs 8 gas,
// and the slots of a contract, with their part of the trie, about as much.
const gasPerByte = 8

// The bounds of transactions that are remembered until they are mined. The pool holds fewer, but
// those that it drops stay until the day is over. Beyond them a transaction counts when it is
// sent, with all the gas that it may use.
const (
	maxSent           = 1 << 18
	maxSentPerAccount = 4096
)

// dailyGrowth bounds how much of a chain's disk space the transactions of one account take in a
// day, so that one tenant can't fill a network of many. What a transaction takes is known when
// it is mined, so an account can pass its bound by what waits in the pool. A restart forgets
// what was counted. The nil value has no bound.
type dailyGrowth struct {
	most int64
	now  func() time.Time

	mu     sync.Mutex
	resets time.Time                 // when the counted day is over
	added  map[string]*addition      // by account
	sent   map[common.Hash]*addition // what is not mined yet counts for these
}

// addition is what one account adds in a day.
type addition struct {
	bytes int64
	sent  int // transactions that are not mined yet
}

// newDailyGrowth bounds the growth of a chain; 0 is no bound.
func newDailyGrowth(most int64) *dailyGrowth {
	if most <= 0 {
		return nil
	}
	return &dailyGrowth{most: most, now: time.Now}
}

// admit returns CreditsSpent when the account of a call has added all that it may today.
// Accounts with the scope development may change the chain as they like, and the service
// itself has no account.
func (g *dailyGrowth) admit(ctx context.Context) error {
	grant := nodegate.GrantFrom(ctx)
	if g == nil || grant.AccountID == "" || grant.Develops() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn()
	if a := g.added[grant.AccountID]; a == nil || a.bytes < g.most {
		return nil
	}
	data, err := json.Marshal(map[string]any{"limit": g.most, "resets_at": g.resets.Format(time.RFC3339)})
	return &nodegate.Error{
		Op: "chain.growth", Code: nodegate.CreditsSpent, Data: data, Err: err,
		Msg: fmt.Sprintf("daily limit reached: today your account's transactions added %d MiB to this network; continue after 00:00 UTC, or ask the operator to raise embedded.daily_per_account", g.most>>20),
	}
}

// turn begins a new day when the old one is over. The lock is held.
func (g *dailyGrowth) turn() {
	if now := g.now().UTC(); !now.Before(g.resets) {
		g.resets = now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		g.added, g.sent = map[string]*addition{}, map[common.Hash]*addition{}
	}
}

// expect notes who sends a transaction, before it can be mined.
func (g *dailyGrowth) expect(ctx context.Context, tx *types.Transaction) {
	account := nodegate.GrantFrom(ctx).AccountID
	if g == nil || tx == nil || account == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn()
	if g.sent[tx.Hash()] != nil {
		return
	}
	a := g.added[account]
	if a == nil {
		a = new(addition)
		g.added[account] = a
	}
	if a.sent >= maxSentPerAccount || len(g.sent) >= maxSent {
		a.bytes += added(tx, tx.Gas())
		return
	}
	a.sent++
	g.sent[tx.Hash()] = a
}

// added is how many bytes a transaction that used so much gas adds to the chain.
func added(tx *types.Transaction, gas uint64) int64 { return int64(tx.Size() + gas/gasPerByte) }

// forget is for a transaction that the pool did not take.
func (g *dailyGrowth) forget(tx *types.Transaction) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mined(tx, 0)
}

// mined counts a transaction that used so much gas; 0 counts nothing. The lock is held.
func (g *dailyGrowth) mined(tx *types.Transaction, gas uint64) {
	a := g.sent[tx.Hash()]
	if a == nil {
		return
	}
	delete(g.sent, tx.Hash())
	a.sent--
	if gas > 0 {
		a.bytes += added(tx, gas)
	}
}

// follow counts what blocks hold until the chain is closed.
func (g *dailyGrowth) follow(bc *core.BlockChain) {
	blocks := make(chan core.ChainEvent, 16)
	sub := bc.SubscribeChainEvent(blocks)
	go func() {
		defer sub.Unsubscribe()
		for {
			select {
			case b := <-blocks:
				g.count(b.Transactions, b.Receipts)
			case <-sub.Err():
				return
			}
		}
	}()
}

// count charges the transactions of a block to those who sent them.
func (g *dailyGrowth) count(txs []*types.Transaction, receipts []*types.Receipt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, tx := range txs {
		if i < len(receipts) {
			g.mined(tx, receipts[i].GasUsed)
		}
	}
}
