package main

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// contracts is how many there are; a few have most of the logs.
const contracts = 20_000

var transfer = common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")

// chain makes blocks whose hashes and links hold. What a ledger checks when it fetches them, such
// as signatures and roots, is random: it doesn't look at that again.
type chain struct {
	txs    int
	next   uint64
	parent common.Hash
	first  *types.Header
	last   *types.Header

	pcg   *rand.PCG
	rng   *rand.Rand
	token *rand.Zipf
}

func newChain(txs int) *chain {
	pcg := rand.NewPCG(1, 2)
	rng := rand.New(pcg)
	c := &chain{txs: txs, pcg: pcg, rng: rng, token: rand.NewZipf(rng, 1.15, 2, contracts)}
	c.first = c.header(0)
	return c
}

// resume goes on behind the newest block of a store.
func (c *chain) resume(s *store.Store) error {
	_, tip, ok := s.Tip()
	if !ok {
		return nil
	}
	h, err := s.Head(tip)
	if err != nil {
		return err
	}
	c.last = new(types.Header)
	if err := rlp.DecodeBytes(h.Header, c.last); err != nil {
		return err
	}
	c.next, c.parent = tip.Number+1, tip.Hash
	return nil
}

func (c *chain) genesis() [32]byte { return c.first.Hash() }

func (c *chain) hash() (h common.Hash) {
	for i := range 4 {
		binary.BigEndian.PutUint64(h[8*i:], c.rng.Uint64())
	}
	return h
}

func (c *chain) header(number uint64) *types.Header {
	c.pcg.Seed(number, 0x68656164)
	zero, beacon := uint64(0), c.hash()
	return &types.Header{
		ParentHash: c.parent, UncleHash: types.EmptyUncleHash, Root: c.hash(), TxHash: c.hash(), ReceiptHash: c.hash(), Difficulty: new(big.Int),
		Number: new(big.Int).SetUint64(number), GasLimit: 30_000_000, GasUsed: uint64(50_000 * c.txs), Time: 1_700_000_000 + 12*number,
		BaseFee: big.NewInt(1_000_000_000), WithdrawalsHash: &types.EmptyWithdrawalsHash, BlobGasUsed: &zero, ExcessBlobGas: &zero, ParentBeaconRoot: &beacon,
	}
}

// block makes the next block as a ledger stores it.
func (c *chain) block(number uint64) *store.Block {
	h := c.header(number)
	raw, err := rlp.EncodeToBytes(h)
	if err != nil {
		panic(err)
	}
	b := &store.Block{
		Hash: h.Hash(), Parent: h.ParentHash, Number: number, Time: h.Time, Header: raw, Size: uint64(len(raw) + 200*c.txs),
		Withdrawals: []byte{0xc0}, Level: uint8(nodegate.LevelRoots),
	}
	for i := range c.txs {
		tx, hash := c.transaction(number, i)
		b.Txs = append(b.Txs, store.Row{Data: tx})
		b.Hashes = append(b.Hashes, hash)
		from := c.hash()
		b.Senders = append(b.Senders, from[:20]...)
		b.Receipts = append(b.Receipts, store.Receipt{Row: store.Row{Data: c.receipt(number, i)}, FirstLog: uint64(i), GasUsed: 50_000})
	}
	c.next, c.parent, c.last = number+1, h.Hash(), h
	return b
}

// transaction makes a transaction from its place alone, so that its hash is found again.
func (c *chain) transaction(number uint64, index int) ([]byte, [32]byte) {
	c.pcg.Seed(number, uint64(index)<<32|0x7478)
	to, data := contract(c.token.Uint64()), make([]byte, 68)
	account, r, s := c.hash(), c.hash(), c.hash()
	copy(data[16:], account[:20])
	binary.BigEndian.PutUint64(data[60:], c.rng.Uint64N(1e15))
	tx := types.NewTx(&types.DynamicFeeTx{
		ChainID: big.NewInt(1), Nonce: c.rng.Uint64N(10_000), GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(3e9), Gas: 90_000, To: &to, Value: new(big.Int), Data: data,
		V: new(big.Int), R: r.Big(), S: s.Big(),
	})
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return raw, tx.Hash()
}

// receipt makes the receipt of the transaction that was made before.
func (c *chain) receipt(number uint64, index int) []byte {
	l := &types.Log{Address: contract(c.token.Uint64()), Topics: []common.Hash{transfer, c.hash(), c.hash()}, Data: make([]byte, 32)}
	binary.BigEndian.PutUint64(l.Data[24:], c.rng.Uint64N(1e15))
	if index == 0 {
		if address, ok := rare(number); ok {
			l.Address = address
		}
	}
	raw, err := rlp.EncodeToBytes([]any{[]byte{1}, uint64(50_000 * (index + 1)), []*types.Log{l}})
	if err != nil {
		panic(err)
	}
	return raw
}

func contract(n uint64) (a common.Address) {
	binary.BigEndian.PutUint64(a[:], (n+1)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(a[12:], (n+1)*0xbf58476d1ce4e5b9)
	return a
}

// rareOf is the address with 100 logs in so many blocks.
func rareOf(blocks uint64) common.Address { return contract(contracts + blocks) }

// rare is the address that one block of each so many has a log of.
func rare(number uint64) (a common.Address, ok bool) {
	for _, every := range []uint64{10_000, 1000, 100} {
		if number%every == every/2 {
			return rareOf(100 * every), true
		}
	}
	return a, false
}
