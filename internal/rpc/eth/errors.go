package eth

import (
	"fmt"

	"github.com/nodegate/nodegate"
)

func invalid(format string, args ...any) error {
	return &nodegate.Error{Op: "eth.params", Code: nodegate.InvalidParams, Msg: fmt.Sprintf(format, args...)}
}

func missing(i int) error { return invalid("missing value for required argument %d", i) }

func tooMany(most int) error { return invalid("too many arguments, want at most %d", most) }

func badArg(i int, reason string) error { return invalid("invalid argument %d: %s", i, reason) }

func notFound(name string) *nodegate.Error {
	return &nodegate.Error{
		Op: "eth.call", Code: nodegate.MethodNotFound,
		Msg: fmt.Sprintf("the method %s does not exist/is not available", name),
	}
}
