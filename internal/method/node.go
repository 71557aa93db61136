package method

// nodeRows are about what stands behind the network.
var nodeRows = []Row{
	{
		Name: "net_version", Group: groupNode, Summary: "The network's id as a decimal text.",
		Rules: constant(), Credits: 5, Counted: true, SlowEmbedded: true,
		Result: Result{"String", "the id"}, Example: on(`[]`), Try: Try{14, `[]`},
	},
	{
		Name: "net_listening", Group: groupNode, Summary: "Whether the node accepts connections from peers.",
		Rules: asked(), Counted: true,
		Result: Result{"Boolean", "as the node reports"}, Example: on(`[]`),
	},
	{
		Name: "net_peerCount", Group: groupNode, Summary: "How many peers the node has; an embedded chain has none.",
		Rules: asked(), Counted: true,
		Result: Result{"Quantity", "the count"}, Example: on(`[]`),
	},
	{
		Name: Web3ClientVersion, Group: groupNode, Summary: "The node's client name and version.",
		Rules: asked(), Counted: true,
		Result: Result{"String", "name and version"}, Example: varies(`[]`), Try: Try{15, `[]`},
	},
	{
		Name: "web3_sha3", Group: groupNode, Summary: "The keccak256 hash of some bytes, as used for positions in mappings and function selectors.",
		Params: []Param{{"data", "Bytes", true, "the bytes to hash"}}, Rules: constant(), Counted: true,
		Result: Result{"Hash", "its hash"}, Example: on(`["0x68656c6c6f"]`),
	},
	{
		Name: "eth_config", Group: groupNode, Summary: "The rules of the chain's current, next and last fork (EIP-7910).",
		Rules: asked(), Result: Result{"Object", "fork id, blob schedule, precompiles and system contracts of each"}, Example: on(`[]`),
	},
	{
		Name: EthCapabilities, Group: groupNode, Summary: "Which blocks, states, receipts and logs the node keeps.",
		Rules: asked(), Result: Result{"Object", "the ranges of blocks"}, Example: on(`[]`),
	},
	{
		Name: "eth_protocolVersion", Group: groupNode, Summary: "The version of the Ethereum protocol that the node speaks to its peers.",
		About: "Geth and embedded networks don't have it.",
		Rules: once(NoContracts), Remote: true,
		Result: Result{"Quantity", "the version"}, Example: Example{Params: `[]`},
	},
}
