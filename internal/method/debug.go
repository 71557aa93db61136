package method

// What every trace can end with.
var untraced = []Fault{{-32000, "the block or transaction isn't available, or its state isn't kept"}, {-32602, "a setting that is not allowed"}}

// rawBlock is a block parameter of the methods that answer what a node has on disk.
var rawBlock = Param{"block", "Block", true, "which block"}

// debugRows look and don't touch. The rest of the namespace is never served.
var debugRows = []Row{
	{
		Name: DebugTraceTransaction, Group: groupDebug, Summary: "Executes a mined transaction again and reports what happened inside.",
		About:  "Without a tracer every step is reported; callTracer and prestateTracer are much shorter.",
		Params: []Param{txHash, options}, Rules: Rules{Needs: State}, Work: Unstoppable,
		Result: Result{"Object", "the tracer's output"}, Errors: untraced,
		Example: on(`["0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33",{"tracer":"callTracer"}]`),
	},
	{
		Name: "debug_traceCall", Group: groupDebug, Summary: "Executes a call and reports what happened inside. Nothing is sent.",
		Params: []Param{call, block, {"options", "TraceOptions", false, "which tracer, its settings, and overrides of state and block"}},
		Rules:  state(CallObject), Work: Unstoppable,
		Result: Result{"Object", "the tracer's output"}, Errors: untraced,
		Example: on(`[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"},"0xa",{"tracer":"callTracer"}]`),
	},
	{
		Name: "debug_traceBlockByNumber", Group: groupDebug, Summary: "Traces all transactions of a block, given by its number or tag.",
		Params: []Param{number, options}, Rules: state(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]TraceResult", "for each transaction in order"}, Errors: untraced,
		Example: on(`["0x7",{"tracer":"callTracer"}]`),
	},
	{
		Name: "debug_traceBlockByHash", Group: groupDebug, Summary: "Traces all transactions of a block, given by its hash.",
		Params: []Param{blockHash, options}, Rules: Rules{Truth: OfAHash, Needs: State}, Work: Unstoppable,
		Result: Result{"[]TraceResult", "for each transaction in order"}, Errors: untraced,
		Example: on(`["0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525",{"tracer":"callTracer"}]`),
	},
	{
		Name: "debug_traceBlock", Group: groupDebug, Summary: "Traces all transactions of a block that is passed as RLP.",
		About:  "Its parent must be on the chain.",
		Params: []Param{{"block", "Bytes", true, "the block as RLP, as debug_getRawBlock returns it"}, options}, Rules: once(UnknownContracts), Work: Unstoppable,
		Result: Result{"[]TraceResult", "for each transaction in order"}, Errors: untraced,
		Example: on(`["0xf90311f90273a01aadf16b4fc10b35e796cbb21e8dced7c1fec38d20fbf5347d941476fa9b2a2ea01dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d4934794fee0000000000000000000000000000000000feea07f3e2c3b7941dff24e3b4ead6fa5e9b9399fd288784707086fe6750df769d57ea05ce668de9ea314ece16175024237cd1c786820c47cbc6874e598af55754f5180a0eaa8c40899a61ae59615cf9985f5e2194f8fd2b57d273be63bde6733e89b12abb901000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000080078403938700825208846553f1548f6e6f646567617465206465766e6574a0000000000000000000000000000000000000000000000000000000000000000088000000000000000084177933f2a056e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b4218302000080a00000000000000000000000000000000000000000000000000000000000000000a0e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855f897b89503f89282053909843b9aca0084b2d05e00830186a094000000000000000000000000000000000000beef0180c08203e8e1a0010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c44401401a0f3600bad36f3728830ea5619c9d092cdb52ab247062a331f8d9367fd5a6ad1e4a041a4f05faf164b9b9fa82f81d52c3e40e17938e0590787fd62c24b1022b2f738c0c0",{"tracer":"callTracer"}]`),
	},
	{
		Name: "debug_storageRangeAt", Group: groupDebug, Summary: "Slots of a contract's storage in the order of their hashes, as of a transaction.",
		Params: []Param{
			rawBlock, {"index", "Number", true, "of the transaction in the block; the slots are as before it"}, address,
			{"start", "Bytes", true, "hash of the first slot; 0x from the beginning"}, {"limit", "Number", true, "most slots"},
		},
		Rules:  once(UnknownContracts),
		Result: Result{"Object", "the slots by hash, and the hash of the next one"}, Errors: []Fault{{-32000, "the block isn't available, or the account has no storage"}},
		Example: on(`["0xa",0,"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","0x",2]`),
	},
	{
		Name: "debug_getRawBlock", Group: groupDebug, Summary: "A block as RLP.",
		Params: []Param{rawBlock}, Rules: once(NoContracts), Answer: RawBlockAnswer,
		Result: Result{"Bytes", "the block"}, Errors: []Fault{{-32000, "the block isn't available"}}, Example: on(`["0xa"]`),
	},
	{
		Name: "debug_getRawHeader", Group: groupDebug, Summary: "The header of a block as RLP.",
		Params: []Param{rawBlock}, Rules: once(NoContracts), Answer: RawHeaderAnswer,
		Result: Result{"Bytes", "the header"}, Errors: []Fault{{-32000, "the block isn't available"}}, Example: on(`["0xa"]`),
	},
	{
		Name: "debug_getRawReceipts", Group: groupDebug, Summary: "The receipts of a block as RLP.",
		Params: []Param{rawBlock}, Rules: once(NoContracts), Answer: RawReceiptsAnswer,
		Result: Result{"[]Bytes", "in order"}, Errors: []Fault{{-32000, "the block isn't available"}}, Example: on(`["0xa"]`),
	},
	{
		Name: "debug_getRawTransaction", Group: groupDebug, Summary: "A transaction as it was signed and encoded.",
		Params: []Param{txHash}, Rules: once(NoContracts), Answer: RawTransactionAnswer,
		Result:  Result{"Bytes", "the transaction; 0x when there is none"},
		Example: on(`["0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"]`),
	},
}
