package logquery

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// benchStore has 10,000 blocks of 10 transactions with two logs each. One of a hundred blocks
// has logs of a contract by itself.
func benchStore(b *testing.B) *store.Store {
	s, err := store.Open(store.Config{Dir: b.TempDir(), ChainID: 1, Memory: 64 << 20, Log: slog.New(slog.DiscardHandler)})
	must(b, err)
	b.Cleanup(func() { _ = s.Close() })
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() (h common.Hash) {
		for i := range 4 {
			binary.BigEndian.PutUint64(h[8*i:], rng.Uint64())
		}
		return h
	}
	parent := common.Hash{}
	for n := range uint64(10_000) {
		block := &store.Block{Number: n + 1, Parent: parent, Hash: random(), Time: n, Header: make([]byte, 600)}
		for i := range 10 {
			token := common.Address{1, 19: byte(rng.ExpFloat64() * 20)}
			if i == 0 && n%100 == 7 {
				token = common.Address{2}
			}
			l := &types.Log{Address: token, Topics: []common.Hash{{1}, random(), random()}, Data: make([]byte, 32)}
			row, err := rlp.EncodeToBytes([]any{[]byte{1}, uint64(i), []*types.Log{l, l}})
			must(b, err)
			block.Txs = append(block.Txs, store.Row{Data: append(make([]byte, 40), random().Bytes()...)})
			block.Hashes = append(block.Hashes, random())
			block.Receipts = append(block.Receipts, store.Receipt{Row: store.Row{Data: row}, FirstLog: uint64(2 * i)})
		}
		must(b, s.Append(block))
		parent = block.Hash
	}
	return s
}

// BenchmarkQuery asks for the logs of an address with a topic in 10,000 blocks.
func BenchmarkQuery(b *testing.B) {
	s := benchStore(b)
	for name, token := range map[string]common.Address{"rare": {2}, "popular": {1, 19: 3}} {
		b.Run(name, func(b *testing.B) {
			f, ok := Parse(fmt.Appendf(nil, `[{"fromBlock":"0x1","toBlock":"0x2710","address":"%s","topics":["%s"]}]`, token, common.Hash{1}))
			if !ok {
				b.Fatal("refused")
			}
			b.ReportAllocs()
			count := 0
			for b.Loop() {
				v, err := s.Snapshot()
				must(b, err)
				r, err := Run(b.Context(), v, f, Limits{})
				must(b, err)
				must(b, v.Close())
				count = r.Count
			}
			b.ReportMetric(float64(count), "logs")
		})
	}
}
