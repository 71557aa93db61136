package method

// Parameters of the namespace trace.
var (
	traceTypes  = Param{"traceTypes", "[]TraceType", true, "trace, stateDiff, or both"}
	gasBailOut  = Param{"gasBailOut", "Boolean", false, "Erigon's; an embedded network ignores it"}
	traceConfig = Param{"settings", "TraceSettings", false, "whether calls of precompiled contracts are shown"}
	noState     = Fault{-32000, "the block isn't available"}
	badTypes    = Fault{-32602, "a trace type that is not known, or vmTrace, which embedded networks don't have"}
)

// traceRows are traces in the form of Parity, as Erigon answers them.
var traceRows = []Row{
	{
		Name: TraceBlock, Group: groupTraces, Summary: "The calls, creations and self-destructions of all transactions of a block.",
		Params: []Param{number, gasBailOut, traceConfig}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]Trace", "in the order of execution"}, Errors: []Fault{noState}, Example: on(`["0x7"]`),
	},
	{
		Name: "trace_transaction", Group: groupTraces, Summary: "The calls, creations and self-destructions of a mined transaction.",
		Params: []Param{txHash, gasBailOut, traceConfig}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]Trace|null", "in the order of execution; null when there is no such transaction"}, Example: on(`[` + exampleTx + `]`),
	},
	{
		Name: "trace_get", Group: groupTraces, Summary: "One trace of a mined transaction.",
		About:  "As in Erigon, index 0x0 is the first call inside the transaction, and more than one index finds nothing.",
		Params: []Param{txHash, {"indices", "[]Quantity", true, "which trace"}, gasBailOut, traceConfig}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"Trace|null", "null when there is none"}, Example: on(`[` + exampleTx + `,["0x0"]]`),
	},
	{
		Name: "trace_filter", Group: groupTraces, Summary: "The traces of a range of blocks that match senders and recipients.",
		About:  "An embedded network has no index of traces: it executes the range again, so a wide range can exceed the time limit of a call. Use a smaller range or count.",
		Params: []Param{{"filter", "TraceFilter", true, "which blocks, senders and recipients"}, gasBailOut, traceConfig}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]Trace", "in the order of execution"}, Errors: []Fault{{-32602, "more than 10,000 blocks; the message names a range that works"}},
		Example: on(`[{"fromBlock":"0x2","toBlock":"0x7","toAddress":["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"],"count":1}]`),
	},
	{
		Name: "trace_call", Group: groupTraces, Summary: "Executes a call and reports what happened inside. Nothing is sent.",
		Params: []Param{call, traceTypes, block, traceConfig}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"Replayed", "the requested traces"}, Errors: []Fault{noState, badTypes},
		Example: on(`[` + exampleCall + `,["trace","stateDiff"],"0xa"]`),
	},
	{
		Name: "trace_callMany", Group: groupTraces, Summary: "Executes calls one after the other. Each sees what those before it changed.",
		Params: []Param{{"calls", "[]TraceCall", true, "pairs of a call and its trace types"}, block, traceConfig}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]Replayed", "for each call in order"}, Errors: []Fault{noState, badTypes},
		Example: on(`[[[` + exampleCall + `,["trace"]],[` + exampleCall + `,["stateDiff"]]],"0xa"]`),
	},
	{
		Name: "trace_rawTransaction", Group: groupTraces, Summary: "Executes a signed transaction on the newest block and reports what happened inside. Nothing is sent.",
		About:  "Erigon has no such method. The response has Parity's form.",
		Params: []Param{raw, traceTypes}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"Replayed", "the requested traces"}, Errors: []Fault{{-32000, "it can't be executed: the reason"}, badTypes},
		Example: on(`["0x02f86c82053980843b9aca0084b2d05e0082520894000000000000000000000000000000000000beef8080c080a055b31fc6095dc1c2caa18f28bd26c62df832dc1c056e71a0d8a8b6b0bcdb664aa01549c7737759a54eebb5a0d7d7b8a0e43f1c2537ec30b21a1ea0eb6cff27fdb6",["trace"]]`),
	},
	{
		Name: "trace_replayTransaction", Group: groupTraces, Summary: "Executes a mined transaction again and reports its traces or what it changed.",
		Params: []Param{txHash, traceTypes, gasBailOut, traceConfig}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"Replayed|null", "null when there is no such transaction"}, Errors: []Fault{badTypes}, Example: on(`[` + exampleTx + `,["stateDiff"]]`),
	},
	{
		Name: "trace_replayBlockTransactions", Group: groupTraces, Summary: "Executes all transactions of a block again and reports their traces or what they changed.",
		Params: []Param{rawBlock, traceTypes, gasBailOut, traceConfig}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]Replayed", "for each transaction in order"}, Errors: []Fault{noState, badTypes}, Example: on(`["0x7",["trace"]]`),
	},
}

// Values of examples.
const (
	exampleTx   = `"0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"`
	exampleCall = `{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"}`
)
