package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/guard"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
)

// apiMethod is a method of go-ethereum's API that is called in a goroutine of ours.
// go-ethereum's RPC server would start one of its own, and a guard couldn't find it.
type apiMethod struct {
	fn        reflect.Value
	in        []reflect.Type // behind the context
	work      method.Work
	stoppable bool // all of what it runs ends when its context does
	scripts   bool // traces may run JavaScript of clients
	noBlobs   bool // go-ethereum would compute the proofs of blobs
	rules     *params.ChainConfig
}

// longMethods finds the methods that may take long in go-ethereum's services.
func longMethods(apis []rpc.API, scripts bool, rules *params.ChainConfig) (map[string]*apiMethod, error) {
	found := map[string]*apiMethod{}
	for _, row := range method.All() {
		if row.Work == method.Quick {
			continue
		}
		space, short, _ := strings.Cut(row.Name, "_")
		for _, api := range apis {
			fn := reflect.ValueOf(api.Service).MethodByName(strings.ToUpper(short[:1]) + short[1:])
			if api.Namespace == space && fn.IsValid() {
				found[row.Name] = newAPIMethod(fn, row.Work == method.Executes, scripts)
				found[row.Name].work, found[row.Name].noBlobs, found[row.Name].rules = row.Work, row.NoBlobs, rules
			}
		}
		if found[row.Name] == nil {
			return nil, fmt.Errorf("go-ethereum has no method %s", row.Name)
		}
	}
	return found, nil
}

// newAPIMethod describes a method of the form func(ctx, ...) (result, error).
func newAPIMethod(fn reflect.Value, stoppable, scripts bool) *apiMethod {
	m := &apiMethod{fn: fn, stoppable: stoppable, scripts: scripts}
	for i := 1; i < fn.Type().NumIn(); i++ {
		m.in = append(m.in, fn.Type().In(i))
	}
	return m
}

// returned is what a method gave back.
type returned struct {
	result []byte
	err    error
}

// run calls the method under a guard.
func (m *apiMethod) run(ctx context.Context, params []byte, g *guard.Guard, largest int) (o returned) {
	defer func() {
		if p := recover(); p != nil {
			o = returned{err: internal("go-ethereum's API crashed", p)}
		}
	}()
	o.err = g.Here(func() (err error) {
		o.result, err = m.call(ctx, params, largest)
		return err
	})
	return o
}

// call calls the method with JSON parameters and returns JSON. Bytes beyond the largest
// are left for another attempt.
func (m *apiMethod) call(ctx context.Context, params []byte, largest int) ([]byte, error) {
	args, err := m.decode(params)
	if err != nil {
		return nil, &nodegate.Error{Op: "chain.call", Code: nodegate.InvalidParams, Msg: err.Error()}
	}
	if err := cmp.Or(m.refuseBlocks(args), m.boundTraces(args), m.refuseBlobs(args)); err != nil {
		return nil, &nodegate.Error{Op: "chain.call", Code: nodegate.InvalidParams, Msg: err.Error()}
	}
	results := m.fn.Call(append([]reflect.Value{reflect.ValueOf(ctx)}, args...))
	if err, failed := results[1].Interface().(error); failed {
		return nil, apiError(err)
	}
	if b, ok := results[0].Interface().(hexutil.Bytes); ok && len(b) > largest {
		return nil, lane.ErrAborted
	}
	return encode(results[0].Interface())
}

// encode is json.Marshal. The result of a call may have megabytes, and is copied once
// instead of four times.
func encode(result any) ([]byte, error) {
	if b, ok := result.(hexutil.Bytes); ok {
		return native.QuoteHex(b), nil
	}
	return json.Marshal(result)
}

// decode reads the parameters as go-ethereum's RPC server does, with its words.
func (m *apiMethod) decode(params []byte) ([]reflect.Value, error) {
	var list []json.RawMessage
	if len(params) > 0 {
		if err := json.Unmarshal(params, &list); err != nil {
			return nil, fmt.Errorf("non-array args")
		}
	}
	if len(list) > len(m.in) {
		return nil, fmt.Errorf("too many arguments, want at most %d", len(m.in))
	}
	args := make([]reflect.Value, len(m.in))
	for i, kind := range m.in {
		value := reflect.New(kind)
		given := i < len(list) && string(list[i]) != "null"
		switch {
		case !given && kind.Kind() != reflect.Pointer:
			return nil, fmt.Errorf("missing value for required argument %d", i)
		case given:
			if err := json.Unmarshal(list[i], value.Interface()); err != nil {
				return nil, fmt.Errorf("invalid argument %d: %v", i, err)
			}
		}
		args[i] = value.Elem()
	}
	return args, nil
}

// refuseBlocks refuses blocks among the arguments that can't be executed.
func (m *apiMethod) refuseBlocks(args []reflect.Value) error {
	for i := range args {
		if raw, ok := args[i].Interface().(hexutil.Bytes); ok && m.work != method.Submits {
			if err := guard.CheckBlock(raw, m.rules); err != nil {
				return err
			}
		}
	}
	return nil
}

// boundTraces puts the guard into the configuration of a trace.
func (m *apiMethod) boundTraces(args []reflect.Value) error {
	for i := range args {
		switch c := args[i].Interface().(type) {
		case *tracers.TraceConfig:
			if c == nil {
				c = new(tracers.TraceConfig)
				args[i] = reflect.ValueOf(c)
			}
			return guard.BoundTrace(c, m.scripts)
		case *tracers.TraceCallConfig:
			if c == nil {
				c = new(tracers.TraceCallConfig)
				args[i] = reflect.ValueOf(c)
			}
			return guard.BoundTrace(&c.TraceConfig, m.scripts)
		}
	}
	return nil
}

// refuseBlobs refuses a transaction with blobs. go-ethereum would compute their commitments
// and proofs at normal priority on every core, and nothing can stop that. The type of its
// parameter is not exported.
func (m *apiMethod) refuseBlobs(args []reflect.Value) error {
	if !m.noBlobs {
		return nil
	}
	for i, arg := range args {
		if blobs := reflect.Indirect(arg).FieldByName("Blobs"); blobs.Len() > 0 {
			return fmt.Errorf("invalid argument %d: blobs are not accepted here: compute commitments and proofs in the client, "+
				"sign the transaction, and send it with %s", i, method.EthSendRawTransaction)
		}
	}
	return nil
}

// apiError maps an error of go-ethereum's API as its RPC server would send it.
func apiError(err error) error {
	number := -32000
	if coded, ok := err.(rpc.Error); ok {
		number = coded.ErrorCode()
	}
	var data json.RawMessage
	if more, ok := err.(rpc.DataError); ok {
		data, _ = json.Marshal(more.ErrorData()) // data that can't be sent is left out
	}
	return nodeError(number, err.Error(), data)
}
