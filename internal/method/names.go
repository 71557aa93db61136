package method

// The methods that code refers to: those that have a handler, and those that the service
// itself asks nodes. A row that nothing refers to needs no constant.
const (
	EthAccounts                          = "eth_accounts"
	EthBlockNumber                       = "eth_blockNumber"
	EthCall                              = "eth_call"
	EthCapabilities                      = "eth_capabilities"
	EthChainID                           = "eth_chainId"
	EthCreateAccessList                  = "eth_createAccessList"
	EthEstimateGas                       = "eth_estimateGas"
	EthFillTransaction                   = "eth_fillTransaction"
	EthFeeHistory                        = "eth_feeHistory"
	EthGetBalance                        = "eth_getBalance"
	EthGetBlockByHash                    = "eth_getBlockByHash"
	EthGetBlockByNumber                  = "eth_getBlockByNumber"
	EthGetBlockReceipts                  = "eth_getBlockReceipts"
	EthGetCode                           = "eth_getCode"
	EthGetFilterChanges                  = "eth_getFilterChanges"
	EthGetFilterLogs                     = "eth_getFilterLogs"
	EthGetLogs                           = "eth_getLogs"
	EthGetProof                          = "eth_getProof"
	EthGetStorageAt                      = "eth_getStorageAt"
	EthGetTransactionByBlockHashAndIndex = "eth_getTransactionByBlockHashAndIndex"
	EthGetTransactionByHash              = "eth_getTransactionByHash"
	EthGetTransactionCount               = "eth_getTransactionCount"
	EthGetTransactionReceipt             = "eth_getTransactionReceipt"
	EthMaxPriorityFeePerGas              = "eth_maxPriorityFeePerGas"
	EthNewBlockFilter                    = "eth_newBlockFilter"
	EthNewFilter                         = "eth_newFilter"
	EthNewPendingTransactionFilter       = "eth_newPendingTransactionFilter"
	EthPendingTransactions               = "eth_pendingTransactions"
	EthSendRawTransaction                = "eth_sendRawTransaction"
	EthSendRawTransactionSync            = "eth_sendRawTransactionSync"
	EthSendTransaction                   = "eth_sendTransaction"
	EthSimulateV1                        = "eth_simulateV1"
	EthSubscribe                         = "eth_subscribe"
	EthSyncing                           = "eth_syncing"
	EthUnsubscribe                       = "eth_unsubscribe"
	Layer2EstimateGas                    = "layer2_estimateGas"
	Web3ClientVersion                    = "web3_clientVersion"
	DebugTraceTransaction                = "debug_traceTransaction"
	TraceBlock                           = "trace_block"
	EVMIncreaseTime                      = "evm_increaseTime"
	EVMMine                              = "evm_mine"
	EVMRevert                            = "evm_revert"
	EVMSnapshot                          = "evm_snapshot"
)

// Methods without a row, which only some nodes have and the service asks.
const (
	LineaEstimateGas = "linea_estimateGas"
	TxpoolStatus     = "txpool_status"
	ZksEstimateFee   = "zks_estimateFee"
)

// EthSubscription is the notification that carries an event. It is counted and priced like
// a method, and can't be called.
const EthSubscription = "eth_subscription"

// EventCredits is the built-in price of an event.
const EventCredits = 1
