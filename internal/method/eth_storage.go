package method

// storageRows read the storage of contracts.
var storageRows = []Row{
	{
		Name: EthGetStorageAt, Group: groupStorage,
		Summary: "One slot of a contract's storage.",
		About: "A plain variable in slot n is at position n. An element of a mapping is at keccak256 of its key and the mapping's slot, " +
			"each padded to 32 bytes; web3_sha3 computes that.",
		Params: []Param{address, {"position", "Position", true, "which slot"}, block},
		Rules:  state(FirstAddress), Answer: WordAnswer, Part: SlotPart, Credits: 80, Counted: true, Window: true, FillLatest: true,
		Result:  Result{"Word", "the slot as 32 bytes, zero where nothing was ever written"},
		Errors:  []Fault{{-32602, "the position is longer than 32 bytes or not hex"}, unknownBlock, outside},
		Example: on(`["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","0x0","latest"]`),
		Try:     Try{5, `["$contract","0x0","latest"]`}, Differences: []*Difference{noBlock},
	},
	{
		Name: EthGetProof, Group: groupStorage,
		Summary: "An account and some of its storage, with the Merkle proofs that tie them to the state root of a block.",
		About:   "The tag pending answers as latest. An account that does not exist has zero for every field, and a proof that it does not exist.",
		Params:  []Param{address, {"keys", "[]Position", true, "at most 1,024 slots; may be empty"}, block},
		Rules:   state(FirstAddress), Answer: ProofAnswer, Work: Unstoppable, Credits: 150, Counted: true, Window: true, FillLatest: true,
		Result:  Result{"Proof", "the account, its proof, and one for each key in order"},
		Errors:  []Fault{{-32602, "more than 1,024 keys"}, unknownBlock, outside},
		Example: on(`["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",["0x0"],"0xa"]`),
		Try:     Try{6, `["$contract",["0x0"],"latest"]`}, Differences: []*Difference{noBlock},
	},
	{
		Name: "eth_getStorageValues", Group: groupStorage,
		Summary: "Several slots of several contracts at once.",
		Params:  []Param{{"slots", "StorageRequests", true, "which slots, by contract; at most 1,024"}, block},
		Rules:   state(AddressKeys), Part: SlotsPart, Work: BulkRead,
		Result:  Result{"Object", "by contract, the slots in order"},
		Errors:  []Fault{{-32602, "no slots, or more than 1,024"}, unknownBlock},
		Example: on(`[{"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9":["0x0000000000000000000000000000000000000000000000000000000000000000"]},"0xa"]`),
	},
}
