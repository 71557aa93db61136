package chain

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// sendAs sends a transaction for an account.
func sendAs(t *testing.T, n *Node, account, name string, tx *types.Transaction) error {
	t.Helper()
	raw, err := tx.MarshalBinary()
	mustDo(t, err)
	ctx := nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: account})
	_, err = n.Call(ctx, name, []byte(`["`+hexutil.Encode(raw)+`"]`))
	return err
}

// counted waits until all that an account has sent is mined and counted.
func counted(t *testing.T, n *Node, account string) (bytes int64) {
	t.Helper()
	eventually(t, "what was sent is not counted", func() bool {
		n.growth.mu.Lock()
		defer n.growth.mu.Unlock()
		a := n.growth.added[account]
		bytes = a.bytes
		return a.sent == 0
	})
	return bytes
}

// TestDailyGrowth: an account that has added its share of a day to the chain is refused until
// the next one, by every method and with large transactions too; others go on.
func TestDailyGrowth(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.DailyBytes = 1 << 20
	n, err := Open(cfg)
	mustDo(t, err)
	t.Cleanup(func() { closeNode(t, n) })
	now := time.Now()
	n.growth.now = func() time.Time { return now }
	greedy, modest := newSender(n, 0), newSender(n, 1)
	sent := 0
	for ; sent < 10; sent++ {
		tx := greedy.signGas(16_000_000, nil, hexutil.MustDecode("0x6188b85b5f5fa0600190038060035700")) // 35,000 logs
		if err = sendAs(t, n, "greedy", "eth_sendRawTransaction", tx); err != nil {
			greedy.nonce--
			break
		}
		counted(t, n, "greedy")
	}
	refused := nodegate.AsError(err)
	if sent != 1 || refused.Code != nodegate.CreditsSpent || !strings.Contains(refused.Msg, "embedded.daily_per_account") || len(refused.Data) == 0 {
		t.Fatalf("after %d of them: %v", sent, err)
	}
	small := greedy.setValue(1)
	large := greedy.signGas(1_000_000, nil, make([]byte, largeSend))
	for name, tx := range map[string]*types.Transaction{"eth_sendRawTransaction": large, "eth_sendRawTransactionSync": small} {
		if err := sendAs(t, n, "greedy", name, tx); !errors.Is(err, nodegate.CreditsSpent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustDo(t, sendAs(t, n, "modest", "eth_sendRawTransactionSync", modest.setValue(2)))
	now = now.Add(24 * time.Hour)
	mustDo(t, sendAs(t, n, "greedy", "eth_sendRawTransactionSync", small))
	if bytes := counted(t, n, "greedy"); bytes == 0 || bytes > 10_000 {
		t.Errorf("%d bytes the next day", bytes)
	}
}

// TestDailyGrowthForgets: what the pool refuses counts for nobody, and nobody escapes by having
// more in the pool than is remembered.
func TestDailyGrowthForgets(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.DailyBytes = 1 << 20
	n, err := Open(cfg)
	mustDo(t, err)
	t.Cleanup(func() { closeNode(t, n) })
	s := newSender(n, 0)
	tx := s.setValue(1)
	mustDo(t, sendAs(t, n, "a", "eth_sendRawTransactionSync", tx))
	before := counted(t, n, "a")
	for _, name := range []string{"eth_sendRawTransaction", "eth_sendRawTransactionSync"} {
		s.nonce = tx.Nonce()
		if err := sendAs(t, n, "a", name, s.sign(nil, nil)); err == nil {
			t.Fatalf("%s: an old nonce is accepted", name)
		}
	}
	mustDo(t, sendAs(t, n, "a", "eth_sendRawTransaction", tx)) // known
	if after := counted(t, n, "a"); before == 0 || after != before || len(n.growth.sent) != 0 {
		t.Errorf("%d bytes, %d before; %d are sent", after, before, len(n.growth.sent))
	}
	ctx := nodegate.WithGrant(context.Background(), &nodegate.Grant{AccountID: "b"})
	for i := range maxSentPerAccount + 1 {
		n.growth.expect(ctx, types.NewTx(&types.LegacyTx{Nonce: uint64(i), Gas: 8_000_000, GasPrice: new(big.Int)}))
	}
	if a := n.growth.added["b"]; a.sent != maxSentPerAccount || a.bytes < 1_000_000 {
		t.Errorf("beyond the bound: %+v", a)
	}
}

// TestDailyGrowthSpares: the service itself and accounts with the scope development have no
// bound, and neither has a chain without one.
func TestDailyGrowthSpares(t *testing.T) {
	g := newDailyGrowth(1)
	g.turn()
	g.added["a"] = &addition{bytes: 2}
	mustDo(t, g.admit(developing()))
	mustDo(t, g.admit(t.Context()))
	account := nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: "a"})
	wantCode(t, g.admit(account), nodegate.CreditsSpent)
	mustDo(t, newDailyGrowth(0).admit(account))
}
