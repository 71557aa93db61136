package config

import (
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// The least that a ledger can work with.
const (
	leastLedgerDisk   = 64 << 20
	leastLedgerMemory = 1 << 20
)

// The values of require_verified. anyLevel is that of a network that answers with whatever
// nodes say.
const (
	anyLevel    = "none"
	levelAgreed = "agreed"
	levelHeader = "header"
	levelRoots  = "roots"
)

// leastHeadAge is longer than it takes to look at a node twice, also over a WebSocket.
const leastHeadAge = 10 * time.Second

// networkSettings declares one element of networks.
var networkSettings = schema[Network]{
	fields: []field[Network]{
		{
			name: "name",
			help: "path prefix and host name label of the network; required",
			at:   func(n *Network) value { return text(&n.Name, networkName) },
		}, {
			name: "dialect", def: "spec",
			help: "which rules to follow where the specification and the Ethereum standard differ",
			at:   func(n *Network) value { return text(&n.Dialect, oneOf("spec", "strict", "standard")) },
		}, {
			name: "currency",
			help: "symbol of the native currency, which the dashboard gives to wallets; ETH by default",
			at:   func(n *Network) value { return text(&n.Currency, currency) },
		}, {
			name: "explorer",
			help: "URL of a block explorer, which the dashboard gives to wallets; none by default",
			at:   func(n *Network) value { return text(&n.Explorer, explorerURL) },
		}, {
			name: "chain_id", def: "0", remote: true,
			help: "chain ID that the nodes must have; 0 takes it from the first node that responds",
			at:   func(n *Network) value { return whole(&n.ChainID, 0, maxChainID) },
		}, {
			name: "max_lag", def: "5", remote: true,
			help: "blocks that a node may be behind the others before nodegate stops using it",
			at:   func(n *Network) value { return whole(&n.MaxLag, 1, 100_000) },
		}, {
			name: "cache", varies: true,
			help: "memory for cached responses of this network, 0 is none; by default 64MiB with nodes, 16MiB with an embedded chain, and none with the namespace evm",
			at:   func(n *Network) value { return size(&n.Cache, 0, 1<<40) },
		}, {
			name: "poll", def: "0s", remote: true,
			help: "how often each node is polled for its head, at least 100ms; 0s uses half of the block time, 200ms to 2s",
			at:   func(n *Network) value { return span(&n.Poll, 0, maxPoll) },
		}, {
			name: "max_head_age", def: "30s", remote: true,
			help: "how long `latest` means the newest known block when no node reports one; after that, calls that need it are refused",
			at:   func(n *Network) value { return span(&n.MaxHeadAge, leastHeadAge, 7*24*time.Hour) },
		}, {
			name: "verify", def: VerifyNone, remote: true,
			help: "which state nodegate verifies: `state` answers balances, nonces, code and storage from Merkle proofs of the nodes, `execution` also executes calls and gas estimates over such state. See docs/nodes.md. Proofs that clients request are always checked",
			at:   func(n *Network) value { return text(&n.Verify, oneOf(VerifyNone, VerifyState, VerifyExecution)) },
		}, {
			name: "verify_genesis", remote: true,
			help: "genesis file whose `config` names the forks of the chain, for `verify: execution`; not needed for Ethereum mainnet, Sepolia and Hoodi",
			at:   func(n *Network) value { return text(&n.Genesis, anyText) },
		}, {
			name: "require_verified", def: anyLevel, remote: true,
			help: "minimum verification level of responses about blocks and state; others are refused. `roots`: from the ledger or a Merkle proof. `header`: also blocks whose header matches their hash. `agreed`: also responses that `agree` nodes return identically",
			at: func(n *Network) value {
				return text(&n.Verified, oneOf(anyLevel, levelAgreed, levelHeader, levelRoots))
			},
		}, {
			name: "agree", def: "1", remote: true,
			help: "how many nodes must report the hash of a block before the ledger answers from it; with `require_verified: agreed` also how many nodes get each other call about blocks and state",
			at:   func(n *Network) value { return whole(&n.Agree, 1, maxNodes) },
		}, {
			name: "checkpoint", remote: true,
			help: "number and hash of a block that the ledger's chain must contain; none by default",
			at:   func(n *Network) value { return text(&n.Checkpoint, checkpoint) },
		}, {
			name: "retry.attempts", def: "3", remote: true,
			help: "how many nodes a call may be sent to, one after the other, if nodes fail or lack the data; 1 is no retries",
			at:   func(n *Network) value { return whole(&n.Retry.Attempts, 1, 5) },
		}, {
			name: "retry.budget", def: "20%", remote: true,
			help: "most additional requests to the nodes because of retries",
			at:   func(n *Network) value { return percent(&n.Retry.Budget, 1, 100) },
		}, {
			name: "hedge.off", def: "false", remote: true,
			help: "turn off hedged requests: don't send slow reads to a second node",
			at:   func(n *Network) value { return toggle(&n.Hedge.Off) },
		}, {
			name: "hedge.delay", def: "0s", remote: true,
			help: "delay before a second node gets the read; 0s uses the 95th percentile of such reads, or 300ms to 1s while there are few",
			at:   func(n *Network) value { return span(&n.Hedge.Delay, 0, time.Minute) },
		}, {
			name: "hedge.budget", def: "5%", remote: true,
			help: "most additional requests to the nodes because of hedged requests",
			at:   func(n *Network) value { return percent(&n.Hedge.Budget, 1, 100) },
		}, {
			name: "ledger.blocks", remote: true, varies: true,
			help: "newest blocks to keep a verified copy of, which answers lookups of blocks, transactions, receipts and logs, see docs/ledger.md; 0 is none; by default 10000, or 0 if a node has credits_per_second, credits_per_day or credits_per_month, or layer2.stack is arbitrum or zksync",
			at:   func(n *Network) value { return whole(&n.Ledger.Blocks, 0, maxWindow) },
		}, {
			name: "ledger.min_block_time", remote: true, varies: true,
			help: "networks with a shorter block time have no ledger; by default 1s, or 0s if ledger.blocks, `require_verified: roots`, checkpoint, or agree above 1 without `require_verified: agreed` is given",
			at:   func(n *Network) value { return span(&n.Ledger.MinBlockTime, 0, time.Hour) },
		}, {
			name: "ledger.backfill", def: "0", remote: true,
			help: "older blocks to fetch a second until the copy has ledger.blocks; with 0 the copy grows only with the chain. Each block takes two calls; `nodegate doctor` estimates the total",
			at:   func(n *Network) value { return whole(&n.Ledger.Backfill, 0, 1000) },
		}, {
			name: "ledger.disk", def: "10GiB", remote: true,
			help: "disk space for that copy; the oldest blocks are removed when it takes more",
			at:   func(n *Network) value { return size(&n.Ledger.Disk, leastLedgerDisk, 1<<50) },
		}, {
			name: "ledger.memory", def: "0", remote: true,
			help: "memory to cache this copy only, at least 1MiB; with 0 the network shares `memory.ledgers`; a change needs a restart",
			at:   func(n *Network) value { return size(&n.Ledger.Memory, 0, 1<<40) },
		}, {
			name: "embedded.genesis",
			help: "genesis file; the built-in development chain by default",
			at:   func(n *Network) value { return text(&n.embedded().Genesis, anyText) },
		}, {
			name: "embedded.chain",
			help: "file of RLP blocks, imported at the first start; requires a genesis",
			at:   func(n *Network) value { return text(&n.embedded().Chain, anyText) },
		}, {
			name: "embedded.preset", def: "devnet",
			help: "built-in development chain to use when there is no genesis",
			at:   func(n *Network) value { return text(&n.embedded().Preset, oneOf("devnet", "rollup")) },
		}, {
			name: "embedded.period", def: "0",
			help: "seconds between blocks; 0 mines when a transaction arrives",
			at:   func(n *Network) value { return whole(&n.embedded().Period, 0, 86_400) },
		}, {
			name: "embedded.max_size", def: "20GiB",
			help: "disk space that the chain may take; beyond it the network takes no transactions. 0 is no limit",
			at:   func(n *Network) value { return size(&n.embedded().MaxSize, 0, 1<<50) },
		}, {
			name: "embedded.daily_per_account", def: "1GiB",
			help: "disk space that the transactions of one account may take in a day; accounts with the scope development have no limit. 0 is no limit",
			at:   func(n *Network) value { return size(&n.embedded().DailyPerAccount, 0, 1<<50) },
		}, {
			name: "layer2.stack", def: "linea",
			help: "fee model of the rollup; an embedded chain uses linea, and a network of nodes must set it",
			at: func(n *Network) value {
				return text(&n.layer2().Stack, oneOf("linea", "op", "arbitrum", "zksync", "scroll"))
			},
		}, {
			name: "layer2.alias",
			help: "second prefix of the layer2_ methods: linea also answers " + method.LineaEstimateGas,
			at:   func(n *Network) value { return text(&n.layer2().Alias, aliasName) },
		}, {
			name: "layer2.dictionary",
			help: "dictionary file of the compressor that measures transactions",
			at:   func(n *Network) value { return text(&n.layer2().Dictionary, anyText) },
		}, {
			name: "layer2.margin", def: "1.2",
			help: "factor on the priority fee that " + method.Layer2EstimateGas + " returns",
			at:   func(n *Network) value { return factor(&n.layer2().Margin, 1, 10) },
		},
	},
	groups: []group[Network]{
		{
			name: "nodes",
			help: "the remote nodes of the network, as under Nodes below; a network has either these or an embedded chain",
			read: readNodes,
		}, {
			name: "history_window",
			help: "how many of the latest blocks a method serves, by method: `{" + method.EthGetTransactionReceipt + ": 128}`; all by default",
			read: readWindow,
		}, {
			name: "namespaces",
			help: "namespaces beyond eth, net and web3: debug (its reading methods only), trace, txpool, ots and erigon (for Otterscan), evm (on an embedded chain only); none by default",
			read: readNamespaces,
		},
	},
}
