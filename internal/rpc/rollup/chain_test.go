package rollup_test

import (
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/rollup"
)

func hash(n int64) common.Hash { return common.BigToHash(big.NewInt(n)) }

// openWith is a real chain that begins with some contracts.
func openWith(t *testing.T, contracts types.GenesisAlloc) *chain.Node {
	t.Helper()
	genesis := devchain.Devnet().Genesis()
	for address, account := range contracts {
		account.Balance = new(big.Int)
		genesis.Alloc[address] = account
	}
	node, err := chain.Open(chain.Config{
		Genesis: genesis, AnswerBytes: 1 << 20, StateBytes: 1 << 20, CallTimeout: 20 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close() })
	return node
}

func estimateOn(t *testing.T, node *chain.Node, stack, params string) string {
	t.Helper()
	n, err := rollup.New(node, rollup.Config{Stack: stack, Remote: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.Call(t.Context(), "layer2_estimateGas", []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

const to = "0x791a479620f2a5cf58bb53d45cd3ec72cfef22fe"

// TestScrollOnChain has Scroll's oracle, with the formula of its Curie upgrade in a
// few instructions, executed by a real node.
func TestScrollOnChain(t *testing.T) {
	oracle := types.Account{
		Code: common.FromHex("60243560055402600754026006546001540201633b9aca00900460005260206000f3"),
		Storage: map[common.Hash]common.Hash{
			hash(1): hash(1.5e9), hash(5): hash(1.5e8), hash(6): hash(1e9), hash(7): hash(1e9),
		},
	}
	node := openWith(t, types.GenesisAlloc{common.HexToAddress("0x5300000000000000000000000000000000000002"): oracle})
	fee := func(length int64) string { return fmt.Sprintf(`"l1DataFee":"%#x"`, int64(1.5e9)+length*1.5e8) }
	// 12 bytes of calldata more are 12 bytes of transaction more.
	one := estimateOn(t, node, rollup.Scroll, `[{"to":"`+to+`","gasPrice":"0x3b9aca00","nonce":"0x1","input":"0x0102"}]`)
	two := estimateOn(t, node, rollup.Scroll, `[{"to":"`+to+`","gasPrice":"0x3b9aca00","nonce":"0x1","input":"0x010203040506070809100a0b0c0d"}]`)
	lengths := []int64{}
	for _, answer := range []string{one, two} {
		for length := int64(90); length < 140; length++ {
			if strings.Contains(answer, fee(length)) {
				lengths = append(lengths, length)
			}
		}
	}
	if len(lengths) != 2 || lengths[1] != lengths[0]+12 {
		t.Errorf("%s and %s are of lengths %v", one, two, lengths)
	}
}

// TestOpOnChain has an oracle that can't compress, so that the prices are read from
// the contract that keeps them.
func TestOpOnChain(t *testing.T) {
	scalars := common.Hash{19: 2, 23: 3}
	node := openWith(t, types.GenesisAlloc{
		// isFjord() is true, everything else reverts.
		common.HexToAddress("0x420000000000000000000000000000000000000f"): {Code: common.FromHex("60003560e01c63960e3a231460145760006000fd5b600160005260206000f3")},
		common.HexToAddress("0x4200000000000000000000000000000000000015"): {
			Code: []byte{0}, Storage: map[common.Hash]common.Hash{hash(1): hash(1e9), hash(3): scalars, hash(7): hash(1e7)},
		},
	})
	got := estimateOn(t, node, rollup.OP, `[{"to":"`+to+`"}]`)
	if !strings.HasPrefix(got, `{"gasLimit":"0x5208","baseFeePerGas":"0x`) || !strings.HasSuffix(got, `"l1DataFee":"0x30dfb8"}`) {
		t.Errorf("%s, want the least fee of 3203000", got)
	}
}
