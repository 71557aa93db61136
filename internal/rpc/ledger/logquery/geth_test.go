package logquery

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
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
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/test/full"
	"pgregory.net/rapid"
)

// emitter is a contract that emits two logs with so many topics, taken from its input.
func emitter(topics int) (code []byte) {
	for range 2 {
		for i := topics - 1; i >= 0; i-- {
			code = append(code, byte(vm.PUSH1), byte(32*i), byte(vm.CALLDATALOAD))
		}
		code = append(code, byte(vm.PUSH1), 5, byte(vm.PUSH0), byte(vm.LOG0)+byte(topics))
	}
	return code
}

// emitters are the addresses of contracts with 0 to 4 topics.
func emitterAt(topics byte) common.Address { return common.Address{0xe0, 19: topics} }

func topicAt(v byte) common.Hash { return crypto.Keccak256Hash([]byte{v}) }

// gethChain makes a chain with logs of all numbers of topics.
func gethChain(count int) (*core.Genesis, []*types.Block, []types.Receipts) {
	genesis := devchain.Devnet().Genesis()
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("a sender of logs")))
	if err != nil {
		panic(err)
	}
	from := crypto.PubkeyToAddress(key.PublicKey)
	genesis.Alloc[from] = types.Account{Balance: new(big.Int).Lsh(big.NewInt(1), 90)}
	for i := range byte(5) {
		genesis.Alloc[emitterAt(i)] = types.Account{Balance: new(big.Int), Code: emitter(int(i))}
	}
	_, blocks, receipts := core.GenerateChainWithGenesis(genesis, beacon.New(ethash.NewFaker()), count, func(i int, b *core.BlockGen) {
		for j := range i % 5 {
			var input []byte
			for k := range 4 {
				input = append(input, topicAt(byte((i*(k+1)+j)%4)).Bytes()...)
			}
			to := emitterAt(byte((i + j) % 5))
			b.AddTx(types.MustSignNewTx(key, b.Signer(), &types.LegacyTx{Nonce: b.TxNonce(from), GasPrice: big.NewInt(2 * params.GWei), Gas: 100_000, To: &to, Data: input}))
		}
	})
	return genesis, blocks, receipts
}

// startGeth runs go-ethereum over the chain, with its log index.
func startGeth(t *testing.T, genesis *core.Genesis, blocks []*types.Block) *filters.FilterAPI {
	config := node.DefaultConfig
	config.DataDir, config.IPCPath = "", ""
	config.P2P = p2p.Config{NoDiscovery: true, NoDial: true, ListenAddr: ""}
	stack, err := node.New(&config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stack.Close() })
	settings := ethconfig.Defaults
	settings.Genesis, settings.SyncMode = genesis, ethconfig.FullSync
	backend, err := eth.New(stack, &settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := backend.BlockChain().InsertChain(blocks); err != nil {
		t.Fatal(err)
	}
	matcher := backend.APIBackend.NewMatcherBackend()
	defer matcher.Close()
	head := blocks[len(blocks)-1].NumberU64()
	for {
		synced, err := matcher.SyncLogIndex(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if synced.IndexedBlocks.Includes(head) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return filters.NewFilterAPI(filters.NewFilterSystem(backend.APIBackend, filters.Config{}))
}

// ledgerBlock is a block as the ledger stores it.
func ledgerBlock(w *form.Writer, b *types.Block, receipts types.Receipts) (*store.Block, error) {
	header, err := rlp.EncodeToBytes(b.Header())
	if err != nil {
		return nil, err
	}
	out := &store.Block{Hash: b.Hash(), Parent: b.ParentHash(), Number: b.NumberU64(), Time: b.Time(), Header: header, Level: 4}
	logs, gas := uint64(0), uint64(0)
	for i, tx := range b.Transactions() {
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, err
		}
		encoded, err := receipts[i].MarshalBinary()
		if err != nil {
			return nil, err
		}
		row, slim, ok := w.Slim(nil, encoded)
		if !ok {
			return nil, fmt.Errorf("receipt %d of block %d can't be read", i, b.NumberU64())
		}
		out.Txs = append(out.Txs, store.Row{Data: raw})
		out.Hashes = append(out.Hashes, tx.Hash())
		out.Receipts = append(out.Receipts, store.Receipt{Row: store.Row{Data: row}, FirstLog: logs, GasUsed: slim.Cumulative - gas})
		logs, gas = logs+slim.Logs, slim.Cumulative
	}
	return out, nil
}

// Every query that is understood is answered with the bytes of go-ethereum's answer.
func TestGeth(t *testing.T) {
	full.Slow(t)
	genesis, blocks, receipts := gethChain(300)
	api := startGeth(t, genesis, blocks)
	s := openStore(t)
	w := form.New()
	for i, b := range blocks {
		block, err := ledgerBlock(w, b, receipts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(block); err != nil {
			t.Fatal(err)
		}
	}
	queries, logs := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		v, err := s.Snapshot()
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = v.Close() }()
		for range 10 {
			queries++
			logs += compare(rt, api, v, drawParams(rt, blocks))
		}
	})
	t.Logf("%d queries, %d logs", queries, logs)
	if logs < 1000 {
		t.Error("too few logs to say anything")
	}
}

func drawParams(rt *rapid.T, blocks []*types.Block) string {
	where := fmt.Sprintf(`"blockHash":%q`, rapid.SampledFrom(blocks).Draw(rt, "block").Hash())
	if rapid.IntRange(0, 4).Draw(rt, "range") > 0 {
		from := rapid.IntRange(1, len(blocks)).Draw(rt, "from")
		where = fmt.Sprintf(`"fromBlock":"0x%x","toBlock":"0x%x"`, from, rapid.IntRange(from, len(blocks)).Draw(rt, "to"))
	}
	return writeFilter(rt, []string{where}, func(v byte) string { return emitterAt(v).Hex() }, func(v byte) string { return topicAt(v).Hex() })
}

// compare asks both, and returns how many logs they found.
func compare(rt *rapid.T, api *filters.FilterAPI, v *store.Snapshot, params string) int {
	f, ok := Parse([]byte(params))
	if !ok {
		rt.Fatalf("%s is refused", params)
	}
	got, err := Run(rt.Context(), v, f, Limits{})
	if err != nil {
		rt.Fatal(err)
	}
	var criteria []filters.FilterCriteria
	if err := json.Unmarshal([]byte(params), &criteria); err != nil {
		rt.Fatal(err)
	}
	logs, err := api.GetLogs(rt.Context(), criteria[0])
	if err != nil {
		rt.Fatal(err)
	}
	if want := encode(rt, logs); string(got.Logs) != want || got.Stop != Complete {
		rt.Fatalf("%s: got %v %s, want %s", params, got.Stop, got.Logs, want)
	}
	return len(logs)
}
