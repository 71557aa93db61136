package chain_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// BenchmarkNative measures the native path without any transport. Each iteration
// of the calls is a different one, so that the memo never answers.
func BenchmarkNative(b *testing.B) {
	preset := devchain.Devnet()
	node, err := chain.Open(chain.Config{
		Genesis: preset.Genesis(), Chain: preset.Chain, AnswerBytes: 64 << 20, StateBytes: 64 << 20,
		CallTimeout: 5 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer node.Close()
	demo := devchain.DemoAddress().Hex()
	caller := func(data string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf(`[{"from":"0x%040x","to":"%s","gas":"0x2faf080","input":"%s"},"latest"]`, i+1, demo, data)
		}
	}
	for _, c := range []struct {
		name, method string
		params       func(int) string
	}{
		{"storage", "eth_getStorageAt", func(int) string { return fmt.Sprintf(`["%s","0x0","latest"]`, demo) }},
		{"proof", "eth_getProof", func(int) string { return fmt.Sprintf(`["%s",["0x0"],"latest"]`, demo) }},
		{"receipts", "eth_getBlockReceipts", func(int) string { return `["latest"]` }},
		{"balanceOf", "eth_call", caller("0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266")},
		{"loop1000", "eth_call", caller("0x0b7d796e00000000000000000000000000000000000000000000000000000000000003e8")},
		{"estimate", "eth_estimateGas", func(i int) string {
			return fmt.Sprintf(`[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"%s","input":"0xa9059cbb%064x%064x"},"latest"]`, demo, i+1, 1)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if _, err := node.Call(context.Background(), c.method, []byte(c.params(i))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
