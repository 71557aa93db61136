package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// shown is a block of go-ethereum's types, and what a node answers about it.
type shown struct {
	*types.Block
	receipts  types.Receipts
	whole     []byte // the block with its transactions
	receipted []byte
}

func (b *shown) String() string { return fmt.Sprintf("block %d %x", b.Number(), b.Hash()) }

// presets are all blocks of the built-in chains. They have transactions of all types.
var presets = sync.OnceValue(func() (list []shown) {
	for _, p := range []devchain.Preset{devchain.Devnet(), devchain.Rollup()} {
		list = append(list, chainOf(p.Genesis(), p.Chain)...)
	}
	return list
})

// conformance are the blocks of the Ethereum JSON-RPC standard's test chain, which goes
// through all forks; none where its files are not there. See test/conformance.
func conformance(t *testing.T) []shown {
	t.Helper()
	dir := os.Getenv("NODEGATE_CONFORMANCE")
	if dir == "" {
		dir = filepath.Join("..", "shared", "conformance")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", "..", "..", dir)
	}
	genesis, err := os.ReadFile(filepath.Join(dir, "genesis.json"))
	blocks, err2 := os.ReadFile(filepath.Join(dir, "chain.rlp"))
	if err != nil || err2 != nil {
		t.Skipf("no conformance files in %s (set NODEGATE_CONFORMANCE to their folder)", dir)
	}
	var g core.Genesis
	if err := json.Unmarshal(genesis, &g); err != nil {
		t.Fatal(err)
	}
	return chainOf(&g, blocks)
}

// chainOf reads the blocks of a chain file, and asks a node that has imported it about each.
func chainOf(genesis *core.Genesis, file []byte) (list []shown) {
	node, err := chain.Open(chain.Config{
		Genesis: genesis, Chain: file, AnswerBytes: 64 << 20, StateBytes: 64 << 20, CallTimeout: 20 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	defer node.Close()
	ask := func(name, params string) []byte {
		result, err := node.Call(context.Background(), name, []byte(params))
		if err != nil {
			panic(err)
		}
		return bytes.Clone(result)
	}
	blocks := []*types.Block{genesis.ToBlock()}
	for in := rlp.NewStream(bytes.NewReader(file), 0); ; {
		b := new(types.Block)
		if err := in.Decode(b); err == io.EOF {
			break
		} else if err != nil {
			panic(err)
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		s := shown{Block: b, whole: ask("eth_getBlockByHash", `["`+b.Hash().Hex()+`",true]`), receipted: ask("eth_getBlockReceipts", `["`+b.Hash().Hex()+`"]`)}
		if err := json.Unmarshal(s.receipted, &s.receipts); err != nil {
			panic(err)
		}
		list = append(list, s)
	}
	return list
}
