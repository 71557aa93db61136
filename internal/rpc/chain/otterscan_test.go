package chain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// otsFound is a page of a search.
type otsFound struct {
	Txs      []struct{ Hash common.Hash }
	Receipts []struct {
		TransactionHash common.Hash
		Timestamp       uint64
	}
	FirstPage, LastPage bool
}

// TestOtsSearch: a search finds exactly the transactions in whose traces an address is, in
// both directions and page by page.
func TestOtsSearch(t *testing.T) {
	full.Slow(t)
	n := shared(t, sharedCompat)
	seen := map[common.Address][]common.Hash{} // oldest first
	for number := uint64(1); number <= head(t, n); number++ {
		for _, p := range callInto[[]parityTrace](t, n, "trace_block", fmt.Sprintf(`["%#x",false,{"tracerConfig":{"includePrecompiles":true}}]`, number)) {
			var created *common.Address
			if p.Type == "create" && p.Result != nil {
				created = p.Result.Address
			}
			for _, a := range []*common.Address{p.Action.From, p.Action.To, p.Action.Address, p.Action.RefundAddress, created} {
				if a != nil && p.TransactionHash != nil && (len(seen[*a]) == 0 || seen[*a][len(seen[*a])-1] != *p.TransactionHash) {
					seen[*a] = append(seen[*a], *p.TransactionHash)
				}
			}
		}
	}
	if len(seen) < 10 {
		t.Fatalf("only %d addresses", len(seen))
	}
	addresses := slices.SortedFunc(maps.Keys(seen), common.Address.Cmp)
	for _, addr := range sample(addresses, full.Rounds(12, 4)) {
		want := seen[addr]
		var before, after []common.Hash
		for at, more := uint64(0), true; more; {
			page := otsSearch(t, n, "Before", addr, at)
			if page.FirstPage != (at == 0) {
				t.Errorf("%s before %d: first page %t", addr, at, page.FirstPage)
			}
			for _, tx := range page.Txs {
				before = append([]common.Hash{tx.Hash}, before...)
				at = blockOfTx(t, n, tx.Hash)
			}
			more = !page.LastPage && len(page.Txs) > 0
		}
		for at, more := uint64(0), true; more; {
			page := otsSearch(t, n, "After", addr, at)
			for i := len(page.Txs) - 1; i >= 0; i-- {
				after = append(after, page.Txs[i].Hash)
				at = blockOfTx(t, n, page.Txs[i].Hash)
			}
			more = !page.FirstPage && len(page.Txs) > 0
		}
		if fmt.Sprint(before) != fmt.Sprint(want) || fmt.Sprint(after) != fmt.Sprint(want) {
			t.Errorf("%s: %d backward, %d forward, want %d", addr, len(before), len(after), len(want))
		}
	}
}

func otsSearch(t *testing.T, n *Node, direction string, addr common.Address, at uint64) otsFound {
	t.Helper()
	page := callInto[otsFound](t, n, "ots_searchTransactions"+direction, fmt.Sprintf(`["%s",%d,3]`, addr, at))
	for i := range page.Txs {
		if page.Receipts[i].TransactionHash != page.Txs[i].Hash || page.Receipts[i].Timestamp == 0 {
			t.Errorf("%s: receipt %d is another one's", addr, i)
		}
	}
	return page
}

func blockOfTx(t *testing.T, n *Node, hash common.Hash) uint64 {
	t.Helper()
	return uint64(callInto[struct{ BlockNumber hexutil.Uint64 }](t, n, "eth_getTransactionByHash", `["`+hash.Hex()+`"]`).BlockNumber)
}

// TestOtsSearchIsBounded: a search that would have to look at too many blocks says so.
func TestOtsSearchIsBounded(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.QueryBlocks = 4
	n := openTemp(t, cfg)
	for _, c := range []struct {
		direction string
		at        int
		want      string
	}{{"Before", 0, "continue the search at block 7"}, {"After", 2, "continue the search at block 6"}} {
		_, err := n.Call(t.Context(), "ots_searchTransactions"+c.direction, fmt.Appendf(nil, `["%s",%d,25]`, anyone, c.at))
		if e := wantCode(t, err, nodegate.ExecutionFailed); !strings.HasSuffix(e.Msg, c.want) {
			t.Errorf("%s: %s", c.direction, e.Msg)
		}
	}
}

// TestOtsTransactions: senders and nonces, creators and errors of every transaction.
func TestOtsTransactions(t *testing.T) {
	n := shared(t, sharedCompat)
	bc := n.engine.eth.BlockChain()
	for number := uint64(1); number <= head(t, n); number++ {
		block := bc.GetBlockByNumber(number)
		receipts := bc.GetReceiptsByHash(block.Hash())
		for i, tx := range block.Transactions() {
			from, err := types.Sender(types.MakeSigner(bc.Config(), block.Number(), block.Time()), tx)
			if err != nil {
				t.Fatal(err)
			}
			if got := call(t, n, "ots_getTransactionBySenderAndNonce", fmt.Sprintf(`["%s",%d]`, from, tx.Nonce())); got != `"`+tx.Hash().Hex()+`"` {
				t.Errorf("%s with nonce %d is %s, want %s", from, tx.Nonce(), got, tx.Hash())
			}
			created := receipts[i].ContractAddress
			if has := call(t, n, "ots_hasCode", fmt.Sprintf(`["%s","latest"]`, created)) == "true"; tx.To() == nil && receipts[i].Status == 1 && has {
				want := fmt.Sprintf(`{"hash":"%s","creator":"%s"}`, tx.Hash(), lower(from))
				if got := call(t, n, "ots_getContractCreator", `["`+created.Hex()+`"]`); got != want {
					t.Errorf("%s was created by %s, want %s", created, got, want)
				}
			}
		}
	}
}

// TestOtsTexts holds answers to the letter.
func TestOtsTexts(t *testing.T) {
	n := shared(t, sharedDevnet)
	const reverted, out = `["0xc085e93988dc7aed840669b4f831ca086bbd3f69603a85ae47c2c4ad6a607b91"]`, `["0xadd57c85614671c26996d2ae934273ba39ae56a5c69e1890210941c6f15f6b60"]`
	for _, c := range []struct{ method, params, want string }{
		{"ots_getApiLevel", `[]`, "8"},
		{"ots_hasCode", `["` + lower(devchain.DemoAddress()) + `","latest"]`, "true"},
		{"ots_hasCode", `["` + lower(devchain.DemoAddress()) + `",0]`, "false"},
		{"ots_hasCode", `["` + anyone + `"]`, "false"},
		{"ots_getTransactionError", reverted, `"0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000001264656d6f3a20616c77617973206661696c730000000000000000000000000000"`},
		{"ots_getTransactionError", out, `"0x"`},
		{"ots_getInternalOperations", reverted, `[]`},
		{"ots_traceTransaction", out, `[{"type":"CALL","depth":0,"from":"0xbcd4042de499d14e55001ccbb24a551f3b954096","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","value":"0x0","input":"0xf0acd7d5","output":"0x"}]`},
		{"ots_getBlockDetails", `[99]`, "null"}, {"ots_getBlockTransactions", `[99,0,5]`, "null"}, {"erigon_getHeaderByNumber", `["0x63"]`, "null"},
		{"ots_getContractCreator", `["` + anyone + `"]`, "null"},
		{"ots_getTransactionBySenderAndNonce", `["` + anyone + `",0]`, "null"},
		{"ots_searchTransactionsAfter", `["` + anyone + `",99,5]`, `{"txs":[],"receipts":[],"firstPage":true,"lastPage":false}`},
	} {
		if got := call(t, n, c.method, c.params); got != c.want {
			t.Errorf("%s %s:\n%s, want\n%s", c.method, c.params, got, c.want)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"ots_traceTransaction", `["0x0000000000000000000000000000000000000000000000000000000000000001"]`, "transaction 0x0000000000000000000000000000000000000000000000000000000000000001 not found"},
		{"ots_searchTransactionsBefore", `["` + anyone + `",0,26]`, "max allowed page size: 25"},
		{"ots_getBlockTransactions", `[1,0,0]`, "invalid argument 2: the page size must be 1 to 255"},
	} {
		if _, err := n.Call(t.Context(), c.method, []byte(c.params)); err == nil || nodegate.AsError(err).Msg != c.want {
			t.Errorf("%s %s: %v, want %s", c.method, c.params, err, c.want)
		}
	}
}

// TestOtsBlocks: pages of a block together are the block, and its details are its own.
func TestOtsBlocks(t *testing.T) {
	n := shared(t, sharedCompat)
	type tx struct {
		Hash  common.Hash
		Input hexutil.Bytes
	}
	for number := uint64(0); number <= head(t, n); number++ {
		whole := callInto[struct {
			Hash         common.Hash
			Transactions []tx
		}](t, n, "eth_getBlockByNumber", fmt.Sprintf(`["%#x",true]`, number))
		details := callInto[struct {
			Block     map[string]any
			Issuance  struct{ BlockReward, UncleReward, Issuance *hexutil.Big }
			TotalFees *hexutil.Big
		}](t, n, "ots_getBlockDetails", fmt.Sprintf(`[%d]`, number))
		if details.Block["hash"] != whole.Hash.Hex() || details.Block["transactionCount"] != float64(len(whole.Transactions)) || details.Block["transactions"] != nil || details.Block["logsBloom"] != nil {
			t.Errorf("block %d has the details %v", number, details)
		}
		if same := call(t, n, "ots_getBlockDetailsByHash", `["`+whole.Hash.Hex()+`"]`); same != call(t, n, "ots_getBlockDetails", fmt.Sprintf(`["%#x"]`, number)) {
			t.Errorf("block %d by its hash: %s", number, same)
		}
		var list []tx
		for page := 0; len(list) < len(whole.Transactions); page++ {
			part := callInto[struct {
				Fullblock struct{ Transactions []tx }
				Receipts  []map[string]any
			}](t, n, "ots_getBlockTransactions", fmt.Sprintf(`[%d,%d,2]`, number, page))
			for i, r := range part.Receipts {
				if r["transactionHash"] != part.Fullblock.Transactions[i].Hash.Hex() || r["logs"] != nil || r["logsBloom"] != nil {
					t.Errorf("block %d, page %d: receipt %v", number, page, r)
				}
			}
			if len(part.Receipts) == 0 {
				t.Fatalf("block %d: page %d is empty", number, page)
			}
			list = append(append([]tx{}, part.Fullblock.Transactions...), list...)
		}
		for i := range list {
			if want := whole.Transactions[i]; list[i].Hash != want.Hash || list[i].Input.String() != want.Input[:min(4, len(want.Input))].String() {
				t.Errorf("block %d, transaction %d: %v, want %v", number, i, list[i], want)
			}
		}
	}
}
