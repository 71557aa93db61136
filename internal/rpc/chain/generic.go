package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	gethmath "github.com/ethereum/go-ethereum/common/math"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/guard"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// genericTime bounds a call to go-ethereum's API that has no limit of its own.
const genericTime = 30 * time.Second

// largeParams take longer to decode than most calls take as a whole. They wait for a seat
// in the heavy lane, whatever the method.
const largeParams = 256 << 10

// mostParams is for methods that execute nothing. go-ethereum's RPC server reads them twice,
// on goroutines of its own and at normal priority.
const mostParams = 512 << 10

// generic answers by go-ethereum's own API, in process.
func (n *Node) generic(ctx context.Context, name string, params []byte) (result []byte, err error) {
	api := n.engine.long[name]
	if api != nil && api.alone(params) {
		return n.execute(ctx, api, params)
	}
	if len(params) > mostParams {
		return nil, &nodegate.Error{Op: "chain.call", Code: nodegate.InvalidParams, Msg: fmt.Sprintf("parameters too large: at most %d bytes for %s", mostParams, name)}
	}
	ctx, cancel := context.WithTimeout(ctx, genericTime)
	defer cancel()
	longRead := api != nil && api.work == method.LongRead
	switch {
	case len(params) >= largeParams && longRead:
		err = n.lanes.RunSliced(ctx, genericTime, func(ctx context.Context, _ time.Duration) (err error) {
			result, err = n.onThisThread(ctx, api, params)
			return err
		})
		return result, laneError(err)
	case len(params) >= largeParams:
		err = n.lanes.RunHeavy(ctx, genericTime, func(ctx context.Context, _ time.Duration) (err error) {
			result, err = n.attempt(ctx, name, params, func() {})
			return err
		})
		return result, laneError(err)
	case !longRead:
		return n.attempt(ctx, name, params, func() {})
	}
	err = n.lanes.Run(ctx, genericTime, func(ctx context.Context, limit time.Duration) (err error) {
		if limit > lane.LightLimit {
			result, err = n.onThisThread(ctx, api, params)
			return err
		}
		result, err = n.brief(ctx, name, params, limit)
		return err
	})
	return result, laneError(err)
}

// What a bulk read may ask for among the others: some twenty slots, or as many blocks as
// wallets look at.
const (
	fewParams = 2 << 10
	fewBlocks = 32
)

// alone tells whether a call gets the limits of execute.go. A bulk read does if it asks for
// many slots, which takes long parameters, or for many blocks, whose number comes first.
func (m *apiMethod) alone(params []byte) bool {
	switch m.work {
	case method.LongRead, method.Submits:
		return false
	case method.BulkRead:
		return len(params) > fewParams || firstNumber(params) > fewBlocks
	}
	return true
}

// firstNumber is the first parameter, or 0 if it is no number.
func firstNumber(params []byte) uint64 {
	var list []json.RawMessage
	if json.Unmarshal(params, &list) != nil || len(list) == 0 {
		return 0
	}
	var n gethmath.HexOrDecimal64
	if json.Unmarshal(list[0], &n) != nil {
		return 0
	}
	return uint64(n)
}

// onThisThread makes an attempt that ends with its context, in the goroutine of the heavy
// lane. go-ethereum's RPC server would start one with the priority of all others.
func (n *Node) onThisThread(ctx context.Context, api *apiMethod, params []byte) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	g := guard.New(deadline, guard.Unlimited)
	g.LowPriority()
	o := api.run(noDeadline{ctx}, params, g, math.MaxInt)
	if ctx.Err() != nil {
		return nil, nodegate.ErrTimeout("chain.call", ctx.Err())
	}
	return n.settle(o.result, o.err)
}

// brief gives a call a short time. Only so many are in progress at once.
func (n *Node) brief(ctx context.Context, name string, params []byte, limit time.Duration) ([]byte, error) {
	select {
	case n.briefs <- struct{}{}:
	default:
		return nil, lane.ErrAborted
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := n.attempt(ctx, name, params, func() { <-n.briefs })
	if ctx.Err() != nil || errors.Is(err, nodegate.Timeout) {
		return nil, lane.ErrAborted
	}
	return result, err
}

// attempt plays one request. When its time is up it is answered at once, though
// go-ethereum may take a while to notice; what it answers then is not to be
// believed, since a stopped execution looks like one that ended.
func (n *Node) attempt(ctx context.Context, name string, params []byte, ended func()) ([]byte, error) {
	var result []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer ended()
		defer close(done)
		result, err = n.steady(ctx, name, params)
	}()
	select {
	case <-done:
		if ctx.Err() == nil {
			return n.settle(result, err)
		}
	case <-ctx.Done():
	}
	return nil, nodegate.ErrTimeout("chain.call", ctx.Err())
}

func laneError(err error) error {
	if errors.Is(err, lane.ErrAborted) {
		return nodegate.ErrTimeout("chain.call", err)
	}
	return err
}

// indexing is what go-ethereum says of a transaction that it can't find yet.
const indexing = "transaction indexing is in progress"

// settle reads the answer. A chain without a block has no transactions, though
// go-ethereum believes that it has yet to index them.
func (n *Node) settle(result []byte, err error) ([]byte, error) {
	if err != nil && n.engine.eth.BlockChain().CurrentBlock().Number.Sign() == 0 && nodegate.AsError(err).Msg == indexing {
		return []byte("null"), nil
	}
	return result, err
}

// steadyTries is how often a request is played that fails each time because blocks are taken
// back.
const steadyTries = 5

// steady plays a request, and again if it failed inside while blocks were taken back.
// go-ethereum looks a transaction up and then the header of its block, and crashes if the
// block has gone in between.
func (n *Node) steady(ctx context.Context, name string, params []byte) (result []byte, err error) {
	p := n.engine.producer
	for range steadyTries {
		epoch := p.epoch.Load() // before busy: a change that began since then has another one
		busy := p.busy.Load()
		result, err = n.serve(ctx, name, params).outcome()
		moved := busy || p.busy.Load() || epoch != p.epoch.Load()
		if !moved || !errors.Is(err, nodegate.Internal) || p.await() != nil {
			break
		}
	}
	if errors.Is(err, nodegate.Internal) {
		return lookUpAgain(ctx, n, name, params, result, err)
	}
	return result, err
}

// lookUpAgain answers a request that failed inside and looks up a transaction. go-ethereum
// remembers where transactions are. What a reader looks up while blocks are taken back may
// come to be remembered after all was forgotten; from then on each such request crashes.
func lookUpAgain(ctx context.Context, n *Node, name string, params, result []byte, err error) ([]byte, error) {
	switch method.Of(name).Answer {
	case method.TransactionAnswer, method.ReceiptAnswer:
	default:
		return result, err
	}
	for range steadyTries { // it may be mined between two looks
		if n.native != nil {
			if found, handled, foundErr := n.native.Answer(ctx, name, params); handled {
				return found, foundErr
			}
		}
		if !n.isMined(common.BytesToHash(firstHex(params))) {
			return []byte("null"), nil
		}
	}
	return result, err
}

// serve plays one request to go-ethereum's RPC server, without a socket.
func (n *Node) serve(ctx context.Context, name string, params []byte) (w *memoryResponse) {
	w = &memoryResponse{header: http.Header{}}
	defer func() {
		if p := recover(); p != nil {
			w.crashed = p
		}
	}()
	if len(params) == 0 {
		params = []byte("[]")
	}
	quoted, _ := json.Marshal(name) // a string always marshals
	body := append(append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":`), quoted...), `,"params":`...), params...)
	body = append(body, '}')
	req := (&http.Request{
		Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(noDeadline{ctx})
	n.engine.rpc.ServeHTTP(w, req)
	return w
}

// noDeadline hides when a context ends. go-ethereum would set a timer of its own
// by it and stop the execution a moment before we know that it was stopped.
type noDeadline struct{ context.Context }

// Deadline reports none.
func (noDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

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

// How go-ethereum words a call that ran out of time: its API and its RPC server.
const (
	abortPrefix = "execution aborted (timeout"
	timedOut    = "request timed out"
)

// nodeError maps go-ethereum's errors to ours; their words and data stay.
func nodeError(number int, msg string, data json.RawMessage) error {
	if strings.HasPrefix(msg, abortPrefix) || msg == timedOut || msg == context.DeadlineExceeded.Error() || msg == context.Canceled.Error() {
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
