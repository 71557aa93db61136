package eth

import (
	"context"
	"slices"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Config is how one network presents itself.
type Config struct {
	Dialect       Dialect
	Remote        bool              // the node below is a network of other clients' nodes
	HistoryWindow map[string]uint64 // by method: how many of the latest blocks are served
	Layer2        bool              // the node below answers layer2_estimateGas
	Alias         string            // a brand's prefix for it, such as linea
	Namespaces    []string          // namespaces beyond eth, net and web3
	LogBlocks     uint64            // most blocks one log query spans
	LogResults    int               // most logs one query returns
}

// Node checks and shapes the calls of one network.
type Node struct {
	next    nodegate.Node
	cfg     Config
	methods map[string]method
}

// method answers one of the methods with rules of their own.
type method func(ctx context.Context, n *Node, name string, params []byte) ([]byte, error)

// New puts the rules of a network over its node.
func New(next nodegate.Node, cfg Config) *Node {
	if cfg.Remote {
		next = remote{next}
	}
	n := &Node{next: next, cfg: cfg, methods: map[string]method{
		"eth_getStorageAt":                      getStorageAt,
		"eth_getProof":                          getProof,
		"eth_getTransactionByHash":              getTransactionByHash,
		"eth_getTransactionByBlockHashAndIndex": getTransactionByBlockHashAndIndex,
		"eth_getTransactionReceipt":             getTransactionReceipt,
		"eth_getBlockReceipts":                  getBlockReceipts,
		"eth_call":                              ethCall,
		"eth_estimateGas":                       estimateGas,
		"eth_getLogs":                           getLogs,
		"eth_newFilter":                         newFilter,
		"eth_getFilterLogs":                     getFilterLogs,
		"eth_createAccessList":                  createAccessList,
		"eth_accounts":                          accounts,
	}}
	if cfg.Layer2 {
		n.methods[layer2Method] = layer2EstimateGas
		if cfg.Alias != "" {
			n.methods[cfg.Alias+"_estimateGas"] = layer2EstimateGas
		}
	}
	return n
}

// Call answers a method the network offers.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if err := checkValues(params); err != nil {
		return nil, err
	}
	if m, ok := n.methods[name]; ok {
		return m(ctx, n, name, params)
	}
	if !n.offers(name) {
		return nil, notFound(name)
	}
	return n.passOn(ctx, name, params)
}

// Head is the node's.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) { return n.next.Head(ctx) }

// Subscribe passes a subscription on where the node below can push events.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	feed, ok := n.next.(nodegate.Feed)
	if !ok {
		return notFound("eth_subscribe")
	}
	var a args
	if err := a.split(params, len(a.store)); err != nil {
		return err
	}
	if a.at(0) == nil {
		return missing(0)
	}
	canonical, err := compact(params)
	if err != nil {
		return err
	}
	return feed.Subscribe(ctx, canonical, take)
}

// passOn forwards a method without rules of its own.
func (n *Node) passOn(ctx context.Context, name string, params []byte) ([]byte, error) {
	if err := checkArity(name, params); err != nil {
		return nil, err
	}
	canonical, err := compact(params)
	if err != nil {
		return nil, err
	}
	result, err := n.next.Call(ctx, name, canonical)
	if err != nil {
		return nil, err
	}
	return n.cfg.Dialect.beyond(name, canonical, result), nil
}

// compact rewrites parameters so that every decoder reads them alike.
func compact(params []byte) ([]byte, error) {
	if params == nil {
		return nil, nil
	}
	out, ok := jsonrpc.Compact(make([]byte, 0, len(params)), params)
	if !ok {
		return nil, invalid("an object in the parameters has the same member twice")
	}
	return out, nil
}

// needsKey are the methods that sign on the server. It holds no keys.
var needsKey = []string{"eth_sendTransaction", "eth_resend"}

// offers reports whether a method may reach the node. What signs never does.
func (n *Node) offers(name string) bool {
	space, rest, ok := strings.Cut(name, "_")
	switch {
	case !ok || rest == "" || !plainName(name):
		return false
	case space == "eth":
		return !strings.HasPrefix(name, "eth_sign") && !slices.Contains(needsKey, name)
	case space == "net" || space == "web3":
		return true
	case space == "debug" && !slices.Contains(debugReads, name):
		return false
	}
	return slices.Contains(n.cfg.Namespaces, space)
}

// plainName keeps names that no method has from nodes: who knows what they read into
// a quote or a control character.
func plainName(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// debugReads are the methods of the debug namespace that look and don't touch.
// The others write or read files on the server, or rewind its chain.
var debugReads = []string{
	"debug_traceTransaction", "debug_traceCall", "debug_traceBlock", "debug_traceBlockByNumber", "debug_traceBlockByHash",
	"debug_getRawBlock", "debug_getRawHeader", "debug_getRawReceipts", "debug_getRawTransaction", "debug_storageRangeAt",
}

// accounts is always empty: there are no keys on the server.
func accounts(_ context.Context, _ *Node, _ string, params []byte) ([]byte, error) {
	var a args
	if err := a.split(params, 0); err != nil {
		return nil, err
	}
	return []byte("[]"), nil
}

// Methods lists the names that metrics count one by one: the nine and what
// wallets and libraries ask for all the time.
func Methods() []string {
	return []string{
		"eth_getStorageAt", "eth_getProof", "eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex",
		"eth_getTransactionReceipt", "eth_getBlockReceipts", "eth_call", "eth_estimateGas", layer2Method,
		"eth_chainId", "eth_blockNumber", "net_version", "eth_getBlockByNumber", "eth_getBlockByHash",
		"eth_getBalance", "eth_getCode", "eth_getTransactionCount", "eth_sendRawTransaction", "eth_gasPrice",
		"eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_getLogs", "eth_syncing", "eth_accounts",
		"eth_createAccessList", "eth_simulateV1", "eth_blobBaseFee", "eth_newFilter", "eth_newBlockFilter",
		"eth_newPendingTransactionFilter", "eth_getFilterChanges", "eth_getFilterLogs", "eth_uninstallFilter",
		"eth_subscribe", "eth_unsubscribe", "web3_clientVersion", "web3_sha3", "net_listening", "net_peerCount",
	}
}
