package method

// developmentRows change an embedded chain, for tests. The first four are also served
// where a network turns on the namespace evm; all others are scoped: only keys with the
// scope development may call them.
var developmentRows = append([]Row{
	{
		Name: EVMMine, Group: groupDevelopment, Summary: "Mines one or more blocks.", Action: ActMine,
		Params: []Param{{"options", "MineOptions", false, "the block's time in seconds, or how many blocks"}},
		Rules:  development(), Result: Result{"Quantity", "always 0x0"}, Example: on(`[]`),
	},
	{
		Name: EVMSnapshot, Group: groupDevelopment, Summary: "Takes a snapshot of the newest block and the chain's clock, for evm_revert.", Action: ActSnapshot,
		Rules: development(), Result: Result{"Quantity", "the snapshot's ID"}, Example: on(`[]`),
	},
	{
		Name: EVMRevert, Group: groupDevelopment, Summary: "Reverts the chain to a snapshot, and deletes it and all later ones.", Action: ActRevert,
		Params: []Param{{"snapshot", "Count", true, "the ID that evm_snapshot returned"}},
		Rules:  development(), Result: Result{"Boolean", "false when there is no such snapshot"},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: EVMSnapshot},
	},
	{
		Name: EVMIncreaseTime, Group: groupDevelopment, Summary: "Moves the chain's clock forward, from the next block on.", Action: ActIncreaseTime,
		Params: []Param{{"seconds", "Count", true, "at most 100 years"}},
		Rules:  development(), Result: Result{"Number", "the seconds"}, Errors: []Fault{{-32000, "more than 100 years"}},
		Example: on(`[60]`),
	},
}, scopedRows()...)

// Parameters of development methods.
var (
	anyAddress = Param{"address", "Address", true, "any account or contract"}
	seconds    = Param{"time", "Count", true, "in seconds since 1970"}
	enabled    = Param{"enabled", "Boolean", true, "on or off"}
	amount     = Param{"balance", "Count", true, "in wei"}
	bytecode   = Param{"code", "Bytes", true, "the runtime code, not the deployment code"}
	newNonce   = Param{"nonce", "Count", true, "of the next transaction"}
	slot       = Param{"slot", "Quantity", true, "which one"}
	word       = Param{"value", "Bytes", true, "32 bytes"}
	done       = Result{"Boolean|null", "true; null under the names of Anvil"}
)

// exampleAddress is in the examples of methods that change an account.
const exampleAddress = `"0x000000000000000000000000000000000000dead"`

// scopedRows are the development methods under all their names.
func scopedRows() []Row {
	both := []string{SpaceHardhat, SpaceAnvil}
	var rows []Row
	for _, m := range []struct {
		action  Action
		spaces  []string
		name    string
		summary string
		params  []Param
		result  Result
		example string
	}{
		{ActMineMany, both, "mine", "Mines blocks.", []Param{{"blocks", "Count", false, "how many, at most 10,000; 1 by default"}, {"interval", "Count", false, "seconds between them; 1 by default"}}, done, `["0x2"]`},
		{ActSetNextTime, []string{SpaceEVM, SpaceAnvil}, "setNextBlockTimestamp", "Sets the time of the next block. Later blocks continue from it.", []Param{seconds}, done, `["0xf2d4b8d0"]`},
		{ActSetTime, []string{SpaceEVM, SpaceAnvil}, "setTime", "Sets the chain's clock, from the next block on.", []Param{seconds}, Result{"Number", "how many seconds the clock is ahead"}, `["0xf2d4b8e0"]`},
		{ActSetAutomine, []string{SpaceEVM, SpaceAnvil}, "setAutomine", "Turns automine on or off: whether each transaction is mined at once.", []Param{enabled}, done, `[true]`},
		{ActGetAutomine, both, "getAutomine", "Whether automine is on.", nil, Result{"Boolean", "on or off"}, `[]`},
		{ActSetInterval, []string{SpaceEVM}, "setIntervalMining", "Mines a block at a fixed interval.", []Param{{"milliseconds", "Count", true, "between blocks; 0 turns it off"}}, done, `[0]`},
		{ActSetIntervalSeconds, []string{SpaceAnvil}, "setIntervalMining", "Mines a block at a fixed interval.", []Param{{"seconds", "Count", true, "between blocks; 0 turns it off"}}, done, `[0]`},
		{ActSetBalance, both, "setBalance", "Sets the balance of an account.", []Param{anyAddress, amount}, done, `[` + exampleAddress + `,"0xde0b6b3a7640000"]`},
		{ActSetCode, both, "setCode", "Sets the code of an account.", []Param{anyAddress, bytecode}, done, `[` + exampleAddress + `,"0x00"]`},
		{ActSetNonce, both, "setNonce", "Sets the nonce of an account.", []Param{anyAddress, newNonce}, done, `[` + exampleAddress + `,"0x5"]`},
		{ActSetStorage, both, "setStorageAt", "Sets a slot of a contract's storage.", []Param{anyAddress, slot, word}, done, `[` + exampleAddress + `,"0x0","0x0000000000000000000000000000000000000000000000000000000000000001"]`},
		{ActSetBalance, []string{SpaceEVM}, "setAccountBalance", "Sets the balance of an account; Ganache's name.", []Param{anyAddress, amount}, done, `[` + exampleAddress + `,"0xde0b6b3a7640000"]`},
		{ActSetCode, []string{SpaceEVM}, "setAccountCode", "Sets the code of an account; Ganache's name.", []Param{anyAddress, bytecode}, done, `[` + exampleAddress + `,"0x00"]`},
		{ActSetNonce, []string{SpaceEVM}, "setAccountNonce", "Sets the nonce of an account; Ganache's name.", []Param{anyAddress, newNonce}, done, `[` + exampleAddress + `,"0x5"]`},
		{ActSetStorage, []string{SpaceEVM}, "setAccountStorageAt", "Sets a slot of a contract's storage; Ganache's name.", []Param{anyAddress, slot, word}, done, `[` + exampleAddress + `,"0x0","0x0000000000000000000000000000000000000000000000000000000000000001"]`},
		{ActSetNextBaseFee, both, "setNextBlockBaseFeePerGas", "Sets the base fee of the next block.", []Param{{"baseFee", "Count", true, "in wei"}}, done, `["0x3b9aca00"]`},
		{ActSetCoinbase, both, "setCoinbase", "Sets the recipient of priority fees in later blocks.", []Param{anyAddress}, done, `[` + exampleAddress + `]`},
		{ActSetRandom, []string{SpaceHardhat}, "setPrevRandao", "Sets the random value of the next block.", []Param{{"random", "Hash", true, "32 bytes"}}, done, `["0x0000000000000000000000000000000000000000000000000000000000000001"]`},
		{ActSetGasLimit, []string{SpaceEVM}, "setBlockGasLimit", "Sets the gas limit of later blocks.", []Param{{"gas", "Count", true, "from 5,000 to 1 billion"}}, done, `["0x3938700"]`},
		{ActImpersonate, both, "impersonateAccount", "Lets eth_sendTransaction send from an account without its key.", []Param{anyAddress}, done, `[` + exampleAddress + `]`},
		{ActStopImpersonating, both, "stopImpersonatingAccount", "Ends impersonateAccount for an account.", []Param{anyAddress}, done, `[` + exampleAddress + `]`},
		{ActAutoImpersonate, []string{SpaceAnvil}, "autoImpersonateAccount", "Lets eth_sendTransaction send from every account, or ends that.", []Param{enabled}, done, `[false]`},
		{ActDrop, both, "dropTransaction", "Removes a pending transaction.", []Param{txHash}, Result{"Boolean|null", "whether it was there; Anvil's name has its hash or null"}, `["0x0000000000000000000000000000000000000000000000000000000000000001"]`},
		{ActDropAll, []string{SpaceAnvil}, "dropAllTransactions", "Removes all pending transactions.", nil, done, `[]`},
		{ActSnapshot, []string{SpaceAnvil}, "snapshot", "The same as evm_snapshot.", nil, Result{"Quantity", "the snapshot's ID"}, `[]`},
		{ActRevert, []string{SpaceAnvil}, "revert", "The same as evm_revert.", []Param{{"snapshot", "Count", true, "the ID that anvil_snapshot returned"}}, Result{"Boolean", "false when there is no such snapshot"}, `["0xffff"]`},
		{ActIncreaseTime, []string{SpaceAnvil}, "increaseTime", "The same as evm_increaseTime.", []Param{{"seconds", "Count", true, "at most 100 years"}}, Result{"Number", "the seconds"}, `[60]`},
		{ActReset, both, "reset", "Resets the chain and all settings to their state at the first start.", []Param{{"options", "Object", false, "a fork is refused"}}, done, `[]`},
		{ActMetadata, both, "metadata", "Information about the chain, in Hardhat's format.", nil, Result{"Object", "version, chain and newest block"}, `[]`},
		{ActNodeInfo, []string{SpaceAnvil}, "nodeInfo", "Information about the chain, in Anvil's format.", nil, Result{"Object", "newest block, fork and fees"}, `[]`},
	} {
		for _, space := range m.spaces {
			example := on(m.example)
			example.Varies = m.action == ActMetadata || m.action == ActNodeInfo || m.action == ActSnapshot || m.action == ActSetTime
			rows = append(rows, Row{
				Name: space + "_" + m.name, Group: groupDevelopment, Summary: m.summary, Action: m.action, Params: m.params,
				Rules: scoped(UnknownContracts), Result: m.result, Example: example,
			})
		}
	}
	return append(rows, Row{
		Name: EthSendTransaction, Group: groupDevelopment, Summary: "Sends a transaction from a development account or an impersonated one.", Action: ActSendTransaction,
		About:  "Missing nonce, gas and fees are filled in. The service holds no user keys: everywhere else, sign the transaction and use eth_sendRawTransaction.",
		Params: []Param{{"transaction", "Call", true, "from is required"}},
		Rules:  scoped(CallObject), Result: Result{"Hash", "of the transaction"},
		Errors:  []Fault{{-32000, "the account is not impersonated, insufficient funds: the reason"}, reverted},
		Example: varies(`[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0x000000000000000000000000000000000000beef","value":"0x1"}]`),
	})
}
