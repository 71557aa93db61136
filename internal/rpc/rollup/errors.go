package rollup

import (
	"errors"
	"fmt"
	"strings"

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

// lacksMethod tells whether an error says that the nodes don't offer a method, by its
// number or in the words of clients and providers.
func lacksMethod(err error) bool {
	const notFound, notEnabled = -32601, -32604 // the latter is Besu's
	var e *nodegate.Error
	if !errors.As(err, &e) {
		return false
	}
	if e.Code == nodegate.MethodNotFound || e.Number == notFound || e.Number == notEnabled {
		return true
	}
	text := strings.ToLower(e.Msg)
	return strings.Contains(text, "unsupported method") || strings.Contains(text, "method not found") || strings.Contains(text, "method not supported")
}
