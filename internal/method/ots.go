package method

// Parameters and errors of the namespace ots.
var (
	otsBlock   = Param{"block", "BlockOrDecimal", true, "which block"}
	otsSize    = Param{"pageSize", "Number", true, "how many transactions, at most 25; those of the last block are returned in full"}
	otsAddress = Param{"address", "Address", true, "who calls or is called"}
	unknownTx  = Fault{-32000, "the transaction isn't available"}
	unsearched = Fault{-32000, "more than 10,000 blocks would have to be searched; the message says where to continue"}
)

// otsRows are what the block explorer Otterscan asks for.
var otsRows = []Row{
	{
		Name: "ots_getApiLevel", Group: groupOts, Summary: "The version of Otterscan's API.",
		Rules: once(NoContracts), Result: Result{"Number", "8"}, Example: on(`[]`),
	},
	{
		Name: "ots_hasCode", Group: groupOts, Summary: "Whether an account has code.",
		Params: []Param{address, {"block", "BlockOrDecimal", false, "the block to read at; latest by default"}}, Rules: once(UnknownContracts),
		Result: Result{"Boolean", "whether it has; false for an unknown block"}, Example: on(`["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","latest"]`),
	},
	{
		Name: "ots_getInternalOperations", Group: groupOts, Summary: "The transfers, creations and self-destructions inside a transaction.",
		Params: []Param{txHash}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]Object", "type (0 transfer, 1 self-destruction, 2 CREATE, 3 CREATE2), from, to and value"}, Errors: []Fault{unknownTx}, Example: on(`[` + exampleTx + `]`),
	},
	{
		Name: "ots_traceTransaction", Group: groupOts, Summary: "The calls, creations and self-destructions of a transaction.",
		Params: []Param{txHash}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]Object", "type, depth, from, to, value, input and output"}, Errors: []Fault{unknownTx}, Example: on(`[` + exampleTx + `]`),
	},
	{
		Name: "ots_getTransactionError", Group: groupOts, Summary: "What a transaction reverted with.",
		Params: []Param{txHash}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"Bytes", "0x where it didn't revert"}, Errors: []Fault{unknownTx},
		Example: on(`["0xc085e93988dc7aed840669b4f831ca086bbd3f69603a85ae47c2c4ad6a607b91"]`),
	},
	{
		Name: "ots_getBlockDetails", Group: groupOts, Summary: "A block without its transactions, with its fees and rewards.",
		Params: []Param{otsBlock}, Rules: once(NoContracts), Work: LongRead,
		Result: Result{"Object|null", "block, issuance and totalFees; null when there is no such block"}, Example: on(`[7]`),
	},
	{
		Name: "ots_getBlockDetailsByHash", Group: groupOts, Summary: "A block without its transactions, with its fees and rewards, by its hash.",
		Params: []Param{blockHash}, Rules: once(NoContracts), Work: LongRead,
		Result: Result{"Object", "block, issuance and totalFees"}, Errors: []Fault{noState},
		Example: on(`["0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525"]`),
	},
	{
		Name: "ots_getBlockTransactions", Group: groupOts, Summary: "A page of a block's transactions and receipts, the last ones first, with short inputs and without logs.",
		Params: []Param{otsBlock, {"page", "Number", true, "from 0"}, {"pageSize", "Number", true, "at most 255"}}, Rules: once(NoContracts), Work: LongRead,
		Result: Result{"Object|null", "fullblock and receipts; null when there is no such block"}, Example: on(`[7,0,1]`),
	},
	{
		Name: "ots_searchTransactionsBefore", Group: groupOts, Summary: "Transactions before a block in which an address calls or is called, newest first.",
		About:  "An embedded network has no index of addresses: it executes the blocks again, so a search over many blocks can exceed the time limit of a call.",
		Params: []Param{otsAddress, {"before", "Number", true, "the number of a block; 0 begins at the newest one"}, otsSize}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"Object", "txs, receipts, firstPage and lastPage"}, Errors: []Fault{unsearched}, Example: on(`["0x71be63f3384f5fb98995898a86b02fb2426c5788",0,1]`),
	},
	{
		Name: "ots_searchTransactionsAfter", Group: groupOts, Summary: "Transactions after a block in which an address calls or is called, newest first.",
		About:  "An embedded network has no index of addresses: it executes the blocks again, so a search over many blocks can exceed the time limit of a call.",
		Params: []Param{otsAddress, {"after", "Number", true, "the number of a block; 0 begins at the first one"}, otsSize}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"Object", "txs, receipts, firstPage and lastPage"}, Errors: []Fault{unsearched}, Example: on(`["0x71be63f3384f5fb98995898a86b02fb2426c5788",0,1]`),
	},
	{
		Name: "ots_getTransactionBySenderAndNonce", Group: groupOts, Summary: "The hash of a sender's transaction, by its nonce.",
		Params: []Param{address, {"nonce", "Number", true, "of the transaction"}}, Rules: once(UnknownContracts), Work: LongRead,
		Result: Result{"Hash|null", "null when there is none"}, Example: on(`["0xbcd4042de499d14e55001ccbb24a551f3b954096",0]`),
	},
	{
		Name: "ots_getContractCreator", Group: groupOts, Summary: "Who created a contract, and in which transaction.",
		Params: []Param{address}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"Object|null", "hash and creator; null for what no transaction created"}, Example: on(`["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"]`),
	},
	{
		Name: "erigon_getHeaderByNumber", Group: groupOts, Summary: "The header of a block, by its number or tag; Erigon's name.",
		Params: []Param{otsBlock}, Rules: once(NoContracts),
		Result: Result{"Header|null", "null when there is no such block"}, Example: on(`[1]`),
	},
}
