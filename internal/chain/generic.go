package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/chain/lane"
)

// genericTime bounds a call to go-ethereum's API that has no limit of its own.
const genericTime = 30 * time.Second

// heavyMethods may run for long in go-ethereum's API. They take a seat in the
// heavy lane, so that a call that the native path hands over costs its key as much.
var heavyMethods = []string{"eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1", "eth_getLogs", "eth_getFilterLogs", "eth_getProof", "debug_trace"}

// generic answers by go-ethereum's own API, in process. A call that outlasts its
// time is answered with a timeout; where go-ethereum can't be stopped, its seat is
// held until it ends.
func (n *Node) generic(ctx context.Context, method string, params []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, genericTime)
	leave := func() {}
	if heavy(method) {
		var err error
		if leave, err = n.lanes.Enter(ctx); err != nil {
			cancel()
			return nil, laneError(err)
		}
	}
	done := make(chan *memoryResponse, 1)
	go func() {
		defer cancel()
		defer leave()
		done <- n.serve(ctx, method, params)
	}()
	select {
	case response := <-done:
		return n.settle(response)
	case <-ctx.Done():
		select {
		case response := <-done: // both at once: the answer wins
			return n.settle(response)
		default:
			return nil, nodegate.ErrTimeout("chain.call", ctx.Err())
		}
	}
}

// indexing is what go-ethereum says of a transaction that it can't find yet.
const indexing = "transaction indexing is in progress"

// settle reads the answer. A chain without a block has no transactions, though
// go-ethereum believes that it has yet to index them.
func (n *Node) settle(response *memoryResponse) ([]byte, error) {
	result, err := response.outcome()
	if err != nil && n.engine.eth.BlockChain().CurrentBlock().Number.Sign() == 0 && nodegate.AsError(err).Msg == indexing {
		return []byte("null"), nil
	}
	return result, err
}

func heavy(method string) bool {
	for _, h := range heavyMethods {
		if strings.HasPrefix(method, h) {
			return true
		}
	}
	return false
}

func laneError(err error) error {
	if errors.Is(err, lane.ErrAborted) {
		return nodegate.ErrTimeout("chain.call", err)
	}
	return err
}

// serve plays one request to go-ethereum's RPC server, without a socket.
func (n *Node) serve(ctx context.Context, method string, params []byte) (w *memoryResponse) {
	w = &memoryResponse{header: http.Header{}}
	defer func() {
		if p := recover(); p != nil {
			w.crashed = p
		}
	}()
	if params == nil {
		params = []byte("[]")
	}
	name, _ := json.Marshal(method) // a string always marshals
	body := append(append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":`), name...), `,"params":`...), params...)
	body = append(body, '}')
	req := (&http.Request{
		Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(ctx)
	n.engine.rpc.ServeHTTP(w, req)
	return w
}

// memoryResponse is an http.ResponseWriter that keeps what it is given.
type memoryResponse struct {
	header  http.Header
	body    bytes.Buffer
	status  int
	crashed any
}

func (w *memoryResponse) Header() http.Header         { return w.header }
func (w *memoryResponse) WriteHeader(status int)      { w.status = status }
func (w *memoryResponse) Write(b []byte) (int, error) { return w.body.Write(b) }

// outcome reads the envelope that go-ethereum wrote.
func (w *memoryResponse) outcome() ([]byte, error) {
	var envelope struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(w.body.Bytes(), &envelope); {
	case w.crashed != nil:
		return nil, internal("go-ethereum's API crashed", w.crashed)
	case err != nil:
		return nil, internal("go-ethereum's API answered no envelope", w.body.String())
	case envelope.Error != nil:
		return nil, nodeError(envelope.Error.Code, envelope.Error.Message, envelope.Error.Data)
	case envelope.Result == nil:
		return []byte("null"), nil
	}
	return envelope.Result, nil
}

// abortPrefix starts the message of an execution that ran out of time.
const abortPrefix = "execution aborted (timeout"

// nodeError maps go-ethereum's errors to ours; their words and data stay.
func nodeError(number int, msg string, data json.RawMessage) error {
	if strings.HasPrefix(msg, abortPrefix) || msg == context.DeadlineExceeded.Error() || msg == context.Canceled.Error() {
		return nodegate.ErrTimeout("chain.call", errors.New(msg))
	}
	e := &nodegate.Error{Op: "chain.call", Code: codeOf(number), Number: number, Msg: msg, Data: data}
	if e.Code == nodegate.Internal {
		e.Msg, e.Err = "internal error", errors.New(msg)
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
