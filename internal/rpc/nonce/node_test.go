package nonce_test

import (
	"context"
	"log/slog"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/nonce"
	"github.com/nodegate/nodegate/internal/store/redisstore"
	"github.com/nodegate/nodegate/test/dbtest"
)

// slow is a node that takes transactions and doesn't count them yet.
type slow struct{ count string }

func (s *slow) Call(_ context.Context, name string, _ []byte) ([]byte, error) {
	if name == "eth_sendRawTransaction" {
		return []byte(`"0x"`), nil
	}
	return []byte(s.count), nil
}

func (s *slow) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{}, nil }

// transactions are of every type, and with and without replay protection.
func transactions(chain *big.Int, n uint64) map[string]types.TxData {
	to, id := common.Address{1}, uint256.MustFromBig(chain)
	return map[string]types.TxData{
		"legacy":      &types.LegacyTx{Nonce: n, To: &to, Gas: 21000, GasPrice: big.NewInt(1), Value: big.NewInt(0)},
		"access list": &types.AccessListTx{ChainID: chain, Nonce: n, To: &to, Gas: 21000, GasPrice: big.NewInt(1)},
		"dynamic fee": &types.DynamicFeeTx{ChainID: chain, Nonce: n, To: &to, Gas: 21000, GasFeeCap: big.NewInt(1)},
		"creation":    &types.DynamicFeeTx{ChainID: chain, Nonce: n, Gas: 90000, GasFeeCap: big.NewInt(1), Data: []byte{1, 2}},
		"blob":        &types.BlobTx{ChainID: id, Nonce: n, To: to, Gas: 21000, BlobHashes: []common.Hash{{1}}},
		"blobs":       &types.BlobTx{ChainID: id, Nonce: n, To: to, Gas: 21000, BlobHashes: []common.Hash{{1}}, Sidecar: &types.BlobTxSidecar{}},
		"set code":    &types.SetCodeTx{ChainID: id, Nonce: n, To: to, Gas: 21000, AuthList: []types.SetCodeAuthorization{{}}},
	}
}

// TestTypes: who sends a transaction of any type counts it at once.
func TestTypes(t *testing.T) {
	private, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	chain, sender := big.NewInt(31337), crypto.PubkeyToAddress(private.PublicKey)
	signers := map[string]types.Signer{"": types.LatestSignerForChainID(chain), " unprotected": types.HomesteadSigner{}}
	for kind, data := range transactions(chain, 7) {
		for how, signer := range signers {
			if how != "" && kind != "legacy" {
				continue
			}
			t.Run(kind+how, func(t *testing.T) {
				n := nonce.New(&slow{`"0x7"`}, "net", &nonce.Memory{})
				send(t, n, types.MustSignNewTx(private, signer, data))
				if got := count(t, n, sender.Hex(), "pending"); got != `"0x8"` {
					t.Errorf("the pending nonce is %s", got)
				}
				if got := count(t, n, sender.Hex(), "latest"); got != `"0x7"` {
					t.Errorf("the latest nonce is %s", got)
				}
				if got := count(t, n, common.Address{9}.Hex(), "pending"); got != `"0x7"` {
					t.Errorf("another sender's is %s", got)
				}
			})
		}
	}
}

func send(t *testing.T, n *nonce.Node, tx *types.Transaction) {
	t.Helper()
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Call(t.Context(), "eth_sendRawTransaction", []byte(`["`+hexutil.Encode(raw)+`"]`)); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, n *nonce.Node, address, block string) string {
	t.Helper()
	got, err := n.Call(t.Context(), "eth_getTransactionCount", []byte(`["`+address+`","`+block+`"]`))
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// TestGaps: only what follows the node's count without a gap counts, and not for long.
func TestGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		private, _ := crypto.GenerateKey()
		sender, signer := crypto.PubkeyToAddress(private.PublicKey), types.LatestSignerForChainID(big.NewInt(1))
		node := &slow{`"0x7"`}
		n := nonce.New(node, "net", &nonce.Memory{})
		for _, nonce := range []uint64{9, 8, 5, 12} {
			send(t, n, types.MustSignNewTx(private, signer, &types.DynamicFeeTx{ChainID: big.NewInt(1), Nonce: nonce}))
		}
		for counted, want := range map[string]string{`"0x7"`: `"0x7"`, `"0x8"`: `"0xa"`, `"0xa"`: `"0xa"`, `"0xc"`: `"0xd"`, `null`: `null`} {
			node.count = counted
			if got := count(t, n, sender.Hex(), "pending"); got != want {
				t.Errorf("the node counts %s: %s, want %s", counted, got, want)
			}
		}
		time.Sleep(nonce.Life + time.Second)
		node.count = `"0x8"`
		if got := count(t, n, sender.Hex(), "pending"); got != `"0x8"` {
			t.Errorf("later: %s", got)
		}
	})
}

// TestStores holds every store to the same.
func TestStores(t *testing.T) {
	s, err := redisstore.Open(t.Context(), "redis://"+dbtest.Redis(t).Addr, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	bounds := redisstore.NonceBounds{Life: int(nonce.Life.Seconds()), Most: nonce.MaxNonces}
	for name, store := range map[string]nonce.Store{"memory": &nonce.Memory{}, "redis": s.Nonces(bounds)} {
		t.Run(name, func(t *testing.T) {
			read := func(network, sender string) []uint64 {
				t.Helper()
				list, err := store.Nonces(t.Context(), network, sender)
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(list)
				return list
			}
			for _, n := range []uint64{3, 4, 1<<64 - 1} {
				if err := store.Sent(t.Context(), "net", "0xa", n); err != nil {
					t.Fatal(err)
				}
			}
			if got := read("net", "0xa"); !slices.Equal(got, []uint64{3, 4, 1<<64 - 1}) || len(read("net", "0xb"))+len(read("other", "0xa")) != 0 {
				t.Errorf("it has %v", got)
			}
			for n := range uint64(2 * nonce.MaxNonces) {
				if err := store.Sent(t.Context(), "net", "0xc", n); err != nil {
					t.Fatal(err)
				}
			}
			if got := len(read("net", "0xc")); got > nonce.MaxNonces {
				t.Errorf("it keeps %d", got)
			}
		})
	}
}

// FuzzSender: no transaction stops a call.
func FuzzSender(f *testing.F) {
	f.Add([]byte(`["0x"]`))
	f.Add([]byte(`["0x02c0"]`))
	f.Add([]byte(`["0x03c1c0"]`))
	n := nonce.New(&slow{`"0x7"`}, "net", &nonce.Memory{})
	f.Fuzz(func(t *testing.T, params []byte) {
		if _, err := n.Call(t.Context(), "eth_sendRawTransaction", params); err != nil {
			t.Error(err)
		}
	})
}
