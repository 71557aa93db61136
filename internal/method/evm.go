package method

// developmentRows change an embedded chain, for tests.
var developmentRows = []Row{
	{
		Name: EVMMine, Group: groupDevelopment, Summary: "Makes a block now.",
		Rules: development(), Result: Result{"Quantity", "always 0x0"}, Example: on(`[]`),
	},
	{
		Name: EVMSnapshot, Group: groupDevelopment, Summary: "Remembers the newest block, for evm_revert.",
		Rules: development(), Result: Result{"Quantity", "names the snapshot"}, Example: on(`[]`),
	},
	{
		Name: EVMRevert, Group: groupDevelopment, Summary: "Goes back to a snapshot, and forgets it and all later ones.",
		Params: []Param{{"snapshot", "Count", true, "as evm_snapshot answered it"}},
		Rules:  development(), Result: Result{"Boolean", "false when there is no such snapshot"},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: EVMSnapshot},
	},
	{
		Name: EVMIncreaseTime, Group: groupDevelopment, Summary: "Makes a block whose time is some seconds after the newest one.",
		Params: []Param{{"seconds", "Count", true, "1 second to 100 years"}},
		Rules:  development(), Result: Result{"Number", "the seconds"}, Errors: []Fault{{-32000, "less than a second or more than 100 years"}},
		Example: on(`[60]`),
	},
}
