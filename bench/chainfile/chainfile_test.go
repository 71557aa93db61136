package chainfile

import (
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
)

func TestEqualCodeGivesEqualBlocks(t *testing.T) {
	var heads []string
	for _, name := range []string{"a", "b"} {
		files, err := Small(filepath.Join(t.TempDir(), name), 3)
		if err != nil {
			t.Fatal(err)
		}
		genesis, blocks, err := Load(files)
		if err != nil {
			t.Fatal(err)
		}
		if len(blocks) != 3 || blocks[0].ParentHash() != genesis.ToBlock().Hash() {
			t.Fatalf("%d blocks, parent %s, genesis %s", len(blocks), blocks[0].ParentHash(), genesis.ToBlock().Hash())
		}
		heads = append(heads, blocks[2].Hash().Hex())
	}
	if heads[0] != heads[1] {
		t.Errorf("heads %v", heads)
	}
}

func TestEveryKindIsThere(t *testing.T) {
	_, blocks, err := generate(2)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, tx := range blocks[1].Transactions() {
		kind := map[uint8]string{types.LegacyTxType: "legacy", types.DynamicFeeTxType: "dynamic"}[tx.Type()]
		if len(tx.Data()) > 0 {
			kind += " token"
		}
		kinds[kind]++
	}
	want := map[string]int{"legacy": 10, "dynamic": 10, "legacy token": 20, "dynamic token": 20}
	for kind, n := range want {
		if kinds[kind] != n {
			t.Errorf("%d of %q, want %d", kinds[kind], kind, n)
		}
	}
	if len(blocks[0].Transactions()) != txsPerBlock {
		t.Errorf("%d transactions in the first block", len(blocks[0].Transactions()))
	}
}
