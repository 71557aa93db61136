package chain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate"
)

// generic answers by go-ethereum's own API, in process.
func (n *Node) generic(ctx context.Context, method string, params []byte) ([]byte, error) {
	args, err := rawArgs(params)
	if err != nil {
		return nil, err
	}
	var result json.RawMessage
	if err := n.client.CallContext(ctx, &result, method, args...); err != nil {
		return nil, nodeError(err)
	}
	if result == nil {
		return []byte("null"), nil
	}
	return result, nil
}

// rawArgs splits the parameters; go-ethereum checks each against its own types.
func rawArgs(params []byte) ([]any, error) {
	if len(params) == 0 {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(params, &list); err != nil {
		return nil, &nodegate.Error{Op: "chain.call", Code: nodegate.InvalidParams, Msg: "non-array args", Err: err}
	}
	args := make([]any, len(list))
	for i := range list {
		args[i] = list[i]
	}
	return args, nil
}

// abortPrefix starts the message of an execution that ran out of time.
const abortPrefix = "execution aborted (timeout"

// nodeError maps go-ethereum's errors to ours; their words and data stay.
func nodeError(err error) error {
	e := &nodegate.Error{Op: "chain.call", Msg: err.Error()}
	var coded rpc.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), strings.HasPrefix(err.Error(), abortPrefix):
		return nodegate.ErrTimeout("chain.call", err)
	case errors.As(err, &coded):
		e.Code, e.Number = codeOf(coded.ErrorCode()), coded.ErrorCode()
	default:
		return &nodegate.Error{Op: "chain.call", Code: nodegate.Internal, Msg: "internal error", Err: err}
	}
	var detailed rpc.DataError
	if errors.As(err, &detailed) && detailed.ErrorData() != nil {
		e.Data, _ = json.Marshal(detailed.ErrorData())
	}
	return e
}

func codeOf(number int) nodegate.Code {
	switch number {
	case 3:
		return nodegate.Reverted
	case -32000:
		return nodegate.ExecutionFailed
	case -32601:
		return nodegate.MethodNotFound
	case -32602:
		return nodegate.InvalidParams
	case -32603:
		return nodegate.Internal
	}
	return nodegate.NodeFault
}
