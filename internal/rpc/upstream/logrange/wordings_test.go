package logrange

import (
	"fmt"
	"strings"
	"testing"
)

// span is a range that a text names.
func span(from, to uint64) *Span { return &Span{from, to} }

// TestWordings has texts as nodes and providers send them. The source is the client's code, or a
// public report or test of somebody who got it. Of those with "ponder's helper"
// (getLogsRetryHelper of ponder-sh/ponder) only the part is known that its pattern has.
func TestWordings(t *testing.T) {
	for _, c := range []struct {
		source, text string
		want         Cap
	}{
		{"Alchemy, ethers-io/ethers.js#4703", "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x0, 0xd043b8]", Cap{Kind: Results, Try: span(0, 0xd043b8)}},
		{"Alchemy, bancorprotocol/webapp#523", "Log response size exceeded. Please reduce query block range.", Cap{Kind: Results}},
		{"Alchemy, BobTheBuidler/dank_mids#772", "You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x123c9b2, 0x123cba5]", Cap{Blocks, 500, span(0x123c9b2, 0x123cba5)}},
		{"Alchemy's free tier, adapter of Lasso RPC", "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded block range.", Cap{Blocks, 10, span(0x1180fca, 0x1180fd3)}},
		{"Alchemy, a client's test", "Query timeout exceeded. Consider reducing your block range. Based on your parameters and the response size limit, this block range should work: [0x5223c98, 0x5223e80]", Cap{Kind: Time, Try: span(0x5223c98, 0x5223e80)}},
		{"Infura, ethers-io/ethers.js#4703", "query returned more than 10000 results. Try with this block range [0xBDE5F8, 0x102DBCC].", Cap{Kind: Results, Try: span(0xbde5f8, 0x102dbcc)}},
		{"Infura, INFURA/infura#237", "range 1000000 exceeds limit of 10000", Cap{Kind: Blocks, Blocks: 10_000}},
		{"thirdweb, ponder's helper", "Log response size exceeded. Maximum allowed number of requested blocks is 1000", Cap{Kind: Blocks, Blocks: 1000}},
		{"QuickNode, Chainlink's errors_test.go", "eth_getLogs is limited to a 10,000 range", Cap{Kind: Blocks, Blocks: 10_000}},
		{"QuickNode's free plan", "eth_getLogs is limited to a 5 block range", Cap{Kind: Blocks, Blocks: 5}},
		{"QuickNode under load", "requested range too large", Cap{Kind: Blocks}},
		{"Ankr, ponder's helper", "block range is too wide", Cap{Kind: Blocks}},
		{"Ankr, ponder's helper", "maximum [from, to] blocks distance: 1000", Cap{Kind: Blocks, Blocks: 1000}},
		{"dRPC's free tier", "ranges over 10000 blocks are not supported on freetier", Cap{Kind: Blocks, Blocks: 10_000}},
		{"dRPC", "query exceeds max block range", Cap{Kind: Blocks}},
		{"Avalanche, Chainlink's errors_test.go", "requested too many blocks from 0 to 16777216, maximum is set to 2048", Cap{Kind: Blocks, Blocks: 2048}},
		{"SimplyVC, Chainlink's errors_test.go", "too wide blocks range, the limit is 100", Cap{Kind: Blocks, Blocks: 100}},
		{"Blast; Base and Monad, ponder's helper", "block range too large", Cap{Kind: Blocks}},
		{"Blast's paid plans, ponder's helper", "the range exceeds the range allowed for your plan (10001 > 5000).", Cap{Kind: Blocks, Blocks: 5000}},
		{"Chainstack", "Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits", Cap{Kind: Blocks}},
		{"Geth, eth/filters/filter.go", "exceed maximum block range 5000", Cap{Kind: Blocks, Blocks: 5000}},
		{"BSC's public nodes, AlphaWallet/alpha-wallet-android#2736", "exceed maximum block range: 5000", Cap{Kind: Blocks, Blocks: 5000}},
		{"Geth, rpc/errors.go", "request timed out", Cap{Kind: Time}},
		{"Reth, filter.rs", "query exceeds max block range 100000", Cap{Kind: Blocks, Blocks: 100_000}},
		{"Reth, filter.rs", "query exceeds max results 20000, retry with the range 6000000-6000509", Cap{Kind: Results, Try: span(6_000_000, 6_000_509)}},
		{"Erigon, erigontech/erigon#19721", "query block range exceeds server limit, narrow your filter: 1000", Cap{Kind: Blocks, Blocks: 1000}},
		{"Erigon, erigontech/erigon#19721", "query returns too many logs, narrow your filter: 20000", Cap{Kind: Results}},
		{"Nethermind, EthRpcModule.cs", "Block range 20001 exceeds the maximum of 10000 blocks per logs request. Use a narrower fromBlock/toBlock range or increase Receipt.MaxBlockDepth.", Cap{Kind: Blocks, Blocks: 10_000}},
		{"Nethermind, EthRpcModule.cs", "Too many logs requested. Max logs per response is 20000.", Cap{Kind: Results}},
		{"Besu, RpcErrorType.java", "Requested range exceeds maximum RPC range limit", Cap{Kind: Blocks}},
		{"Arbitrum", "logs matched by query exceeds limit of 10000", Cap{Kind: Results}},
		{"Arbitrum", "log query timed out", Cap{Kind: Time}},
		{"1RPC's documentation", "response size should not greater than 2097152 bytes", Cap{Kind: Results}},
		{"1RPC", "eth_getLogs is limited to 0 - 50 blocks range", Cap{Kind: Blocks, Blocks: 50}},
		{"BlockPI, ponder's helper", "eth_getLogs is limited to 1024 blocks range", Cap{Kind: Blocks, Blocks: 1024}},
		{"Cloudflare, ponder's helper", "Block range limit exceeded. Max range: 800", Cap{Kind: Blocks, Blocks: 800}},
		{"Pocket, eRPC's errors", "query exceeds limit", Cap{Kind: Results}},
		{"LlamaNodes", "query exceeds max results 20000", Cap{Kind: Results}},
		{"Coinbase, ponder's helper", "please limit the query to at most 1000 blocks", Cap{Kind: Blocks, Blocks: 1000}},
		{"Swell, ponder's helper", "block range greater than 20000 max", Cap{Kind: Blocks, Blocks: 20_000}},
		{"Somnia, ponder's helper", "block range exceeds 1000", Cap{Kind: Blocks, Blocks: 1000}},
		{"Merkle, ponder's helper", "eth_getLogs range is too large, max is 1k blocks", Cap{Kind: Blocks, Blocks: 1000}},
		{"Polygon zkEVM, 0xPolygon/cdk-erigon#1706", "block range too large, max range: 5000", Cap{Kind: Blocks, Blocks: 5000}},
		{"Sei", "block range too large (2000), maximum allowed is 1000 blocks", Cap{Kind: Blocks, Blocks: 1000}},
		{"Harmony, ponder's helper", "query must be smaller than size 1024", Cap{Kind: Blocks, Blocks: 1024}},
		{"Moonbeam, moonbeam-foundation/moonbeam#3250", "block range is too wide (maximum 1024)", Cap{Kind: Blocks, Blocks: 1024}},
		{"Tron, ponder's helper", "exceed max block range: 5000", Cap{Kind: Blocks, Blocks: 5000}},
		{"OP's public endpoint, ponder's helper", "Block range is too large", Cap{Kind: Blocks}},
		{"OP's proxyd, ponder's helper", "backend response too large", Cap{Kind: Results}},
		{"eRPC's tests", "Response is too big", Cap{Kind: Results}},
		{"Candle, AlphaWallet/alpha-wallet-ios#5277", "block range too high", Cap{Kind: Blocks}},
		{"eRPC, ponder's helper", "allowed block range threshold exceeded", Cap{Kind: Blocks}},
		{"nodegate, internal/rpc/eth", "query spans more than 10000 blocks: try fromBlock 0x0, toBlock 0x270f", Cap{Blocks, 10_000, span(0, 9999)}},
		{"nodegate, internal/rpc/eth", "query returns more than 10000 results: try fromBlock 0x5, toBlock 0x9", Cap{Kind: Results, Try: span(5, 9)}},
	} {
		t.Run(c.source, func(t *testing.T) {
			if got := Classify(c.text); show(got) != show(c.want) {
				t.Errorf("%q is read as %s, not %s", c.text, show(got), show(c.want))
			}
		})
	}
}

func show(c Cap) string {
	if c.Try == nil {
		return fmt.Sprintf("%d/%d", c.Kind, c.Blocks)
	}
	return fmt.Sprintf("%d/%d try %d to %d", c.Kind, c.Blocks, c.Try.From, c.Try.To)
}

// TestWorded: the words are found wherever they are, unlike those of a refusal.
func TestWorded(t *testing.T) {
	const refusal = "range too large, max range: 5"
	far := strings.Repeat("x", 2*longest) + refusal
	if !Worded(refusal) || !Worded(far) || Classify(far).Kind != None || Worded("eth_getLogs fromBlock toBlock address topics latest blockHash") {
		t.Errorf("%v, %v, %v", Worded(refusal), Worded(far), Classify(far))
	}
}

// TestOtherErrors: a narrower range would not help against these.
func TestOtherErrors(t *testing.T) {
	for _, text := range []string{
		"", "invalid block range params", "block range extends beyond current head block", "exceed max addresses or topics per search position",
		"exceed max topics", "header not found", "missing trie node", "rate limit exceeded", "daily request count exceeded, request rate limited",
		"Your app has exceeded its compute units per second capacity", "the method eth_getLogs does not exist/is not available", "internal error",
		"pruned history unavailable", "This query contains 5006 filters. The current limit is 5000.", "no backend is currently healthy to serve traffic",
	} {
		if got := Classify(text); got.Kind != None {
			t.Errorf("%q is read as %s", text, show(got))
		}
	}
}

// TestNumbers reads numbers as nodes write them, and any that they could write.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]uint64{
		"5000": 5000, "10,000": 10_000, "1,000,000": 1_000_000, "100_000": 100_000, "2K": 2000, "10k": 10_000, "0x1f4": 500, "0": 0, "00012": 12,
		"18446744073709551615": 1<<64 - 1, "18446744073709551616": 0, "99999999999999999999k": 0, "18446744073709551k": 0,
	} {
		if got := Classify("limited to a " + text + " range"); got.Kind != Blocks || got.Blocks != want {
			t.Errorf("%q is read as %s, not %d", text, show(got), want)
		}
	}
	if got := Classify("limited to a # range"); got.Kind != None {
		t.Errorf("a # is taken for a number: %s", show(got))
	}
}
