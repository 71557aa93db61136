package method

// transactionRows look transactions up.
var transactionRows = []Row{
	{
		Name: EthGetTransactionByHash, Group: groupTransactions,
		Summary: "A transaction, mined or waiting in the pool.",
		Params:  []Param{txHash},
		Rules:   byAnswer(), Answer: TransactionAnswer, Credits: 80, Counted: true, Window: true,
		Result:      Result{"Transaction|null", "null when there is no such transaction"},
		Errors:      []Fault{outside},
		Example:     on(`["0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"]`),
		Try:         Try{8, `["$transaction"]`},
		Differences: []*Difference{yParity, signature, chainID, extraFields},
	},
	{
		Name: EthGetTransactionByBlockHashAndIndex, Group: groupTransactions,
		Summary: "The transaction at an index of a block.",
		About:   "The block may be off the canonical chain.",
		Params:  []Param{blockHash, index0},
		Rules:   byHash(), Answer: AtHashAnswer, Credits: 150, Counted: true, Window: true,
		Result:      Result{"Transaction|null", "with yParity where its type has it; null when there is no such block or index"},
		Errors:      []Fault{outside},
		Example:     on(`["0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525","0x0"]`),
		Try:         Try{9, `["$block","$index"]`},
		Differences: []*Difference{signature, chainID, extraFields},
	},
	{
		Name: "eth_getTransactionByBlockNumberAndIndex", Group: groupTransactions,
		Summary: "The transaction at an index of a block that is given by its number.",
		Params:  []Param{number, index0},
		Rules:   history(), Answer: AtNumberAnswer, SlowEmbedded: true,
		Result:  Result{"Transaction|null", "null when there is no such block or index"},
		Example: on(`["0x7","0x0"]`),
	},
	{
		Name: "eth_getRawTransactionByHash", Group: groupTransactions,
		Summary: "A transaction as it was signed and encoded.",
		Params:  []Param{txHash},
		Rules:   Rules{Needs: History, Contracts: NoContracts}, Answer: RawTransactionAnswer,
		Result:  Result{"Bytes", "the transaction; 0x when there is none"},
		Example: on(`["0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"]`),
	},
	{
		Name: "eth_getRawTransactionByBlockHashAndIndex", Group: groupTransactions,
		Summary: "The transaction at an index of a block, as it was signed and encoded.",
		About:   "The block may be off the canonical chain.",
		Params:  []Param{blockHash, index0},
		Rules:   Rules{Needs: History, Contracts: NoContracts}, Answer: RawAtAnswer,
		Result:  Result{"Bytes", "the transaction; 0x when there is no such block or index"},
		Example: on(`["0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525","0x0"]`),
	},
	{
		Name: "eth_getRawTransactionByBlockNumberAndIndex", Group: groupTransactions,
		Summary: "The transaction at an index of a block that is given by its number, as it was signed and encoded.",
		Params:  []Param{number, index0},
		Rules:   Rules{Needs: History, Contracts: NoContracts}, Answer: RawAtAnswer,
		Result:  Result{"Bytes", "the transaction; 0x when there is no such block or index"},
		Example: on(`["0x7","0x0"]`),
	},
	{
		Name: EthPendingTransactions, Group: groupTransactions,
		Summary: "The pending transactions.",
		About:   "An embedded network shows its whole pool, or refuses if that is more than 1,000 transactions. Nodes of other networks show only what their own accounts have sent, usually none.",
		Rules:   once(NoContracts), Answer: TransactionsAnswer,
		Result: Result{"[]Transaction", "the pending transactions"}, Example: on(`[]`),
	},
}

// receiptRows look receipts up.
var receiptRows = []Row{
	{
		Name: EthGetTransactionReceipt, Group: groupReceipts,
		Summary: "The receipt of a mined transaction.",
		About:   "A network may serve the receipts of its latest blocks only; the built-in rollup serves 128.",
		Params:  []Param{txHash},
		Rules:   byAnswer(), Answer: ReceiptAnswer, Credits: 80, Counted: true, Window: true,
		Result:  Result{"Receipt|null", "null if the transaction is pending or unknown"},
		Errors:  []Fault{outside},
		Example: on(`["0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"]`),
		Try:     Try{10, `["$transaction"]`}, Differences: []*Difference{extraFields},
	},
	{
		Name: EthGetBlockReceipts, Group: groupReceipts,
		Summary: "The receipts of all transactions of a block.",
		About:   "The tag pending answers as latest.",
		Params:  []Param{{"block", "BlockOrDecimal", true, "which block; a decimal number works too"}},
		Rules:   history(), Answer: ReceiptsAnswer, Credits: 1000, Counted: true, Window: true, EveryBlock: true,
		Result:  Result{"[]Receipt|null", "in order, empty for a block without transactions; null when there is no such block"},
		Errors:  []Fault{outside},
		Example: on(`["0x7"]`), Try: Try{7, `["latest"]`}, Differences: []*Difference{extraFields},
	},
}
