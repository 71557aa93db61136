package apidoc

// Groups of what wallets and libraries also ask for.
const (
	groupChain    = "The chain"
	groupAccounts = "Accounts"
	groupSend     = "Sending"
	groupFees     = "Fees"
	groupSimulate = "Simulation"
	groupNode     = "The node"
)

// chainMethods look at blocks and accounts, send and price transactions.
var chainMethods = []Method{
	{
		Name: "eth_chainId", Group: groupChain, Summary: "The chain's id, which signatures carry.",
		Result: Result{"Quantity", "the id"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "eth_blockNumber", Group: groupChain, Summary: "The number of the newest block.",
		Result: Result{"Quantity", "the number"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "eth_getBlockByNumber", Group: groupChain, Summary: "A block by its number or tag.",
		Params: []Param{{"block", "BlockNumber", true, "which block"}, {"full", "Boolean", true, "whole transactions instead of their hashes"}},
		Result: Result{"BlockObject|null", "null when there is no such block"}, Example: Example{Network: "devnet", Params: `["0xa",false]`},
	},
	{
		Name: "eth_getBlockByHash", Group: groupChain, Summary: "A block by its hash.",
		Params: []Param{{"hash", "Hash", true, "of the block"}, {"full", "Boolean", true, "whole transactions instead of their hashes"}},
		Result: Result{"BlockObject|null", "null when there is no such block"},
		Example: Example{Network: "devnet",
			Params: `["0xc74c0be989359a3a7adb83d1f30ae516535e6e57b6f245db98ec4e9804f3c047",false]`},
	},
	{
		Name: "eth_syncing", Group: groupChain, Summary: "Whether the node behind the network is catching up.",
		Result: Result{"Syncing", "false, or how far it is; an embedded chain never is"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "eth_getBalance", Group: groupAccounts, Summary: "The balance of an account in wei.",
		Params: []Param{address, block},
		Result: Result{"Quantity", "the balance"}, Errors: []Fault{unknownBlock},
		Example: Example{Network: "devnet", Params: `["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","0xa"]`},
	},
	{
		Name: "eth_getCode", Group: groupAccounts, Summary: "The code of a contract.",
		Params: []Param{address, block},
		Result: Result{"Bytes", "the code, 0x for an account without"}, Errors: []Fault{unknownBlock},
		Example: Example{Network: "devnet", Params: `["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","latest"]`},
	},
	{
		Name: "eth_getTransactionCount", Group: groupAccounts, Summary: "How many transactions an account has sent: the nonce of its next one.",
		Params: []Param{address, {"block", "Block", false, "as of which block; latest when left out; pending counts what waits"}},
		Result: Result{"Quantity", "the count"}, Errors: []Fault{unknownBlock},
		Example: Example{Network: "devnet", Params: `["0xbcd4042de499d14e55001ccbb24a551f3b954096","latest"]`},
	},
	{
		Name: "eth_accounts", Group: groupAccounts, Summary: "Always empty: the service holds no keys. Sign in the wallet.",
		Result: Result{"[]Address", "an empty list"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "eth_sendRawTransaction", Group: groupSend, Summary: "Puts a signed transaction out.",
		About:  "On an embedded network it is mined at once, or at the next block where the network has a period. The example works once: its nonce is used up then.",
		Params: []Param{{"transaction", "Bytes", true, "signed and encoded"}},
		Result: Result{"Hash", "of the transaction"},
		Errors: []Fault{{-32000, "nonce too low, insufficient funds: the node's reason"}},
		Example: Example{Network: "devnet",
			Params: `["0x02f86c82053980843b9aca0084b2d05e0082520894000000000000000000000000000000000000beef8080c080a055b31fc6095dc1c2caa18f28bd26c62df832dc1c056e71a0d8a8b6b0bcdb664aa01549c7737759a54eebb5a0d7d7b8a0e43f1c2537ec30b21a1ea0eb6cff27fdb6"]`},
	},
	{
		Name: "eth_gasPrice", Group: groupFees, Summary: "A price in wei for each unit of gas that a transaction of type 0 is mined with.",
		Result: Result{"Quantity", "the price"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "eth_maxPriorityFeePerGas", Group: groupFees, Summary: "A tip in wei for each unit of gas that gets a transaction mined.",
		Result: Result{"Quantity", "the tip"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "eth_feeHistory", Group: groupFees, Summary: "Base fees, fullness and tips of a range of blocks.",
		Params: []Param{
			{"blocks", "Count", true, "how many, at most 1,024"}, {"newest", "BlockNumber", true, "the last of them"},
			{"percentiles", "[]Number", true, "of the tips in each block, rising from 0 to 100; may be empty"},
		},
		Result: Result{"FeeHistory", "from the oldest to the block after the newest"}, Errors: []Fault{{-32000, "the block is not there, or the percentiles don't rise"}},
		Example: Example{Network: "devnet", Params: `["0x2","0xa",[50]]`},
	},
	{
		Name: "eth_blobBaseFee", Group: groupFees, Summary: "The price of blob gas in the next block.",
		Result: Result{"Quantity", "in wei"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "eth_createAccessList", Group: groupSimulate, Summary: "The access list that a call would profit from, and the gas it would take then.",
		Params: []Param{call, block}, Result: Result{"AccessListResult", "the list; error tells of a call that fails"}, Errors: []Fault{unknownBlock},
		Example: Example{Network: "devnet",
			Params: `[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"},"0xa"]`},
	},
	{
		Name: "eth_simulateV1", Group: groupSimulate, Summary: "Executes calls in blocks that are never made, one after the other.",
		Params: []Param{{"simulation", "Simulation", true, "blocks with their calls and overrides"}, block},
		Result: Result{"[]SimulatedBlock", "each block with the outcome of its calls"},
		Errors: []Fault{{-32000, "header not found, or the node's reason"}, {-38020, "a block number that is not above the last one"}, {-38026, "more than 256 blocks"}},
		Example: Example{Network: "devnet",
			Params: `[{"blockStateCalls":[{"calls":[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"}]}]},"0xa"]`},
	},
}

// nodeMethods are about what stands behind the network.
var nodeMethods = []Method{
	{
		Name: "net_version", Group: groupNode, Summary: "The network's id as a decimal text.",
		Result: Result{"String", "the id"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "net_listening", Group: groupNode, Summary: "Whether the node takes connections of others.",
		Result: Result{"Boolean", "as the node says"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "net_peerCount", Group: groupNode, Summary: "How many peers the node has; an embedded chain has none.",
		Result: Result{"Quantity", "the count"}, Example: Example{Network: "devnet", Params: `[]`},
	},
	{
		Name: "web3_clientVersion", Group: groupNode, Summary: "Which program the node is.",
		Result: Result{"String", "name and version"}, Example: Example{Network: "devnet", Params: `[]`, Varies: true},
	},
	{
		Name: "web3_sha3", Group: groupNode, Summary: "keccak256 of some bytes: what positions in mappings and selectors are made with.",
		Params: []Param{{"data", "Bytes", true, "what is hashed"}}, Result: Result{"Hash", "its hash"},
		Example: Example{Network: "devnet", Params: `["0x68656c6c6f"]`},
	},
}
