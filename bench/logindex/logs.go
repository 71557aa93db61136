package main

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// The shape of the logs: what mainnet has, in smaller blocks.
const (
	contracts = 300_000    // one of ten logs is of the most popular
	users     = 2_000_000  // whose addresses are topics: exchanges and routers very often
	strangers = 50_000_000 // users who appear once or twice
	events    = 5_000      // beside the well-known ones
)

// signatures are the events that most logs are of.
var signatures = []struct {
	share  int // of 100
	topic  common.Hash
	topics int // beside the signature
}{
	{60, common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"), 2}, // Transfer
	{8, common.HexToHash("0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"), 2},  // Approval
	{8, common.HexToHash("0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"), 2},  // Swap
	{6, common.HexToHash("0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1"), 0},  // Sync
	{3, common.HexToHash("0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c"), 1},  // Deposit
}

// The values that are looked for.
var (
	rareContract = address("rare", 0)
	rareEvent    = topicOf(address("rare", 1))
	rareUser     = topicOf(address("rare", 2))
)

const (
	rareContractEvery = 100  // blocks: 100 of 10,000 have a log of it
	rareUserEvery     = 1000 // blocks have a transfer by it
)

// address is the address of a number of a kind.
func address(kind string, n uint64) (a common.Address) {
	x := n*0x9e3779b97f4a7c15 + uint64(len(kind))*0x51_7c_c1_b7_27_22_0a_95 + uint64(kind[0])
	for i := range 3 {
		x ^= x >> 31
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 29
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], x)
		copy(a[8*i:], word[:])
	}
	return a
}

func topicOf(a common.Address) common.Hash { return common.BytesToHash(a[:]) }

// chainLogs makes the logs of each block from its number alone.
type chainLogs struct {
	pcg   *rand.PCG
	rng   *rand.Rand
	token *rand.Zipf
	user  *rand.Zipf
	event *rand.Zipf
	txs   int // of a block, about
}

func newChainLogs(txs int) *chainLogs {
	pcg := rand.NewPCG(1, 2)
	rng := rand.New(pcg)
	return &chainLogs{
		pcg: pcg, rng: rng, txs: txs, token: rand.NewZipf(rng, 1.15, 2, contracts), user: rand.NewZipf(rng, 1.1, 4, users), event: rand.NewZipf(rng, 1.2, 1, events),
	}
}

// block makes the receipts of a block, with their logs and nothing else.
func (c *chainLogs) block(number uint64) types.Receipts {
	c.pcg.Seed(number, 0x6c6f6773)
	list := make(types.Receipts, c.txs/2+c.rng.IntN(c.txs+1))
	for i := range list {
		r := &types.Receipt{Status: 1, CumulativeGasUsed: uint64(i+1) * 90_000}
		for range c.rng.IntN(4) {
			r.Logs = append(r.Logs, c.log())
		}
		list[i] = r
	}
	if last := len(list) - 1; last >= 0 {
		if number%rareContractEvery == 7 {
			list[last].Logs = append(list[last].Logs, &types.Log{Address: rareContract, Topics: []common.Hash{rareEvent, c.account()}, Data: make([]byte, 32)})
		}
		if number%rareUserEvery == 11 {
			list[0].Logs = append(list[0].Logs, &types.Log{Address: popular(), Topics: []common.Hash{signatures[0].topic, rareUser, c.account()}, Data: make([]byte, 32)})
		}
	}
	return list
}

// popular is the contract that most logs are of.
func popular() common.Address { return address("contract", 0) }

func (c *chainLogs) log() *types.Log {
	l := &types.Log{Address: address("contract", c.token.Uint64()), Data: make([]byte, 32)}
	binary.BigEndian.PutUint64(l.Data[24:], c.rng.Uint64N(1e15))
	pick := c.rng.IntN(100)
	for _, s := range signatures {
		if pick < s.share {
			l.Topics = append(l.Topics, s.topic)
			for range s.topics {
				l.Topics = append(l.Topics, c.account())
			}
			return l
		}
		pick -= s.share
	}
	l.Topics = append(l.Topics, topicOf(address("event", c.event.Uint64())))
	for range c.rng.IntN(4) {
		l.Topics = append(l.Topics, c.account())
	}
	return l
}

// account is an account as a topic: half of them appear often.
func (c *chainLogs) account() common.Hash {
	if c.rng.IntN(2) == 0 {
		return topicOf(address("user", c.user.Uint64()))
	}
	return topicOf(address("stranger", c.rng.Uint64N(strangers)))
}

// rows are receipts as the ledger stores them.
func rows(receipts types.Receipts) ([][]byte, error) {
	list := make([][]byte, len(receipts))
	for i, r := range receipts {
		logs := r.Logs
		if logs == nil {
			logs = []*types.Log{}
		}
		row, err := rlp.EncodeToBytes([]any{[]byte{1}, r.CumulativeGasUsed, logs})
		if err != nil {
			return nil, err
		}
		list[i] = row
	}
	return list, nil
}
