package method

// callRows execute a call or price a transaction.
var callRows = []Row{
	{
		Name: EthCall, Group: groupCalls,
		Summary: "Executes a message call and returns what the contract returns. Nothing is sent and nothing is paid.",
		About: "A call without gas gets 50 million; the cap is ten times the newest block's gas limit. The reason of a revert is in the message " +
			"and its bytes are in data; a custom error is for the caller to decode.",
		Params: []Param{call, block, states, blocks},
		Rules:  state(CallObject), Answer: ReturnAnswer, Work: Executes, Credits: 80, Counted: true, Window: true, FillLatest: true,
		Result: Result{"Bytes", "the returned bytes, 0x when there are none"},
		Errors: []Fault{reverted, {-32000, "out of gas, insufficient funds, header not found: the node's reason"}, {-32602, "gas above the cap, and so on"}, outside},
		Example: on(`[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",` +
			`"data":"0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"},"latest"]`),
		Try: Try{11, `[$call,"latest"]`}, Differences: []*Difference{noFrom, noBlock, gasCap, twoInputs},
	},
	{
		Name: EthEstimateGas, Group: groupCalls,
		Summary: "The gas that a transaction needs to succeed.",
		About: "The estimate is at most 1.5 % above the least that suffices. Without gas in the call the search goes up to the block's gas limit " +
			"or the fork's cap for one transaction, whichever is smaller.",
		Params: []Param{call, estimate, states, blocks},
		Rules:  state(CallObject), Answer: GasAnswer, Work: Executes, Credits: 300, Counted: true, Window: true, FillLatest: true,
		Result: Result{"Quantity", "the estimate"},
		Errors: []Fault{reverted, {-32000, "gas required exceeds allowance; header not found"}, {-32602, "the tag safe, gas above the cap, and so on"}, outside},
		Example: on(`[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",` +
			`"data":"0x55241077000000000000000000000000000000000000000000000000000000000000002b"},"0xa"]`),
		Try: Try{12, `[$call,"latest"]`}, Differences: []*Difference{noTo, noBlock, safeTag, gasCap, twoInputs},
	},
	{
		Name: Layer2EstimateGas, Group: groupCalls,
		Summary: "Gas limit and fees for a transaction on a rollup, including the cost of publishing it to the base layer.",
		About: "Only layer-2 networks have it. A network with an alias also serves it under that prefix: linea_estimateGas on the built-in rollup. The base fee is that of the block " +
			"after the given one. When from is given, its balance must cover the cost. An object as the second parameter is state overrides, never a block.",
		Params: []Param{
			{"call", "Call", true, "the transaction; every field is optional, {} works; no blobs"},
			{"block", "BlockOrOverrides", false, "the block to read at, but not safe: use finalized; latest by default; an object is state overrides"}, states,
		},
		Rules: state(CallObject), Credits: 100, Counted: true, FillLatest: true,
		Result: Result{"GasEstimate", "gas limit and fees"},
		Errors: []Fault{reverted, {-32000, "the sender can't pay for it"}, {-32602, "the tag safe, a blob transaction, two kinds of fees, more than 256 KiB"}},
		Example: Example{Network: "rollup",
			Params: `[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",` +
				`"data":"0x55241077000000000000000000000000000000000000000000000000000000000000002b"},"0x8c"]`},
		Try: Try{16, `[{}]`}, Differences: []*Difference{safeTag, gasCap, twoInputs},
	},
}

// simulationRows try out what a transaction would do.
var simulationRows = []Row{
	{
		Name: EthCreateAccessList, Group: groupSimulate, Summary: "Creates an access list for a call, and returns the gas used with it.",
		Params: []Param{call, block, states},
		Rules:  state(CallObject), Answer: ObjectAnswer, Work: Unstoppable, Counted: true, FillLatest: true,
		Result: Result{"AccessListResult", "the list; error is set if the call fails"}, Errors: []Fault{unknownBlock},
		Example: on(`[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"},"0xa"]`),
	},
	{
		Name: EthSimulateV1, Group: groupSimulate, Summary: "Simulates blocks of calls, one after the other. Nothing is sent.",
		Params: []Param{{"simulation", "Simulation", true, "blocks with their calls and overrides"}, block},
		Rules:  state(Simulation), Work: Executes, Counted: true, FillLatest: true,
		Result: Result{"[]SimulatedBlock", "each block with the outcome of its calls"},
		Errors: []Fault{{-32000, "header not found, or the node's reason"}, {-38020, "a block number that is not above the last one"}, {-38026, "more than 256 blocks"}},
		Example: on(`[{"blockStateCalls":[{"calls":[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",` +
			`"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"}]}]},"0xa"]`),
	},
}
