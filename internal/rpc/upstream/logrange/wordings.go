package logrange

import "strings"

// wording is how a node says that a query is too much for it: in lower case, with # for a
// number and N for the number of blocks that it allows.
type wording struct {
	kind Kind
	text string
}

func (w wording) words() string { return strings.ReplaceAll(w.text, "N", "#") }

// wordings are looked for in this order: a text may have several, and the first decides. The
// sources are the clients' own code (Geth eth/filters/filter.go, Reth crates/rpc/rpc/src/eth/filter.rs,
// Erigon rpc/jsonrpc, Nethermind EthRpcModule.cs, Besu RpcErrorType.java, Frontier
// client/rpc/src/eth/filter.rs) and, for providers, what their users have reported.
// wordings_test.go has each text in full, with who says it.
var wordings = []wording{
	{Blocks, "number of requested blocks is N"}, // thirdweb, behind Alchemy's words for results

	{Results, "response size exceeded"},              // Alchemy, with the number of blocks for which this isn't counted
	{Results, "query returned more than"},            // Infura, Polygon zkEVM
	{Results, "query returns more than"},             // nodegate
	{Results, "exceeds max results"},                 // Reth, LlamaNodes
	{Results, "returns too many logs"},               // Erigon
	{Results, "too many logs requested"},             // Nethermind
	{Results, "logs matched by query exceeds limit"}, // Arbitrum
	{Results, "query exceeds limit"},                 // Pocket
	{Results, "response size should not"},            // 1RPC, NodeReal
	{Results, "response too large"},                  // OP's proxyd
	{Results, "response is too big"},                 // eRPC knows it
	{Results, "too many results"},                    // lists of several indexers

	{Time, "query timeout exceeded"}, // Alchemy
	{Time, "query timed out"},        // Arbitrum
	{Time, "request timed out"},      // Geth

	{Blocks, "up to a N block range"},                                   // Alchemy, Aurora
	{Blocks, "limited to a N range"},                                    // QuickNode
	{Blocks, "limited to a N block"},                                    // QuickNode, Blast
	{Blocks, "limited to # - N block"},                                  // 1RPC
	{Blocks, "limited to N block"},                                      // BlockPI
	{Blocks, "maximum block range: N"},                                  // BSC, PublicNode
	{Blocks, "maximum block range N"},                                   // Geth
	{Blocks, "exceed max block range: N"},                               // Tron
	{Blocks, "exceeds max block range N"},                               // Reth, dRPC
	{Blocks, "exceeds the maximum of N blocks"},                         // Nethermind
	{Blocks, "block range exceeds server limit, narrow your filter: N"}, // Erigon
	{Blocks, "query spans more than N blocks"},                          // nodegate
	{Blocks, "ranges over N blocks"},                                    // dRPC
	{Blocks, "range # exceeds limit of N"},                              // Infura
	{Blocks, "too many blocks from # to #, maximum is set to N"},        // Avalanche
	{Blocks, "range allowed for your plan (# > N)"},                     // Blast
	{Blocks, "limit the query to at most N blocks"},                     // Coinbase
	{Blocks, "block range greater than N max"},                          // Swell
	{Blocks, "block range exceeds N"},                                   // Somnia
	{Blocks, "too large, max is N blocks"},                              // Merkle
	{Blocks, "range too large, max range: N"},                           // Polygon zkEVM
	{Blocks, "maximum allowed is N blocks"},                             // Sei
	{Blocks, "max range: N"},                                            // Cloudflare
	{Blocks, "query must be smaller than size N"},                       // Harmony
	{Blocks, "range is too wide (maximum N)"},                           // Moonbeam and others of Frontier
	{Blocks, "blocks distance: N"},                                      // Ankr
	{Blocks, "blocks range, the limit is N"},                            // SimplyVC

	{Blocks, "block range is too wide"},      // Ankr
	{Blocks, "range is too large"},           // OP's public endpoint
	{Blocks, "range too large"},              // Base, Blast, Monad, QuickNode
	{Blocks, "block range too high"},         // Candle
	{Blocks, "block range limit exceeded"},   // Chainstack
	{Blocks, "range threshold exceeded"},     // eRPC
	{Blocks, "exceeds max block range"},      // dRPC
	{Blocks, "maximum rpc range limit"},      // Besu
	{Blocks, "exceeded max allowed range"},   // eRPC
	{Blocks, "this block range should work"}, // Alchemy, in other words before it
}
