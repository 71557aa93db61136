package apidoc

// Groups of logs and events.
const (
	groupLogs   = "Logs and filters"
	groupEvents = "Subscriptions"
)

// Parameters of filters and subscriptions.
var (
	filterID = Param{"id", "ID", true, "of the filter"}
	tooWide  = Fault{-32602, "more than 10,000 blocks or results; the message names a range that works"}
)

// demoLogs is a filter of the demo contract's logs.
const demoLogs = `[{"fromBlock":"0x6","toBlock":"0x8","address":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"}]`

// logMethods find what contracts logged, at once or as it happens.
var logMethods = []Method{
	{
		Name: "eth_getLogs", Group: groupLogs, Summary: "The logs of a range of blocks that match a filter.",
		About:  "A range may span 10,000 blocks and bring 10,000 results. A wider one is refused, and the message names a range that works.",
		Params: []Param{{"filter", "Filter", true, "which logs"}}, Result: Result{"[]Log", "in order"}, Errors: []Fault{tooWide, {-32000, "the block is not there"}},
		Example: Example{Network: "devnet", Params: demoLogs},
	},
	{
		Name: "eth_newFilter", Group: groupLogs, Summary: "Begins to watch for logs; eth_getFilterChanges brings them.",
		About:  "A filter that nobody asks for five minutes is gone. On a WebSocket a subscription is better.",
		Params: []Param{{"filter", "Filter", true, "which logs"}}, Result: Result{"ID", "of the filter"}, Errors: []Fault{tooWide},
		Example: Example{Network: "devnet", Params: `[{"address":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"}]`, Varies: true},
	},
	{
		Name: "eth_newBlockFilter", Group: groupLogs, Summary: "Begins to watch for blocks; eth_getFilterChanges brings their hashes.",
		Result: Result{"ID", "of the filter"}, Example: Example{Network: "devnet", Params: `[]`, Varies: true},
	},
	{
		Name: "eth_newPendingTransactionFilter", Group: groupLogs, Summary: "Begins to watch the pool; eth_getFilterChanges brings the hashes of what enters it.",
		Params: []Param{{"full", "Boolean", false, "whole transactions instead of hashes"}},
		Result: Result{"ID", "of the filter"}, Example: Example{Network: "devnet", Params: `[]`, Varies: true},
	},
	{
		Name: "eth_getFilterChanges", Group: groupLogs, Summary: "What a filter saw since it was asked last.",
		Params: []Param{filterID}, Result: Result{"Changes", "logs or hashes, as the filter is"}, Errors: []Fault{noFilter},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: "eth_newBlockFilter"},
	},
	{
		Name: "eth_getFilterLogs", Group: groupLogs, Summary: "All logs that match a filter of eth_newFilter.",
		Params: []Param{filterID}, Result: Result{"[]Log", "in order"}, Errors: []Fault{noFilter, tooWide},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: "eth_newFilter"},
	},
	{
		Name: "eth_uninstallFilter", Group: groupLogs, Summary: "Ends a filter.",
		Params: []Param{filterID}, Result: Result{"Boolean", "false when there was none"},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: "eth_newFilter"},
	},
	{
		Name: "eth_subscribe", Group: groupEvents, Summary: "Begins a subscription: events follow as eth_subscription notifications.",
		About: "newHeads brings the header of each new block, logs each matching log, newPendingTransactions what enters the pool, " +
			"transactionReceipts the receipts of each new block, syncing nothing on an embedded network. A reader that is too slow is cut off with 1008.",
		Params: []Param{{"kind", "Events", true, "of what"}, {"options", "SubscribeOptions", false, "a filter of logs; true for whole pending transactions"}},
		Result: Result{"ID", "of the subscription"}, Socket: true, Errors: []Fault{{-32000, "more than 128 subscriptions on one socket"}, {-32601, "notifications not supported: over HTTP"}},
		Example: Example{Network: "devnet", Params: `["newHeads"]`, Varies: true},
	},
	{
		Name: "eth_unsubscribe", Group: groupEvents, Summary: "Ends a subscription.",
		Params: []Param{{"id", "ID", true, "of the subscription"}}, Result: Result{"Boolean", "true"}, Socket: true,
		Errors:  []Fault{{-32000, "subscription not found"}, {-32601, "notifications not supported: over HTTP"}},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: "eth_subscribe"},
	},
}
