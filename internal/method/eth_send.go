package method

// sendRows prepare transactions and put them out.
var sendRows = []Row{
	{
		Name: EthSendRawTransaction, Group: groupSend, Summary: "Broadcasts a signed transaction.",
		About:  "An embedded network mines it at once, or in the next block if the network has a period. The example works only once, because it uses up its nonce.",
		Params: []Param{raw},
		Rules:  Rules{Kind: Send, Contracts: RawTransaction}, Work: Submits, Credits: 80, Counted: true,
		Result:  Result{"Hash", "of the transaction"},
		Errors:  []Fault{{-32000, "nonce too low, insufficient funds: the node's reason"}},
		Example: on(`["0x02f86c82053980843b9aca0084b2d05e0082520894000000000000000000000000000000000000beef8080c080a055b31fc6095dc1c2caa18f28bd26c62df832dc1c056e71a0d8a8b6b0bcdb664aa01549c7737759a54eebb5a0d7d7b8a0e43f1c2537ec30b21a1ea0eb6cff27fdb6"]`),
	},
	{
		Name: EthSendRawTransactionSync, Group: groupSend, Summary: "Broadcasts a signed transaction and waits for its receipt.",
		About:   "The example works only once, because it uses up its nonce.",
		Params:  []Param{raw, {"timeout", "Number", false, "how many milliseconds to wait; the node has a limit"}},
		Rules:   once(RawTransaction),
		Result:  Result{"Receipt", "of the transaction"},
		Errors:  []Fault{{-32000, "nonce too low, insufficient funds: the node's reason"}, {4, "not mined in time; it may be mined later"}},
		Example: varies(`["0x02f86c82053980843b9aca0084b2d05e0082520894000000000000000000000000000000000000beef8080c001a06311abe0b2dea3c528ef8f19d9900ba50103b1a43a7a7c22264e4f9aaa750e21a01bca508993e5545e497d0df1d2a28d96ab103c9f5c6e9b20cb56ed6b63da005d"]`),
	},
	{
		Name: EthFillTransaction, Group: groupSend, Summary: "Fills in what a transaction lacks: nonce, gas and fees. Nothing is signed or sent.",
		Params: []Param{call}, Rules: once(CallObject), Work: Executes, NoBlobs: true,
		Result:  Result{"FilledTransaction", "the transaction, also encoded for signing"},
		Errors:  []Fault{reverted, {-32000, "gas required exceeds allowance, insufficient funds: the node's reason"}},
		Example: on(`[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0x000000000000000000000000000000000000beef","value":"0x1"}]`),
	},
}

// feeRows say what transactions pay.
var feeRows = []Row{
	{
		Name: "eth_gasPrice", Group: groupFees, Summary: "A gas price in wei at which a transaction of type 0 is mined.",
		Rules: now(), Answer: HexAnswer, Counted: true, NeverNull: true, SlowEmbedded: true,
		Result: Result{"Quantity", "the price"}, Example: on(`[]`), Try: Try{13, `[]`},
	},
	{
		Name: EthMaxPriorityFeePerGas, Group: groupFees, Summary: "A priority fee per gas, in wei, that gets a transaction mined.",
		Rules: now(), Answer: HexAnswer, Counted: true, SlowEmbedded: true,
		Result: Result{"Quantity", "the tip"}, Example: on(`[]`),
	},
	{
		Name: EthFeeHistory, Group: groupFees, Summary: "Base fees, gas used ratios and priority fees of a range of blocks.",
		Params: []Param{
			{"blocks", "Count", true, "how many, at most 1,024"}, {"newest", "BlockNumber", true, "the last of them"},
			{"percentiles", "[]Number", true, "of the priority fees in each block, ascending from 0 to 100; may be empty"},
		},
		Rules: history(), Answer: ObjectAnswer, Work: BulkRead, Counted: true, EveryBlock: true, SlowEmbedded: true,
		Result: Result{"FeeHistory", "from the oldest to the block after the newest"}, Errors: []Fault{{-32000, "the block isn't available, or the percentiles aren't ascending"}},
		Example: on(`["0x2","0xa",[50]]`),
	},
	{
		Name: "eth_blobBaseFee", Group: groupFees, Summary: "The price of blob gas in the next block.",
		Rules: now(), Answer: HexAnswer, Counted: true, SlowEmbedded: true,
		Result: Result{"Quantity", "in wei"}, Example: on(`[]`),
	},
	{
		Name: "eth_baseFee", Group: groupFees, Summary: "The base fee of the next block.",
		Rules: now(), Result: Result{"Quantity", "in wei"}, Example: on(`[]`),
	},
}
