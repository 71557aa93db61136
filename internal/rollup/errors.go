package rollup

import (
	"fmt"

	"github.com/nodegate/nodegate"
)

const op = "rollup.estimate"

// badArgument blames one parameter, in Geth's words.
func badArgument(index int, err error) *nodegate.Error {
	return &nodegate.Error{
		Op: op, Code: nodegate.InvalidParams,
		Msg: fmt.Sprintf("invalid argument %d: %v", index, err),
	}
}

func badParams(msg string) *nodegate.Error {
	return &nodegate.Error{Op: op, Code: nodegate.InvalidParams, Msg: msg}
}

func refused(msg string) *nodegate.Error {
	return &nodegate.Error{Op: op, Code: nodegate.ExecutionFailed, Msg: msg}
}

func timedOut(err error) *nodegate.Error {
	return &nodegate.Error{Op: op, Code: nodegate.Timeout, Msg: "request timed out", Err: err}
}

// nodeNonsense reports an answer of the node below that can't be what it was
// asked for. The user can do nothing about it, so only the log has the detail.
func nodeNonsense(method string, err error) *nodegate.Error {
	return &nodegate.Error{
		Op: op, Code: nodegate.Internal, Msg: "internal error",
		Err: fmt.Errorf("answer to %s: %w", method, err),
	}
}
