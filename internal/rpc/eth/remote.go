package eth

import (
	"context"
	"errors"

	"github.com/nodegate/nodegate"
)

// remote makes the nodes of other clients look like one. It stands between the
// rules and a network of remote nodes: errors are worded as the contract words
// them, and the nine methods' answers, blocks and logs have the form that Geth gives
// them. What has the right form already passes as it is.
type remote struct{ next nodegate.Node }

var _ nodegate.Feed = remote{}

// Call asks the network and puts its answer, or its error, into the one form.
func (r remote) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if name == "eth_getProof" {
		return r.proof(ctx, name, params)
	}
	result, err := r.ask(ctx, name, params)
	if err != nil {
		return nil, err
	}
	return settle(name, result)
}

// ask calls the node. An error that means «there is none» is a null where the
// method looks something up.
func (r remote) ask(ctx context.Context, name string, params []byte) ([]byte, error) {
	result, err := r.next.Call(ctx, name, params)
	if err == nil {
		return result, nil
	}
	e := nodegate.AsError(err)
	if e.Code != nodegate.NodeFault {
		return nil, err
	}
	if lookups[name] && meansUnknown(e) {
		return []byte("null"), nil
	}
	return nil, explain(name, params, e)
}

// Head is the network's.
func (r remote) Head(ctx context.Context) (nodegate.Head, error) { return r.next.Head(ctx) }

// Subscribe passes a subscription on; a node's refusal is worded like any other.
func (r remote) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	const name = "eth_subscribe"
	feed, ok := r.next.(nodegate.Feed)
	if !ok {
		return notFound(name)
	}
	err := feed.Subscribe(ctx, params, take)
	if e := nodegate.AsError(err); err != nil && e.Code == nodegate.NodeFault {
		return explain(name, nil, e)
	}
	return err
}

// lookups are the methods that answer null where there is nothing.
var lookups = map[string]bool{
	"eth_getTransactionByHash": true, "eth_getTransactionByBlockHashAndIndex": true, "eth_getTransactionReceipt": true,
	"eth_getBlockReceipts": true, "eth_getBlockByNumber": true, "eth_getBlockByHash": true,
}

// settle puts an answer of the nine methods, or with blocks and logs, into the right form.
func settle(name string, result []byte) ([]byte, error) {
	var ok bool
	switch name {
	case "eth_getStorageAt":
		result, ok = storageWord(result)
	case "eth_call":
		result, ok = returned(result)
	case "eth_estimateGas":
		result, ok = fixQuantity(result)
	case "eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex":
		result, ok = orNull(result, fixTransaction)
	case "eth_getTransactionReceipt":
		result, ok = orNull(result, fixReceipt)
	case "eth_getBlockReceipts":
		result, ok = orNull(result, fixReceipts)
	case "eth_getBlockByNumber", "eth_getBlockByHash":
		result, ok = orNull(result, orAsIs(fixBlock))
	case "eth_getLogs", "eth_getFilterLogs":
		result, ok = orNull(result, orAsIs(listOf(fixLog)))
	default:
		return result, nil
	}
	if !ok {
		return nil, nonsense(name)
	}
	return result, nil
}

func orNull(result []byte, fix fixer) ([]byte, bool) {
	if isNull(result) {
		return result, true
	}
	return fix(result)
}

// nonsense reports an answer that can't be what the method gives. The client can do
// nothing about it; the log has the method, and never the node's bytes.
func nonsense(name string) error {
	return &nodegate.Error{
		Op: "eth.answer", Code: nodegate.Internal, Msg: "internal error",
		Err: errors.New("a node's answer to " + name + " has not the form of one"),
	}
}
