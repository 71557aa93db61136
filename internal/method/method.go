package method

// Info describes one method.
type Info struct {
	Kind  Kind
	Truth Truth
	Needs Needs
	Block int // which parameter is the block; None where there is none
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

// Of looks a method up.
func Of(name string) Info {
	if i, ok := table[name]; ok {
		return i
	}
	return Info{Kind: Other, Block: None}
}

func state(block int) Info   { return Info{Truth: OfABlock, Needs: State, Block: block} }
func history(block int) Info { return Info{Truth: OfABlock, Needs: History, Block: block} }
func byHash() Info           { return Info{Truth: OfAHash, Needs: History, Block: None} }
func byAnswer() Info         { return Info{Truth: OfItsAnswer, Needs: History, Block: None} }
func now() Info              { return Info{Truth: OfTheHead, Block: None} }
func constant() Info         { return Info{Truth: OfTheChain, Block: None} }
func asked() Info            { return Info{Block: None} }
func sticky() Info           { return Info{Kind: Sticky, Block: None} }

// table is read and never written.
var table = map[string]Info{
	"eth_getStorageAt":        state(2),
	"eth_getProof":            state(2),
	"eth_call":                state(1),
	"eth_estimateGas":         state(1),
	"eth_createAccessList":    state(1),
	"eth_simulateV1":          state(1),
	"eth_getBalance":          state(1),
	"eth_getCode":             state(1),
	"eth_getTransactionCount": state(1),
	"layer2_estimateGas":      state(1),
	"debug_traceCall":         state(1),

	"eth_getBlockByNumber":                    history(0),
	"eth_getHeaderByNumber":                   history(0),
	"eth_getBlockReceipts":                    history(0),
	"eth_getBlockTransactionCountByNumber":    history(0),
	"eth_getTransactionByBlockNumberAndIndex": history(0),
	"eth_getUncleCountByBlockNumber":          history(0),
	"eth_getUncleByBlockNumberAndIndex":       history(0),
	"debug_traceBlockByNumber":                {Truth: OfABlock, Needs: State, Block: 0},
	"eth_feeHistory":                          history(1),

	"eth_getBlockByHash":                    byHash(),
	"eth_getHeaderByHash":                   byHash(),
	"eth_getBlockTransactionCountByHash":    byHash(),
	"eth_getTransactionByBlockHashAndIndex": byHash(),
	"eth_getUncleCountByBlockHash":          byHash(),
	"eth_getUncleByBlockHashAndIndex":       byHash(),
	"debug_traceBlockByHash":                {Truth: OfAHash, Needs: State, Block: None},

	"eth_getTransactionByHash":        byAnswer(),
	"eth_getTransactionReceipt":       byAnswer(),
	"eth_getRawTransactionByHash":     {Needs: History, Block: None},
	"debug_traceTransaction":          {Needs: State, Block: None},
	"eth_getLogs":                     {Truth: OfARange, Needs: History, Block: None},
	"eth_blockNumber":                 now(),
	"eth_gasPrice":                    now(),
	"eth_maxPriorityFeePerGas":        now(),
	"eth_blobBaseFee":                 now(),
	"eth_baseFee":                     now(),
	"eth_syncing":                     asked(),
	"eth_config":                      asked(),
	"eth_capabilities":                asked(),
	"eth_chainId":                     constant(),
	"net_version":                     constant(),
	"net_listening":                   asked(),
	"net_peerCount":                   asked(),
	"web3_clientVersion":              asked(),
	"web3_sha3":                       constant(),
	"eth_sendRawTransaction":          {Kind: Send, Block: None},
	"eth_sendRawTransactionSync":      {Kind: Other, Block: None},
	"eth_newFilter":                   sticky(),
	"eth_newBlockFilter":              sticky(),
	"eth_getFilterChanges":            sticky(),
	"eth_getFilterLogs":               sticky(),
	"eth_uninstallFilter":             sticky(),
	"eth_newPendingTransactionFilter": sticky(),
}
