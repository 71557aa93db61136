package method

// chainRows look at blocks and the chain.
var chainRows = []Row{
	{
		Name: EthChainID, Group: groupChain, Summary: "The chain's id, which signatures carry.",
		Rules: constant(), Answer: ChainIDAnswer, Credits: 5, Counted: true, NeverNull: true,
		Result: Result{"Quantity", "the id"}, Example: on(`[]`), Try: Try{2, `[]`},
	},
	{
		Name: EthBlockNumber, Group: groupChain, Summary: "The number of the newest block.",
		Rules: now(), Counted: true,
		Result: Result{"Quantity", "the number"}, Example: on(`[]`), Try: Try{1, `[]`},
	},
	{
		Name: EthGetBlockByNumber, Group: groupChain, Summary: "A block by its number or tag.",
		Params: []Param{number, full},
		Rules:  history(), Answer: BlockAnswer, Counted: true, EveryBlock: true, SlowEmbedded: true,
		Result: Result{"BlockObject|null", "null when there is no such block"}, Example: on(`["0xa",false]`), Try: Try{4, `["latest",false]`},
	},
	{
		Name: EthGetBlockByHash, Group: groupChain, Summary: "A block by its hash.",
		Params: []Param{{"hash", "Hash", true, "of the block"}, full},
		Rules:  byHash(), Answer: BlockAnswer, Counted: true, SlowEmbedded: true,
		Result:  Result{"BlockObject|null", "null when there is no such block"},
		Example: on(`["0xc74c0be989359a3a7adb83d1f30ae516535e6e57b6f245db98ec4e9804f3c047",false]`),
	},
	{
		Name: "eth_getHeaderByNumber", Group: groupChain, Summary: "The header of a block, by its number or tag.",
		Params: []Param{number},
		Rules:  history(), Answer: HeaderAnswer, EveryBlock: true, SlowEmbedded: true,
		Result: Result{"Header|null", "null when there is no such block"}, Example: on(`["0xa"]`),
	},
	{
		Name: "eth_getHeaderByHash", Group: groupChain, Summary: "The header of a block, by its hash.",
		Params: []Param{{"hash", "Hash", true, "of the block"}},
		Rules:  byHash(), Answer: HeaderAnswer, SlowEmbedded: true,
		Result:  Result{"Header|null", "null when there is no such block"},
		Example: on(`["0xc74c0be989359a3a7adb83d1f30ae516535e6e57b6f245db98ec4e9804f3c047"]`),
	},
	{
		Name: "eth_getBlockTransactionCountByNumber", Group: groupChain, Summary: "How many transactions a block has, by its number or tag.",
		Params: []Param{number},
		Rules:  history(), Answer: CountAnswer, EveryBlock: true, SlowEmbedded: true,
		Result: Result{"Quantity|null", "null when there is no such block"}, Example: on(`["0x7"]`),
	},
	{
		Name: "eth_getBlockTransactionCountByHash", Group: groupChain, Summary: "How many transactions a block has, by its hash.",
		Params: []Param{blockHash},
		Rules:  byHash(), Answer: CountAnswer, SlowEmbedded: true,
		Result:  Result{"Quantity|null", "null when there is no such block"},
		Example: on(`["0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525"]`),
	},
	{
		Name: "eth_getUncleCountByBlockNumber", Group: groupChain, Summary: "How many uncles a block has, by its number or tag: none since proof of stake.",
		Params: []Param{number}, Rules: history(), Answer: UncleCountAnswer, EveryBlock: true,
		Result: Result{"Quantity|null", "null when there is no such block"}, Example: on(`["0x7"]`),
	},
	{
		Name: "eth_getUncleCountByBlockHash", Group: groupChain, Summary: "How many uncles a block has, by its hash: none since proof of stake.",
		Params: []Param{blockHash}, Rules: byHash(), Answer: UncleCountAnswer,
		Result:  Result{"Quantity|null", "null when there is no such block"},
		Example: on(`["0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525"]`),
	},
	{
		Name: "eth_getUncleByBlockNumberAndIndex", Group: groupChain, Summary: "An uncle of a block that is given by its number or tag.",
		Params: []Param{number, uncle}, Rules: history(), Answer: UncleAnswer,
		Result: Result{"Header|null", "null when there is no such uncle"}, Example: on(`["0x7","0x0"]`),
	},
	{
		Name: "eth_getUncleByBlockHashAndIndex", Group: groupChain, Summary: "An uncle of a block that is given by its hash.",
		Params: []Param{blockHash, uncle}, Rules: byHash(), Answer: UncleAnswer,
		Result:  Result{"Header|null", "null when there is no such uncle"},
		Example: on(`["0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525","0x0"]`),
	},
	{
		Name: EthSyncing, Group: groupChain, Summary: "Whether the node behind the network is catching up.",
		Rules: asked(), Counted: true,
		Result: Result{"Syncing", "false, or how far it is; an embedded chain never is"}, Example: on(`[]`),
	},
}

// accountRows look at accounts.
var accountRows = []Row{
	{
		Name: EthGetBalance, Group: groupAccounts, Summary: "The balance of an account in wei.",
		Params: []Param{address, block},
		// A key with an address list may read it of any account, which has to know it to send.
		Rules: state(NoContracts), Answer: HexAnswer, Part: BalancePart, Counted: true, SlowEmbedded: true,
		Result: Result{"Quantity", "the balance"}, Errors: []Fault{unknownBlock},
		Example: on(`["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","0xa"]`), Try: Try{3, `["$address","latest"]`},
	},
	{
		Name: EthGetCode, Group: groupAccounts, Summary: "The code of a contract.",
		Params: []Param{address, block},
		Rules:  state(FirstAddress), Answer: HexAnswer, Part: CodePart, Counted: true, SlowEmbedded: true,
		Result: Result{"Bytes", "the code, 0x for an account without"}, Errors: []Fault{unknownBlock},
		Example: on(`["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","latest"]`),
	},
	{
		Name: EthGetTransactionCount, Group: groupAccounts, Summary: "How many transactions an account has sent: the nonce of its next one.",
		Params: []Param{address, {"block", "Block", false, "the block to read at; latest by default; pending counts pending transactions"}},
		Rules:  state(NoContracts), Answer: HexAnswer, Part: NoncePart, Counted: true, SlowEmbedded: true, CountsSent: true,
		Result: Result{"Quantity", "the count"}, Errors: []Fault{unknownBlock},
		Example: on(`["0xbcd4042de499d14e55001ccbb24a551f3b954096","latest"]`),
	},
	{
		Name: EthAccounts, Group: groupAccounts, Summary: "The accounts that eth_sendTransaction sends from. Without the scope development it is empty: sign in the wallet.",
		Rules: once(NoContracts), Counted: true,
		Result: Result{"[]Address", "on an embedded network, for keys with the scope development; otherwise an empty list"}, Example: on(`[]`),
	},
}
