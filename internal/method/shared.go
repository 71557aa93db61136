package method

// The groups of the documentation, in the order of the rows.
const (
	groupStorage      = "Storage and proofs"
	groupTransactions = "Transactions"
	groupReceipts     = "Receipts"
	groupCalls        = "Calls and gas"
	groupChain        = "The chain"
	groupAccounts     = "Accounts"
	groupSend         = "Sending"
	groupFees         = "Fees"
	groupSimulate     = "Simulation"
	groupLogs         = "Logs and filters"
	groupEvents       = "Subscriptions"
	groupNode         = "The node"
	groupDebug        = "Debugging"
	groupTraces       = "Traces"
	groupOts          = "Otterscan"
	groupDevelopment  = "Development"
)

// Parameters that several methods share.
var (
	address   = Param{"address", "Address", true, "the account or contract"}
	block     = Param{"block", "Block", false, "the block to read at; latest by default"}
	number    = Param{"block", "BlockNumber", true, "which block"}
	blockHash = Param{"blockHash", "Hash", true, "of the block"}
	index0    = Param{"index", "Quantity", true, "of the transaction in the block, from 0x0"}
	uncle     = Param{"index", "Quantity", true, "of the uncle in the block, from 0x0"}
	estimate  = Param{"block", "BlockNotSafe", false, "the block to read at, but not safe: use finalized; latest by default"}
	call      = Param{"call", "Call", true, "the transaction; it is never sent"}
	states    = Param{"stateOverrides", "StateOverrides", false, "account state for this call"}
	blocks    = Param{"blockOverrides", "BlockOverrides", false, "block fields for this call"}
	txHash    = Param{"hash", "Hash", true, "of the transaction"}
	raw       = Param{"transaction", "Bytes", true, "signed and encoded"}
	full      = Param{"full", "Boolean", true, "full transactions instead of their hashes"}
	filter    = Param{"filter", "Filter", true, "which logs"}
	filterID  = Param{"id", "ID", true, "of the filter"}
	options   = Param{"options", "TraceOptions", false, "which tracer, and its settings"}
)

// Errors that several methods share.
var (
	unknownBlock = Fault{-32000, "header not found: there is no such block"}
	reverted     = Fault{3, "execution reverted: REASON; data is what the contract returned"}
	outside      = Fault{-32002, "the block is older than the network's history window"}
	noFilter     = Fault{-32000, "filter not found: it was removed, or has expired"}
	tooWide      = Fault{-32602, "more than 10,000 blocks or results; the message names a range that works"}
	notOverHTTP  = Fault{-32601, "notifications not supported: over HTTP"}
)

// The differences between the dialects: where the service's specification and the
// Ethereum standard differ, a network's setting decides.
var (
	yParity     = &Difference{"yParity in the transaction", "absent", "absent", "types 1 to 4"}
	signature   = &Difference{"r and s of the transaction", "quantities: leading zeros are dropped", "always 32 bytes", "quantities: leading zeros are dropped"}
	chainID     = &Difference{"chainId in the transaction", "types 1 to 4", "type 2 only", "all but unprotected ones of type 0"}
	extraFields = &Difference{"fields beyond the specification's tables (blockTimestamp, blobGasUsed, …)", "present", "absent", "present"}
	noFrom      = &Difference{"no from", "the zero address", "-32602", "the zero address"}
	noTo        = &Difference{"no to", "contract creation", "-32602", "contract creation"}
	noBlock     = &Difference{"no block parameter", "latest", "-32602", "latest"}
	safeTag     = &Difference{"the tag safe", "-32602, says to use finalized", "-32602, says to use finalized", "accepted"}
	gasCap      = &Difference{"gas above ten times the block gas limit", "-32602, names the cap", "-32602, names the cap", "cut to the cap"}
	twoInputs   = &Difference{"input and data both given and different", "-32602", "-32602", "input wins"}
)

// on is an example on the built-in devnet.
func on(params string) Example { return Example{Network: "devnet", Params: params} }

// varies is an example whose answer differs each time.
func varies(params string) Example { return Example{Network: "devnet", Params: params, Varies: true} }
