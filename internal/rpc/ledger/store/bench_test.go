package store

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// realBlocks makes blocks as a busy chain has them: transfers of tokens among a few
// thousand accounts, in their real encodings. Signatures are random, which compresses as
// badly as real ones.
type realBlocks struct {
	rng    *rand.Rand
	parent [32]byte
	number uint64
}

func (r *realBlocks) hash() (h common.Hash) {
	for i := range h {
		h[i] = byte(r.rng.Uint32())
	}
	return h
}

// account is one of a few thousand, some of them much more often than others.
func (r *realBlocks) account() (a common.Address) {
	n := uint64(r.rng.ExpFloat64() * 800)
	for i := range a {
		a[i] = byte(n*0x9e3779b97f4a7c15>>(i%8*8)) ^ byte(i)
	}
	return a
}

func (r *realBlocks) transaction(to common.Address, data []byte) []byte {
	sig := func() *big.Int { return new(big.Int).SetBytes(r.hash().Bytes()) }
	tx := types.NewTx(&types.DynamicFeeTx{
		ChainID: big.NewInt(1), Nonce: r.rng.Uint64N(5000), GasTipCap: big.NewInt(r.rng.Int64N(3e9)), GasFeeCap: big.NewInt(20e9 + r.rng.Int64N(1e9)),
		Gas: 60_000 + r.rng.Uint64N(200_000), To: &to, Data: data, V: big.NewInt(r.rng.Int64N(2)), R: sig(), S: sig(),
	})
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return raw
}

func (r *realBlocks) next(txs int) *Block {
	b := &Block{Hash: r.hash(), Parent: r.parent, Number: r.number, Time: 1_700_000_000 + 12*r.number, Level: 4}
	header := &types.Header{
		ParentHash: r.parent, UncleHash: types.EmptyUncleHash, Coinbase: r.account(), Root: r.hash(), TxHash: r.hash(), ReceiptHash: r.hash(), Difficulty: new(big.Int),
		Number: new(big.Int).SetUint64(r.number), GasLimit: 30e6, GasUsed: 15e6, Time: b.Time, Extra: []byte("a builder"), MixDigest: r.hash(), BaseFee: big.NewInt(15e9),
	}
	for i := range header.Bloom {
		header.Bloom[i] = byte(r.rng.Uint32() & r.rng.Uint32())
	}
	b.Header, _ = rlp.EncodeToBytes(header)
	topic := common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	gas, logs := uint64(0), uint64(0)
	for range txs {
		from, to, token := r.account(), r.account(), r.account()
		amount := common.BigToHash(new(big.Int).Mul(big.NewInt(r.rng.Int64N(1e9)), big.NewInt(1e9)))
		data := append(append([]byte{0xa9, 5, 0x9c, 0xbb}, common.LeftPadBytes(to[:], 32)...), amount[:]...)
		b.Txs = append(b.Txs, Row{Data: r.transaction(token, data)})
		b.Hashes = append(b.Hashes, r.hash())
		b.Senders = append(b.Senders, from[:]...)
		used := 40_000 + r.rng.Uint64N(100_000)
		gas += used
		log := &types.Log{Address: token, Topics: []common.Hash{topic, common.BytesToHash(from[:]), common.BytesToHash(to[:])}, Data: amount[:]}
		list := []*types.Log{log, log, log}[:1+r.rng.IntN(3)]
		slim, err := rlp.EncodeToBytes([]any{[]byte{1}, gas, list})
		if err != nil {
			panic(err)
		}
		b.Receipts = append(b.Receipts, Receipt{Row: Row{Data: slim}, FirstLog: logs, GasUsed: used})
		logs += uint64(len(list))
	}
	r.parent, r.number = b.Hash, r.number+1
	return b
}

func newRealBlocks() *realBlocks { return &realBlocks{rng: rand.New(rand.NewPCG(1, 2))} }

// BenchmarkAppend writes blocks of 200 transactions: with every sync of the disk, and
// without a disk.
func BenchmarkAppend(b *testing.B) {
	for name, files := range map[string]vfs.FS{"disk": nil, "memory": vfs.NewMem()} {
		b.Run(name, func(b *testing.B) {
			cfg := testConfig(files)
			cfg.Dir, cfg.Memory = b.TempDir(), 64<<20
			s := openStore(b, cfg)
			blocks := newRealBlocks()
			var raw int64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				block := blocks.next(200)
				raw += int64(len(block.Header))
				for i := range block.Txs {
					raw += int64(len(block.Txs[i].Data) + len(block.Receipts[i].Data))
				}
				b.StartTimer()
				must(b, s.Append(block))
			}
			b.StopTimer()
			must(b, s.db.pebble.Flush())
			must(b, s.db.pebble.Compact(b.Context(), []byte{0}, []byte{255}, false))
			_, data := s.db.bytes([]byte{keyBlock}) // without logs
			_, index := s.Bytes()
			b.ReportMetric(float64(raw)/float64(b.N), "rawB/block")
			b.ReportMetric(float64(data)/float64(b.N), "dataB/block")
			b.ReportMetric(float64(index)/float64(b.N), "indexB/block")
			must(b, s.Close())
		})
	}
}

// BenchmarkLookup reads from a chain of 1,000 blocks of 50 transactions, which the cache
// holds.
func BenchmarkLookup(b *testing.B) {
	cfg := testConfig(nil)
	cfg.Dir, cfg.Memory = b.TempDir(), 64<<20
	s := openStore(b, cfg)
	defer s.Close()
	blocks := newRealBlocks()
	var all []*Block
	for range 1000 {
		block := blocks.next(50)
		must(b, s.Append(block))
		block.Header, block.Txs, block.Receipts, block.Senders = nil, nil, nil, nil
		all = append(all, block)
	}
	must(b, s.db.pebble.Flush())
	must(b, s.db.pebble.Compact(b.Context(), []byte{0}, []byte{255}, false))
	pick := func(i int) (*Block, int) { return all[i*7919%len(all)], i % 50 }
	for name, read := range map[string]func(i int) error{
		"find": func(i int) error {
			block, k := pick(i)
			_, _, ok, err := s.Find(block.Hashes[k])
			if !ok {
				b.Fatal("not found")
			}
			return err
		},
		"find nothing": func(i int) error {
			_, _, _, err := s.Find(testHash("none", uint64(i)))
			return err
		},
		"receipt": func(i int) error { // all that an answer needs
			block, k := pick(i)
			at, k, _, err := s.Find(block.Hashes[k])
			must(b, err)
			_, err = s.Head(at)
			must(b, err)
			_, err = s.Sender(at, k)
			must(b, err)
			_, err = s.Tx(at, k)
			must(b, err)
			_, err = s.Receipt(at, k)
			return err
		},
		"by hash": func(i int) error {
			block, _ := pick(i)
			at, _, err := s.ByHash(block.Hash)
			must(b, err)
			_, err = s.Head(at)
			return err
		},
		"block receipts": func(i int) error {
			block, _ := pick(i)
			at, _, err := s.ByHash(block.Hash)
			must(b, err)
			return s.Receipts(at, func(int, Receipt) bool { return true })
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				must(b, read(i))
				i++
			}
		})
	}
}
