package eth

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// Rollup's head is block 140: with a window of 128 block 13 is the oldest one
// served (140 - 13 = 127 < 128).
const (
	rollupHead  = 140
	oldestBlock = 13
)

// windowed serves so many of the latest blocks by some methods.
func windowed(window uint64, methods ...string) *Node {
	cfg := limits(Spec)
	cfg.HistoryWindow = map[string]uint64{}
	for _, m := range methods {
		cfg.HistoryWindow[m] = window
	}
	return New(layer2(), cfg)
}

// blockHash is the hash of a rollup block.
func blockHash(t *testing.T, number uint64) string {
	t.Helper()
	return strings.Trim(string(members(t, ask(t, layer2(), "eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, number)))["hash"]), `"`)
}

func TestWindowByBlock(t *testing.T) {
	demo := strings.ToLower(devchain.DemoAddress().Hex())
	for _, c := range []struct{ method, params string }{
		{"eth_getStorageAt", `["` + demo + `","0x0",%s]`},
		{"eth_getProof", `["` + demo + `",[],%s]`},
		{"eth_getBlockReceipts", `[%s]`},
		{"eth_call", `[{"to":"` + demo + `","input":"0x3fa4f245"},%s]`},
		{"eth_estimateGas", `[{"to":"` + demo + `","input":"0x3fa4f245"},%s]`},
	} {
		node := windowed(128, c.method)
		for _, number := range []uint64{0, 1, oldestBlock - 1, oldestBlock, oldestBlock + 1, 139, 140} {
			forms := []string{fmt.Sprintf(`"%#x"`, number), `"` + blockHash(t, number) + `"`, fmt.Sprintf(`{"blockNumber":"%#x"}`, number), `{"blockHash":"` + blockHash(t, number) + `"}`}
			for _, form := range forms {
				_, err := node.Call(t.Context(), c.method, fmt.Appendf(nil, c.params, form))
				checkWindowed(t, c.method+" "+form, err, number >= oldestBlock)
			}
		}
		for tag, served := range map[string]bool{"latest": true, "pending": true, "finalized": true, "earliest": false} {
			_, err := node.Call(t.Context(), c.method, fmt.Appendf(nil, c.params, `"`+tag+`"`))
			checkWindowed(t, c.method+" "+tag, err, served)
		}
	}
}

// checkWindowed: served may still fail for another reason, such as a contract
// that wasn't there yet.
func checkWindowed(t *testing.T, what string, err error, served bool) {
	t.Helper()
	if served {
		if err != nil && nodegate.AsError(err).Code == nodegate.OutsideHistory {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	if err == nil {
		t.Errorf("%s was served", what)
		return
	}
	wantError(t, err, nodegate.OutsideHistory, "archive requests are not available on this network: only the latest ")
	if !strings.HasSuffix(nodegate.AsError(err).Msg, " blocks are served") {
		t.Errorf("%s: %v", what, err)
	}
}

// Lookups by hash are held to the window by what they find.
func TestWindowByTransaction(t *testing.T) {
	for number := uint64(1); number <= rollupHead; number++ {
		block := blockHash(t, number)
		tx := ask(t, layer2(), "eth_getTransactionByBlockHashAndIndex", `["`+block+`","0x0"]`)
		if tx == "null" {
			continue // an empty block
		}
		byHash, age := `[`+string(members(t, tx)["hash"])+`]`, rollupHead-number
		for _, c := range [][2]string{
			{"eth_getTransactionReceipt", byHash}, {"eth_getTransactionByHash", byHash}, {"eth_getTransactionByBlockHashAndIndex", `["` + block + `","0x0"]`},
		} {
			for _, window := range []uint64{1, max(age, 1), age + 1, 1000} {
				_, err := windowed(window, c[0]).Call(t.Context(), c[0], []byte(c[1]))
				checkWindowed(t, fmt.Sprintf("%s in block %d, window %d", c[0], number, window), err, age < window)
			}
		}
	}
}

// What is unknown is null, not outside of anything.
func TestWindowAndUnknown(t *testing.T) {
	node := windowed(128, "eth_getTransactionReceipt", "eth_getTransactionByHash", "eth_getBlockReceipts", "eth_getTransactionByBlockHashAndIndex")
	for _, c := range [][2]string{
		{"eth_getTransactionReceipt", `["` + someHash + `"]`},
		{"eth_getTransactionByHash", `["` + someHash + `"]`},
		{"eth_getTransactionByBlockHashAndIndex", `["` + someHash + `","0x0"]`},
		{"eth_getBlockReceipts", `["` + someHash + `"]`},
		{"eth_getBlockReceipts", `["0xffff"]`},
	} {
		if got := ask(t, node, c[0], c[1]); got != "null" {
			t.Errorf("%s %s = %s", c[0], c[1], got)
		}
	}
}

// Only the methods that the network lists have a window.
func TestWindowIsPerMethod(t *testing.T) {
	node := windowed(128, "eth_getTransactionReceipt")
	if got := ask(t, node, "eth_getBlockReceipts", `["0x1"]`); len(got) < 10 {
		t.Errorf("block 1 has receipts %s", got)
	}
}
