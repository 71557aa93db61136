package eth

import (
	"context"
	"errors"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
)

// remote makes the nodes of other clients look like one. It stands between the
// rules and a network of remote nodes: errors are worded as the contract words
// them, and the nine methods' answers, blocks and logs have the form that Geth gives
// them. What has the right form already passes as it is.
type remote struct{ next nodegate.Node }

var _ nodegate.Feed = remote{}

// Call asks the network and puts its answer, or its error, into the one form.
func (r remote) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	row := method.Of(name)
	if row.Answer == method.ProofAnswer {
		return r.proof(ctx, name, params)
	}
	result, err := r.ask(ctx, name, params)
	if err != nil {
		return nil, err
	}
	trace := nodegate.TraceFrom(ctx)
	switch {
	case !row.LooksUp():
		// Several calls answered this one, and the trace is of the last of them.
		trace.Verified, trace.Agreed, trace.Checkpoint, trace.Formed = nodegate.LevelNone, 0, false, false
	case trace.Formed:
		return result, nil
	case trace.Verified == nodegate.LevelHeader && !row.ShowsHeader():
		// A block was asked for on the way, and its header is not the answer.
		trace.Verified = agreedOn(trace)
	}
	return settle(row, result)
}

// agreedOn is the level of an answer without a header that nodes gave.
func agreedOn(t *nodegate.Trace) nodegate.Level {
	if t.Agreed > 1 {
		return nodegate.LevelAgreed
	}
	return nodegate.LevelNone
}

// Form puts an answer into the form that Geth gives it, by which answers of different nodes
// are compared. Not ok is what can't be one.
func Form(row *method.Row, result []byte) ([]byte, bool) {
	formed, err := settle(row, result)
	return formed, err == nil
}

// ask calls the node. An error that means "there is none" is a null where the
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
	if looksUp(method.Of(name)) && meansUnknown(e) {
		return []byte("null"), nil
	}
	return nil, explain(name, params, e)
}

// Head is the network's.
func (r remote) Head(ctx context.Context) (nodegate.Head, error) { return r.next.Head(ctx) }

// Subscribe passes a subscription on; a node's refusal is worded like any other.
func (r remote) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	err := rpc.Subscribe(ctx, r.next, params, take)
	if e := nodegate.AsError(err); err != nil && e.Code == nodegate.NodeFault {
		return explain(method.EthSubscribe, nil, e)
	}
	return err
}

// looksUp tells whether a method answers null where there is nothing.
func looksUp(row *method.Row) bool {
	switch row.Answer {
	case method.TransactionAnswer, method.AtHashAnswer, method.ReceiptAnswer, method.ReceiptsAnswer, method.BlockAnswer:
		return true
	}
	return false
}

// settle puts an answer of the nine methods, or with blocks and logs, into the right form.
func settle(row *method.Row, result []byte) ([]byte, error) {
	var ok bool
	switch row.Answer {
	case method.WordAnswer:
		result, ok = storageWord(result)
	case method.ReturnAnswer:
		result, ok = returned(result)
	case method.GasAnswer:
		result, ok = fixQuantity(result)
	case method.TransactionAnswer, method.AtHashAnswer:
		result, ok = orNull(result, fixTransaction)
	case method.ReceiptAnswer:
		result, ok = orNull(result, fixReceipt)
	case method.ReceiptsAnswer:
		result, ok = orNull(result, fixReceipts)
	case method.BlockAnswer:
		result, ok = orNull(result, orAsIs(fixBlock))
	case method.LogsAnswer:
		result, ok = orNull(result, orAsIs(listOf(fixLog)))
	default:
		return result, nil
	}
	if !ok {
		return nil, nonsense(row.Name)
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
		Err: errors.New("a node's response to " + name + " is malformed"),
	}
}
