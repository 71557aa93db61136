package apidoc

// Groups of the nine.
const (
	groupStorage      = "Storage and proofs"
	groupTransactions = "Transactions"
	groupReceipts     = "Receipts"
	groupCalls        = "Calls and gas"
)

// Parameters that several methods share.
var (
	address  = Param{"address", "Address", true, "the account or contract"}
	block    = Param{"block", "Block", false, "as of which block; latest when left out"}
	estimate = Param{"block", "BlockNotSafe", false, "as of which block, but not safe: use finalized; latest when left out"}
	call     = Param{"call", "Call", true, "the transaction; it is never sent"}
	states   = Param{"stateOverrides", "StateOverrides", false, "what accounts hold for this call"}
	blocks   = Param{"blockOverrides", "BlockOverrides", false, "what the block says for this call"}
	txHash   = Param{"hash", "Hash", true, "of the transaction"}
)

// theNine are the methods of the specification.
var theNine = []Method{
	{
		Name: "eth_getStorageAt", Group: groupStorage,
		Summary: "One slot of a contract's storage.",
		About: "A plain variable in slot n is at position n. An element of a mapping is at keccak256 of its key and the mapping's slot, " +
			"each padded to 32 bytes; web3_sha3 computes that.",
		Params: []Param{address, {"position", "Position", true, "which slot"}, block},
		Result: Result{"Word", "the slot as 32 bytes, zero where nothing was ever written"},
		Errors: []Fault{{-32602, "the position is longer than 32 bytes or not hex"}, unknownBlock, outside},
		Example: Example{Network: "devnet",
			Params: `["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","0x0","latest"]`},
	},
	{
		Name: "eth_getProof", Group: groupStorage,
		Summary: "An account and some of its storage, with the Merkle proofs that tie them to the state root of a block.",
		About:   "The tag pending answers as latest. An account that does not exist has zero for every field, and a proof that it does not exist.",
		Params:  []Param{address, {"keys", "[]Position", true, "at most 1,024 slots; may be empty"}, block},
		Result:  Result{"Proof", "the account, its proof, and one for each key in order"},
		Errors:  []Fault{{-32602, "more than 1,024 keys"}, unknownBlock, outside},
		Example: Example{Network: "devnet",
			Params: `["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",["0x0"],"0xa"]`},
	},
	{
		Name: "eth_getTransactionByHash", Group: groupTransactions,
		Summary: "A transaction, mined or waiting in the pool.",
		Params:  []Param{txHash},
		Result:  Result{"Transaction|null", "null when there is no such transaction"},
		Errors:  []Fault{outside},
		Example: Example{Network: "devnet",
			Params: `["0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"]`},
	},
	{
		Name: "eth_getTransactionByBlockHashAndIndex", Group: groupTransactions,
		Summary: "The transaction at an index of a block.",
		About:   "The block may be off the canonical chain.",
		Params:  []Param{{"blockHash", "Hash", true, "of the block"}, {"index", "Quantity", true, "of the transaction in the block, from 0x0"}},
		Result:  Result{"Transaction|null", "with yParity where its type has it; null when there is no such block or index"},
		Errors:  []Fault{outside},
		Example: Example{Network: "devnet",
			Params: `["0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525","0x0"]`},
	},
	{
		Name: "eth_getTransactionReceipt", Group: groupReceipts,
		Summary: "The receipt of a mined transaction.",
		About:   "A network may serve the receipts of its latest blocks only; the built-in rollup serves 128.",
		Params:  []Param{txHash},
		Result:  Result{"Receipt|null", "null while the transaction waits or when there is none"},
		Errors:  []Fault{outside},
		Example: Example{Network: "devnet",
			Params: `["0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"]`},
	},
	{
		Name: "eth_getBlockReceipts", Group: groupReceipts,
		Summary: "The receipts of all transactions of a block.",
		About:   "The tag pending answers as latest.",
		Params:  []Param{{"block", "BlockOrDecimal", true, "which block; a decimal number works too"}},
		Result:  Result{"[]Receipt|null", "in order, empty for a block without transactions; null when there is no such block"},
		Errors:  []Fault{outside},
		Example: Example{Network: "devnet", Params: `["0x7"]`},
	},
	{
		Name: "eth_call", Group: groupCalls,
		Summary: "Executes a message call and returns what the contract returns. Nothing is sent and nothing is paid.",
		About: "A call without gas gets 50 million; the cap is ten times the newest block's gas limit. The reason of a revert is in the message " +
			"and its bytes are in data; a custom error is for the caller to decode.",
		Params: []Param{call, block, states, blocks},
		Result: Result{"Bytes", "the returned bytes, 0x when there are none"},
		Errors: []Fault{reverted, {-32000, "out of gas, insufficient funds, header not found: the node's reason"}, {-32602, "gas above the cap, and so on"}, outside},
		Example: Example{Network: "devnet",
			Params: `[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",` +
				`"data":"0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"},"latest"]`},
	},
	{
		Name: "eth_estimateGas", Group: groupCalls,
		Summary: "The gas that a transaction needs to succeed.",
		About: "The estimate is at most 1.5 % above the least that suffices. Without gas in the call the search goes up to the block's gas limit " +
			"or the fork's cap for one transaction, whichever is smaller.",
		Params: []Param{call, estimate, states, blocks},
		Result: Result{"Quantity", "the estimate"},
		Errors: []Fault{reverted, {-32000, "gas required exceeds allowance; header not found"}, {-32602, "the tag safe, gas above the cap, and so on"}, outside},
		Example: Example{Network: "devnet",
			Params: `[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",` +
				`"data":"0x55241077000000000000000000000000000000000000000000000000000000000000002b"},"0xa"]`},
	},
	{
		Name: "layer2_estimateGas", Group: groupCalls,
		Summary: "What to put into a transaction on a rollup: gas and fees, with the cost of publishing it to the base layer.",
		About: "Only layer-2 networks have it. A network with an alias also serves it under that prefix: linea_estimateGas on the built-in rollup. The base fee is that of the block " +
			"after the given one. When from is given, its balance must cover the cost. An object as the second parameter is state overrides, never a block.",
		Params: []Param{{"call", "Call", true, "the transaction; every field is optional, {} works; no blobs"}, {"block", "BlockOrOverrides", false, "as of which block, but not safe: use finalized; latest when left out; an object is state overrides"}, states},
		Result: Result{"GasEstimate", "gas limit and fees"},
		Errors: []Fault{reverted, {-32000, "the sender can't pay for it"}, {-32602, "the tag safe, a blob transaction, two kinds of fees, more than 256 KiB"}},
		Example: Example{Network: "rollup",
			Params: `[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",` +
				`"data":"0x55241077000000000000000000000000000000000000000000000000000000000000002b"},"0x8c"]`},
	},
}
