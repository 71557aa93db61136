// Package method is the one table of JSON-RPC methods. A row says everything the service
// knows about a method: its parameters, where its block and its contracts are, what it
// costs, how long an answer stays true, how it may be sent to nodes, and its
// documentation with an example. Prices, access rules, arity checks, block tags, cache
// plans, node selection, metrics labels, the pages under /docs and openrpc.json are all
// derived from the rows, so that adding a method is adding a row.
//
// Start at Row. The rows are in the eth_*.go files, node.go, debug.go and evm.go. A method
// without a row is passed on, never kept, and refused to keys with an address list.
//
// No other package spells a method's name: names.go has those that code refers to.
package method
