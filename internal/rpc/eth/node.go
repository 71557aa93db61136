package eth

import (
	"context"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
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
	// WideLogs answers log queries that span more than LogBlocks, unless it is nil. Returns
	// NotFound for a range that it can't answer.
	WideLogs nodegate.Node
}

// Node checks and shapes the calls of one network.
type Node struct {
	next    nodegate.Node
	cfg     Config
	methods map[string]entry
}

// handler answers one of the methods with rules of their own.
type handler func(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error)

// handlers are the methods with rules of their own. It is read and never written.
var handlers = map[string]handler{
	method.EthGetStorageAt:                      getStorageAt,
	method.EthGetProof:                          getProof,
	method.EthGetTransactionByHash:              getTransactionByHash,
	method.EthGetTransactionByBlockHashAndIndex: getTransactionByBlockHashAndIndex,
	method.EthGetTransactionReceipt:             getTransactionReceipt,
	method.EthGetBlockReceipts:                  getBlockReceipts,
	method.EthCall:                              ethCall,
	method.EthEstimateGas:                       estimateGas,
	method.Layer2EstimateGas:                    layer2EstimateGas,
	method.EthGetLogs:                           getLogs,
	method.EthNewFilter:                         newFilter,
	method.EthGetFilterLogs:                     getFilterLogs,
	method.EthCreateAccessList:                  createAccessList,
	method.EthAccounts:                          accounts,
}

// entry is a handler and the row of the method that it answers.
type entry struct {
	row    *method.Row
	answer handler
}

// New puts the rules of a network over its node.
func New(next nodegate.Node, cfg Config) *Node {
	if cfg.Remote {
		next = remote{next}
	}
	n := &Node{next: next, cfg: cfg, methods: map[string]entry{}}
	for name, answer := range handlers {
		row := method.Of(name)
		if row.Layer2() && !cfg.Layer2 {
			continue
		}
		n.methods[name] = entry{row, answer}
		if alias := row.Alias(cfg.Alias); alias != "" {
			n.methods[alias] = entry{row, answer}
		}
	}
	return n
}

// Call answers a method the network offers.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	result, err := n.call(ctx, name, params)
	return result, inPlainWords(err)
}

func (n *Node) call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if err := checkValues(params); err != nil {
		return nil, err
	}
	if m, ok := n.methods[name]; ok {
		return m.answer(ctx, n, m.row, params)
	}
	if !method.Offered(name, n.cfg.Namespaces) && !n.develops(ctx, name) {
		return nil, n.notOffered(name)
	}
	return n.passOn(ctx, name, params)
}

// Head is the node's.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) { return n.next.Head(ctx) }

// Subscribe passes a subscription on where the node below can push events.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
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
	return inPlainWords(rpc.Subscribe(ctx, n.next, canonical, take))
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
	out, ok := compactJSON(params)
	if !ok {
		return nil, invalid("an object in the parameters has the same member twice")
	}
	return out, nil
}

// develops tells whether a call has a method by the scope of its key. Only embedded
// networks have such methods.
func (n *Node) develops(ctx context.Context, name string) bool {
	return !n.cfg.Remote && method.OfferedToDevelopers(name) && nodegate.GrantFrom(ctx).Develops()
}

// notOffered tells users of an embedded network which methods a scope would give them.
func (n *Node) notOffered(name string) error {
	err := notFound(name)
	if !n.cfg.Remote && method.Of(name).Development {
		err.Msg += ": it needs an API key with the scope development, which an operator grants to its account"
	}
	return err
}

// accounts is empty, because there are no keys of users on the server. Whoever develops
// gets the accounts that an embedded chain sends from.
func accounts(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	var a args
	if err := a.split(params, row.MaxParams()); err != nil {
		return nil, err
	}
	if !n.cfg.Remote && nodegate.GrantFrom(ctx).Develops() {
		return n.next.Call(ctx, row.Name, nil)
	}
	return []byte("[]"), nil
}
