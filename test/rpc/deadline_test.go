package rpc_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// TestDeadlines ends calls at every moment of their execution. Whoever notices
// first that the time is up, the answer is the same: request timed out, -32002.
func TestDeadlines(t *testing.T) {
	preset := devchain.Devnet()
	node, err := chain.Open(chain.Config{
		Genesis: preset.Genesis(), Chain: preset.Chain, AnswerBytes: 1 << 20, StateBytes: 1 << 20,
		CallTimeout: patience, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	demo := `"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"`
	for method, params := range map[string]string{
		"eth_call":             `[{"to":` + demo + `,"input":"0x3fa4f245"},"pending"]`,
		"eth_estimateGas":      `[{"to":` + demo + `,"input":"0x3fa4f245"},"pending"]`,
		"eth_getLogs":          `[{"fromBlock":"0x0","toBlock":"0xa"}]`,
		"eth_getBlockByNumber": `["latest",true]`,
		"eth_getBalance":       `[` + demo + `,"latest"]`,
	} {
		want, err := node.Call(t.Context(), method, []byte(params))
		if err != nil {
			t.Fatal(method, err)
		}
		for i := range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*5*time.Microsecond)
			got, err := node.Call(ctx, method, []byte(params))
			cancel()
			if err != nil && !errors.Is(err, nodegate.Timeout) || err == nil && string(got) != string(want) {
				t.Errorf("%s ended after %d µs: %.100s, %v (%v)", method, i*5, got, err, nodegate.AsError(err).Code)
			}
		}
	}
}
