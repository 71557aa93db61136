package devchain

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
)

func presets() []Preset { return []Preset{Devnet(), Rollup()} }

func TestGenerateGivesEmbeddedBytes(t *testing.T) {
	for _, p := range presets() {
		got, err := Generate(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, p.Chain) {
			t.Errorf("%s.rlp is stale: run go generate", p.Name)
		}
		if len(got) > 200_000 {
			t.Errorf("%s.rlp has %d bytes, too many to embed", p.Name, len(got))
		}
	}
}

func TestGenerateUnknown(t *testing.T) {
	if _, err := Generate("nope"); err == nil {
		t.Error("a preset that is not there was generated")
	}
}

func TestByName(t *testing.T) {
	for _, want := range presets() {
		if got, ok := ByName(want.Name); !ok || got.Name != want.Name || len(got.Chain) == 0 {
			t.Errorf("ByName(%q) = %q, %v", want.Name, got.Name, ok)
		}
	}
	if _, ok := ByName("mainnet"); ok {
		t.Error("ByName found a preset that is not there")
	}
}

func TestCallersCannotChangePresets(t *testing.T) {
	for _, p := range presets() {
		p.Chain[0] ^= 0xff
		g := p.Genesis()
		g.Config.ChainID.SetInt64(1)
		g.ExtraData[0] ^= 0xff
		clear(g.Alloc)
		again, _ := ByName(p.Name)
		if again.Chain[0] == p.Chain[0] {
			t.Errorf("%s: chain bytes are shared", p.Name)
		}
		if again.Genesis().ToBlock().Hash() == g.ToBlock().Hash() {
			t.Errorf("%s: genesis is shared", p.Name)
		}
	}
}

func TestGenesisPinsForks(t *testing.T) {
	for _, p := range presets() {
		config := p.Genesis().Config
		if err := config.CheckConfigForkOrder(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if !config.IsOsaka(new(big.Int), 0) {
			t.Errorf("%s: Osaka is off", p.Name)
		}
		if config.AmsterdamTime != nil || config.BogotaTime != nil || config.BPO1Time != nil {
			t.Errorf("%s: a fork after Osaka is on", p.Name)
		}
	}
}

func TestAccountsUntouched(t *testing.T) {
	for _, p := range presets() {
		statedb := headState(t, openChain(t, p))
		for i, account := range Accounts() {
			if got := statedb.GetBalance(account.Address).ToBig(); got.Cmp(ether(10_000)) != 0 {
				t.Errorf("%s: account %d has %s wei", p.Name, i, got)
			}
			if got := statedb.GetNonce(account.Address); got != 0 {
				t.Errorf("%s: account %d has nonce %d", p.Name, i, got)
			}
		}
	}
}

func TestDemoStorage(t *testing.T) {
	rounds := map[string]int64{"devnet": 1, "rollup": 2}
	for _, p := range presets() {
		statedb := headState(t, openChain(t, p))
		wantWord(t, statedb, DemoAddress(), common.Hash{}, 42)
		wantWord(t, statedb, Delegator().Address, common.Hash{}, 7702)
		n := rounds[p.Name]
		wantWord(t, statedb, DemoAddress(), balancePosition(Accounts()[0].Address), 1_000*n)
		wantWord(t, statedb, DemoAddress(), balancePosition(Accounts()[3].Address), 100*n)
		wantWord(t, statedb, DemoAddress(), balancePosition(Deployer().Address), 1_000_000-1_300*n)
	}
}

func wantWord(t *testing.T, s *state.StateDB, addr common.Address, position common.Hash, want int64) {
	t.Helper()
	if got := s.GetState(addr, position).Big(); got.Cmp(big.NewInt(want)) != 0 {
		t.Errorf("storage of %s at %s is %s, want %d", addr, position, got, want)
	}
}

func TestBlocksFollowGenesis(t *testing.T) {
	for _, p := range presets() {
		g := p.Genesis()
		for _, block := range decode(t, p.Chain) {
			if !bytes.Equal(block.Extra(), g.ExtraData) || block.GasLimit() != g.GasLimit || block.Coinbase() != g.Coinbase {
				t.Errorf("%s: block %d differs from the genesis's settings", p.Name, block.NumberU64())
			}
			if want := g.Timestamp + 12*block.NumberU64(); block.Time() != want {
				t.Errorf("%s: block %d has time %d, want %d", p.Name, block.NumberU64(), block.Time(), want)
			}
		}
	}
}

func TestRollupHeaders(t *testing.T) {
	want := append([]byte{0x01, 0, 0, 0x75, 0x30, 0, 0x0f, 0x42, 0x40, 0, 0, 0xa8, 0x86}, make([]byte, 19)...)
	blocks := decode(t, Rollup().Chain)
	if len(blocks) <= 128 {
		t.Errorf("%d blocks all fit a window of 128", len(blocks))
	}
	for _, block := range append(blocks, Rollup().Genesis().ToBlock()) {
		if block.BaseFee().Cmp(big.NewInt(7)) != 0 {
			t.Errorf("block %d has base fee %s", block.NumberU64(), block.BaseFee())
		}
		if !bytes.Equal(block.Extra(), want) {
			t.Errorf("block %d has extra data %x", block.NumberU64(), block.Extra())
		}
	}
}

// openChain imports a preset into a fresh archive in memory.
func openChain(t *testing.T, p Preset) *core.BlockChain {
	t.Helper()
	config := core.DefaultConfig().WithArchive(true).WithStateScheme(rawdb.HashScheme)
	config.TxLookupLimit = 0
	config.SnapshotLimit = 0
	db := rawdb.NewMemoryDatabase()
	chain, err := core.NewBlockChain(db, p.Genesis(), beacon.New(ethash.NewFaker()), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chain.Stop)
	blocks := decode(t, p.Chain)
	if n, err := chain.InsertChain(blocks); err != nil {
		t.Fatalf("%s: block %d: %v", p.Name, n+1, err)
	}
	if head := chain.CurrentBlock(); head.Hash() != blocks[len(blocks)-1].Hash() {
		t.Fatalf("%s: head is block %s", p.Name, head.Number)
	}
	return chain
}

func decode(t *testing.T, chain []byte) []*types.Block {
	t.Helper()
	var blocks []*types.Block
	stream := rlp.NewStream(bytes.NewReader(chain), 0)
	for {
		block := new(types.Block)
		switch err := stream.Decode(block); {
		case errors.Is(err, io.EOF):
			return blocks
		case err != nil:
			t.Fatal(err)
		}
		blocks = append(blocks, block)
	}
}

func headState(t *testing.T, chain *core.BlockChain) *state.StateDB {
	t.Helper()
	head := chain.CurrentBlock()
	statedb, err := chain.StateAt(head.Root, head.Number, head.Time)
	if err != nil {
		t.Fatal(err)
	}
	return statedb
}

// balancePosition is where the demo contract keeps the balance of an owner.
func balancePosition(owner common.Address) common.Hash {
	slot := common.BigToHash(big.NewInt(DemoBalancesSlot))
	return crypto.Keccak256Hash(common.LeftPadBytes(owner[:], 32), slot[:])
}
