package method

// filterRows find what contracts logged, at once or since the last time.
var filterRows = []Row{
	{
		Name: EthGetLogs, Group: groupLogs, Summary: "The logs of a range of blocks that match a filter.",
		About:  "A query can span 10,000 blocks and return 10,000 results. A larger one is refused, and the message names a range that works.",
		Params: []Param{filter},
		Rules:  Rules{Truth: OfARange, Needs: History, Contracts: LogFilter}, Answer: LogsAnswer, Work: LongRead, Credits: 255, Counted: true, SlowEmbedded: true,
		Result: Result{"[]Log", "in order"}, Errors: []Fault{tooWide, {-32000, "the block isn't available"}},
		Example: on(`[{"fromBlock":"0x6","toBlock":"0x8","address":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"}]`),
	},
	{
		Name: EthNewFilter, Group: groupLogs, Summary: "Creates a filter for new logs. Poll it with eth_getFilterChanges.",
		About:  "A filter expires 15 minutes after its last poll. On a WebSocket, use a subscription instead.",
		Params: []Param{filter}, Rules: sticky(LogFilter), Counted: true, NewFilter: true, Finds: FindsLogs,
		Result: Result{"ID", "of the filter"}, Errors: []Fault{tooWide},
		Example: varies(`[{"address":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"}]`),
	},
	{
		Name: EthNewBlockFilter, Group: groupLogs, Summary: "Creates a filter for the hashes of new blocks. Poll it with eth_getFilterChanges.",
		Rules: sticky(NoContracts), Counted: true, NewFilter: true, Finds: FindsBlocks,
		Result: Result{"ID", "of the filter"}, Example: varies(`[]`),
	},
	{
		Name: EthNewPendingTransactionFilter, Group: groupLogs, Summary: "Creates a filter for the hashes of new pending transactions. Poll it with eth_getFilterChanges.",
		Params: []Param{{"full", "Boolean", false, "full transactions instead of hashes"}}, Rules: sticky(NoContracts), Counted: true, NewFilter: true, Finds: FindsPending,
		Result: Result{"ID", "of the filter"}, Example: varies(`[]`),
	},
	{
		Name: EthGetFilterChanges, Group: groupLogs, Summary: "New results of a filter since the last poll.",
		Params: []Param{filterID}, Rules: sticky(NoContracts), Answer: LogsAnswer, Counted: true, // the filter was checked when it was created
		Result: Result{"Changes", "logs or hashes, as the filter is"}, Errors: []Fault{noFilter},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: EthNewBlockFilter},
	},
	{
		Name: EthGetFilterLogs, Group: groupLogs, Summary: "All logs that match a filter of eth_newFilter.",
		Params: []Param{filterID}, Rules: sticky(NoContracts), Answer: LogsAnswer, Work: LongRead, Counted: true, Finds: FindsLogs,
		Result: Result{"[]Log", "in order"}, Errors: []Fault{noFilter, tooWide},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: EthNewFilter},
	},
	{
		Name: "eth_uninstallFilter", Group: groupLogs, Summary: "Removes a filter.",
		Params: []Param{filterID}, Rules: sticky(NoContracts), Counted: true, EndsFilter: true,
		Result:  Result{"Boolean", "false when there was none"},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: EthNewFilter},
	},
}

// subscriptionRows follow events on a WebSocket.
var subscriptionRows = []Row{
	{
		Name: EthSubscribe, Group: groupEvents, Summary: "Starts a subscription. Events arrive as eth_subscription notifications.",
		About: "newHeads sends the header of each new block, logs each matching log, newPendingTransactions each new pending transaction, " +
			"transactionReceipts the receipts of each new block, syncing nothing on an embedded network. A slow reader is disconnected with close code 1008.",
		Params: []Param{{"kind", "Events", true, "of what"}, {"options", "SubscribeOptions", false, "a filter of logs; true for full pending transactions"}},
		Rules:  once(Subscription), Credits: 5, Counted: true,
		Result: Result{"ID", "of the subscription"}, Socket: true, Errors: []Fault{{-32000, "more than 128 subscriptions on one socket"}, notOverHTTP},
		Example: varies(`["newHeads"]`),
	},
	{
		Name: EthUnsubscribe, Group: groupEvents, Summary: "Ends a subscription.",
		Params: []Param{{"id", "ID", true, "of the subscription"}}, Rules: once(NoContracts), Counted: true,
		Result: Result{"Boolean", "true"}, Socket: true,
		Errors:  []Fault{{-32000, "subscription not found"}, notOverHTTP},
		Example: Example{Network: "devnet", Params: `["0x1"]`, After: EthSubscribe},
	},
}
