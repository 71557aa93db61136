package method

import (
	"maps"
	"slices"
)

// Info describes one method.
type Info struct {
	Kind  Kind
	Truth Truth
	Needs Needs
	Block int // which parameter is the block; None where there is none

	Contracts   Contracts
	Development bool // changes an embedded chain
}

// None is the Block of a method without a block parameter.
const None = -1

// Kind says how a method may be sent.
type Kind uint8

// The kinds.
const (
	// Read may be asked of any node that has the block, again after a failure, and of
	// two at once.
	Read Kind = iota
	// Send puts a transaction out: to several nodes, never as a second transaction.
	Send
	// Sticky belongs to what one node keeps for the caller: filters.
	Sticky
	// Other is a method that the table doesn't know: asked once.
	Other
)

// Truth says how long an answer stays true.
type Truth uint8

// The truths.
const (
	Never       Truth = iota // depends on more than the chain, or is not known
	OfTheChain               // the same for ever: chain id, network id
	OfAHash                  // what a block hash names: the same while that block is on the chain
	OfABlock                 // what a block number names: the same until a reorganisation
	OfItsAnswer              // the answer says its block: transactions and receipts
	OfARange                 // logs of a range of blocks
	OfTheHead                // changes with every block: gas price, fee history of latest
)

// Needs says what a node must have kept for old blocks.
type Needs uint8

// The needs.
const (
	Nothing Needs = iota
	History       // blocks, transactions, receipts, logs
	State         // accounts and storage as of the block
)

// Contracts says where the parameters of a method name the contracts that it reads or
// calls. Keys with an address list go by it.
type Contracts uint8

// Where contracts are named.
const (
	UnknownContracts Contracts = iota // a key with an address list is refused
	NoContracts                       // blocks, transactions, accounts and the like
	FirstAddress                      // the first parameter is an address
	AddressKeys                       // the members of the first parameter are named by addresses
	CallObject                        // the first parameter is a call; others may override state
	Simulation                        // eth_simulateV1
	LogFilter                         // the first parameter is a filter
	Subscription                      // eth_subscribe: logs have a filter
	RawTransaction                    // the first parameter is a signed transaction
)

// Of looks a method up.
func Of(name string) Info {
	if i, ok := table[name]; ok {
		return i
	}
	return Info{Kind: Other, Block: None}
}

// Names are all methods of the table, in order.
func Names() []string { return slices.Sorted(maps.Keys(table)) }

func state(block int, c Contracts) Info {
	return Info{Truth: OfABlock, Needs: State, Block: block, Contracts: c}
}

func history(block int) Info {
	return Info{Truth: OfABlock, Needs: History, Block: block, Contracts: NoContracts}
}

func byHash() Info {
	return Info{Truth: OfAHash, Needs: History, Block: None, Contracts: NoContracts}
}

func byAnswer() Info {
	return Info{Truth: OfItsAnswer, Needs: History, Block: None, Contracts: NoContracts}
}

func now() Info      { return Info{Truth: OfTheHead, Block: None, Contracts: NoContracts} }
func constant() Info { return Info{Truth: OfTheChain, Block: None, Contracts: NoContracts} }
func asked() Info    { return Info{Block: None, Contracts: NoContracts} }
func sticky() Info   { return Info{Kind: Sticky, Block: None, Contracts: NoContracts} }

// once is a method that is asked of one node and not again after a failure.
func once(c Contracts) Info { return Info{Kind: Other, Block: None, Contracts: c} }

// development changes an embedded chain.
func development() Info { return Info{Kind: Other, Block: None, Development: true} }

// table is read and never written.
var table = map[string]Info{
	"eth_getStorageAt":        state(2, FirstAddress),
	"eth_getStorageValues":    state(1, AddressKeys),
	"eth_getProof":            state(2, FirstAddress),
	"eth_getCode":             state(1, FirstAddress),
	"eth_call":                state(1, CallObject),
	"eth_estimateGas":         state(1, CallObject),
	"layer2_estimateGas":      state(1, CallObject),
	"eth_createAccessList":    state(1, CallObject),
	"debug_traceCall":         state(1, CallObject),
	"eth_simulateV1":          state(1, Simulation),
	"eth_getBalance":          state(1, NoContracts), // of accounts too, which have to know it to send
	"eth_getTransactionCount": state(1, NoContracts),

	"eth_getBlockByNumber":                    history(0),
	"eth_getHeaderByNumber":                   history(0),
	"eth_getBlockReceipts":                    history(0),
	"eth_getBlockTransactionCountByNumber":    history(0),
	"eth_getTransactionByBlockNumberAndIndex": history(0),
	"eth_getUncleCountByBlockNumber":          history(0),
	"eth_getUncleByBlockNumberAndIndex":       history(0),
	"eth_feeHistory":                          history(1),
	"debug_traceBlockByNumber":                state(0, UnknownContracts),

	"eth_getBlockByHash":                    byHash(),
	"eth_getHeaderByHash":                   byHash(),
	"eth_getBlockTransactionCountByHash":    byHash(),
	"eth_getTransactionByBlockHashAndIndex": byHash(),
	"eth_getUncleCountByBlockHash":          byHash(),
	"eth_getUncleByBlockHashAndIndex":       byHash(),
	"debug_traceBlockByHash":                {Truth: OfAHash, Needs: State, Block: None},

	"eth_getTransactionByHash":    byAnswer(),
	"eth_getTransactionReceipt":   byAnswer(),
	"eth_getRawTransactionByHash": {Needs: History, Block: None, Contracts: NoContracts},
	"debug_traceTransaction":      {Needs: State, Block: None},
	"debug_traceBlock":            once(UnknownContracts),
	"debug_storageRangeAt":        once(UnknownContracts),
	"debug_getRawTransaction":     once(NoContracts),
	"debug_getRawHeader":          once(NoContracts),
	"debug_getRawBlock":           once(NoContracts),
	"debug_getRawReceipts":        once(NoContracts),

	"eth_getLogs":   {Truth: OfARange, Needs: History, Block: None, Contracts: LogFilter},
	"eth_newFilter": {Kind: Sticky, Block: None, Contracts: LogFilter},
	"eth_subscribe": once(Subscription),

	"eth_newBlockFilter":              sticky(),
	"eth_newPendingTransactionFilter": sticky(),
	"eth_getFilterChanges":            sticky(), // the filter was checked when it was created
	"eth_getFilterLogs":               sticky(),
	"eth_uninstallFilter":             sticky(),
	"eth_unsubscribe":                 once(NoContracts),

	"eth_sendRawTransaction":     {Kind: Send, Block: None, Contracts: RawTransaction},
	"eth_sendRawTransactionSync": once(RawTransaction),
	"eth_fillTransaction":        once(CallObject),

	"eth_blockNumber":          now(),
	"eth_gasPrice":             now(),
	"eth_maxPriorityFeePerGas": now(),
	"eth_blobBaseFee":          now(),
	"eth_baseFee":              now(),
	"eth_syncing":              asked(),
	"eth_config":               asked(),
	"eth_capabilities":         asked(),
	"eth_accounts":             once(NoContracts),
	"eth_pendingTransactions":  once(NoContracts),
	"eth_protocolVersion":      once(NoContracts),
	"eth_chainId":              constant(),
	"net_version":              constant(),
	"net_listening":            asked(),
	"net_peerCount":            asked(),
	"web3_clientVersion":       asked(),
	"web3_sha3":                constant(),

	"evm_mine":         development(),
	"evm_snapshot":     development(),
	"evm_revert":       development(),
	"evm_increaseTime": development(),
}
