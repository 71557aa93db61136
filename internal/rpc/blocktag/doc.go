// Package blocktag ties the tags of a call (latest, safe, finalized, earliest) to a
// block number, once, before anything below sees it. It is a node over a node, above
// the cache and the pool of a network's remote nodes.
//
// With a number in the place of the tag all parts of an answer are of one block, the
// pool can choose a node that has that block, and the cache can keep the answer. The
// number of latest never goes down while the service runs: eth_blockNumber, Head and
// every tag come from one view of the chain, which only moves forward.
//
// Parameters arrive as compact JSON from internal/rpc/eth. One element of them is written
// again, the others keep their bytes and their order; hashes and numbers pass as they
// are. So does pending, which only a node can know.
package blocktag
