package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// tokenCode emits two transfers between accounts of the input, there and back.
func tokenCode() (code []byte) {
	for _, order := range [][2]byte{{0, 32}, {32, 0}} {
		code = append(code, byte(vm.PUSH1), order[1], byte(vm.CALLDATALOAD), byte(vm.PUSH1), order[0], byte(vm.CALLDATALOAD), byte(vm.PUSH32))
		code = append(code, signatures[0].topic[:]...)
		code = append(code, byte(vm.PUSH1), 32, byte(vm.PUSH0), byte(vm.LOG3))
	}
	return code
}

// realChain makes a chain of transfers of tokens, some of which are popular. One of a hundred
// blocks has one of a token that nobody else uses.
type realChain struct {
	genesis *core.Genesis
	logs    *chainLogs
	token   *rand.Zipf
	txs     int
}

const (
	tokens  = 1000
	senders = 50
)

func newRealChain(txs int) *realChain {
	c := &realChain{genesis: devchain.Devnet().Genesis(), logs: newChainLogs(txs), txs: txs}
	c.token = rand.NewZipf(c.logs.rng, 1.15, 2, tokens-1)
	code := types.Account{Balance: new(big.Int), Code: tokenCode()}
	c.genesis.Alloc[rareContract] = code
	for i := range uint64(tokens) {
		c.genesis.Alloc[address("contract", i)] = code
	}
	for i := range senders {
		c.genesis.Alloc[crypto.PubkeyToAddress(senderKey(i).PublicKey)] = types.Account{Balance: new(big.Int).Lsh(big.NewInt(1), 90)}
	}
	c.genesis.GasLimit = 100_000_000
	return c
}

func (c *realChain) fill(i int, b *core.BlockGen) {
	for j := range c.txs {
		to := address("contract", c.token.Uint64())
		if j == 0 && i%rareContractEvery == 7 {
			to = rareContract
		}
		from, other := c.logs.account(), c.logs.account()
		key := senderKey((i*c.txs + j) % senders)
		b.AddTx(types.MustSignNewTx(key, b.Signer(), &types.LegacyTx{
			Nonce: b.TxNonce(crypto.PubkeyToAddress(key.PublicKey)), GasPrice: big.NewInt(2 * params.GWei), Gas: 60_000, To: &to, Data: append(from[:], other[:]...),
		}))
	}
}

// against compares whole queries with Geth's on the same chain: from the filter to the JSON of
// the answer, without any network.
func against(dir string, count, txs, rounds int) (err error) {
	c := newRealChain(txs)
	start := time.Now()
	_, blocks, receipts := core.GenerateChainWithGenesis(c.genesis, beacon.New(ethash.NewFaker()), count, c.fill)
	fmt.Printf("%d blocks of %d transactions with two logs each, made in %s\n", count, txs, time.Since(start).Round(time.Second))
	ours, err := openLedger(filepath.Join(dir, "ledger"), blocks, receipts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	if err := weigh(ours, filepath.Join(dir, "ancients"), c.genesis, blocks, receipts); err != nil {
		return err
	}
	g, err := openGeth(filepath.Join(dir, "geth"), c.genesis, blocks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.stack.Close()) }()
	for _, q := range gethQueries(min(10_000, count), count) {
		if err := race(q, rounds, ours.ask, g.ask); err != nil {
			return err
		}
	}
	return nil
}

// gethQueries are the parameters of eth_getLogs, by a name.
func gethQueries(width, count int) [][2]string {
	where := fmt.Sprintf(`"fromBlock":"0x%x","toBlock":"0x%x"`, count-width+1, count)
	transfer, hot := signatures[0].topic, popular()
	all := func(name, more string) [2]string {
		return [2]string{fmt.Sprintf("%s, %d blocks", name, width), "[{" + where + more + "}]"}
	}
	return [][2]string{
		all("rare address and topic", fmt.Sprintf(`,"address":%q,"topics":[%q]`, rareContract.Hex(), transfer.Hex())),
		all("popular address, rare topic", fmt.Sprintf(`,"address":%q,"topics":[%q,%q]`, hot.Hex(), transfer.Hex(), topicOf(address("user", 40)).Hex())),
		all("popular address and topic", fmt.Sprintf(`,"address":%q,"topics":[%q]`, hot.Hex(), transfer.Hex())),
	}
}

// race measures both in turns, and compares their answers.
func race(q [2]string, rounds int, ours, theirs func(params string) ([]byte, error)) error {
	var times [2][]time.Duration
	var answers [2][]byte
	for range rounds + 1 {
		for i, ask := range []func(string) ([]byte, error){ours, theirs} {
			start := time.Now()
			answer, err := ask(q[1])
			if err != nil {
				return err
			}
			times[i], answers[i] = append(times[i], time.Since(start)), answer
		}
	}
	if string(answers[0]) != string(answers[1]) {
		return fmt.Errorf("%s: the answers differ: %.200s, %.200s", q[0], answers[0], answers[1])
	}
	var logs []json.RawMessage
	if err := json.Unmarshal(answers[0], &logs); err != nil {
		return err
	}
	first := [2]time.Duration{times[0][0], times[1][0]}
	a, b := median(times[0]), median(times[1])
	fmt.Printf("  %-42s %6d logs: ledger %8.3f ms (first %8.3f), Geth %8.3f ms (first %8.3f), %.1f times\n", q[0], len(logs), ms(a), ms(first[0]), ms(b), ms(first[1]), float64(b)/float64(a))
	return nil
}

// geth is go-ethereum with its usual settings.
type geth struct {
	stack *node.Node
	api   *filters.FilterAPI
}

func openGeth(dir string, genesis *core.Genesis, blocks []*types.Block) (*geth, error) {
	config := node.DefaultConfig
	config.DataDir, config.IPCPath = dir, ""
	config.P2P = p2p.Config{NoDiscovery: true, NoDial: true, ListenAddr: ""}
	stack, err := node.New(&config)
	if err != nil {
		return nil, err
	}
	settings := ethconfig.Defaults
	settings.Genesis, settings.SyncMode, settings.DatabaseHandles = genesis, ethconfig.FullSync, 1024
	backend, err := eth.New(stack, &settings)
	if err == nil {
		err = stack.Start()
	}
	for at := 0; at < len(blocks) && err == nil; at += 500 {
		_, err = backend.BlockChain().InsertChain(blocks[at:min(at+500, len(blocks))])
	}
	if err == nil {
		err = indexed(backend, blocks[len(blocks)-1].NumberU64())
	}
	if err != nil {
		return nil, errors.Join(err, stack.Close())
	}
	return &geth{stack, filters.NewFilterAPI(filters.NewFilterSystem(backend.APIBackend, filters.Config{}))}, nil
}

// indexed waits for the index of logs.
func indexed(backend *eth.Ethereum, head uint64) error {
	matcher := backend.APIBackend.NewMatcherBackend()
	defer matcher.Close()
	for {
		synced, err := matcher.SyncLogIndex(context.Background())
		if err != nil || synced.IndexedBlocks.Includes(head) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (g *geth) ask(params string) ([]byte, error) {
	var criteria []filters.FilterCriteria
	if err := json.Unmarshal([]byte(params), &criteria); err != nil {
		return nil, err
	}
	logs, err := g.api.GetLogs(context.Background(), criteria[0])
	if err != nil {
		return nil, err
	}
	return json.Marshal(logs)
}
