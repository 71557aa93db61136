package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// largeSend is how many bytes of parameters make a transaction a large one. To read, hash and
// check it takes longer than most calls take as a whole: it waits for a seat in the heavy lane
// and has low priority.
const largeSend = 16 << 10

// submitter gives transactions to the pool of a chain.
type submitter struct{ n *Node }

// submit reads a transaction and gives it to the pool. The transaction is nil where the
// parameters hold none, and then go-ethereum has said what is wrong with them.
func (s submitter) submit(ctx context.Context, params []byte) (tx *types.Transaction, raw, result []byte, err error) {
	if len(params) < largeSend {
		if tx, raw, err = rawTransaction(params); err == nil {
			result, err = s.n.ask(ctx, method.EthSendRawTransaction, params)
		}
		return tx, raw, result, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.n.engine.producer.life, cancel)()
	err = s.n.lanes.RunHeavy(ctx, genericTime, func(ctx context.Context, _ time.Duration) (err error) {
		tx, raw, result, err = s.here(ctx, params)
		return err
	})
	return tx, raw, result, laneError(err)
}

// here is submit for a large transaction, on this thread.
func (s submitter) here(ctx context.Context, params []byte) (tx *types.Transaction, raw, result []byte, err error) {
	if tx, raw, err = rawTransaction(params); err != nil {
		return nil, nil, nil, err
	}
	if tx != nil {
		if err := screenBlobs(s.n.engine.eth, tx); err != nil {
			return tx, raw, nil, apiError(err)
		}
	}
	result, err = s.n.onThisThread(ctx, s.n.engine.long[method.EthSendRawTransaction], params)
	return tx, raw, result, err
}

// await submits a large transaction and waits for its receipt as go-ethereum's
// eth_sendRawTransactionSync does, which would keep the seat meanwhile.
func (s submitter) await(ctx context.Context, params []byte) ([]byte, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(params, &list); err != nil || len(list) == 0 || len(list) > 2 {
		return s.n.ask(ctx, method.EthSendRawTransactionSync, params) // says what is wrong
	}
	timeout, err := s.timeout(list[1:])
	if err != nil {
		return nil, err
	}
	hash, err := s.n.send(ctx, append(append([]byte{'['}, list[0]...), ']'))
	if err != nil {
		return nil, err
	}
	question := append(append([]byte{'['}, hash...), ']')
	for end := time.Now().Add(timeout); time.Now().Before(end); {
		receipt, err := s.n.Call(ctx, method.EthGetTransactionReceipt, question)
		if err != nil || string(receipt) != "null" {
			return receipt, err
		}
		select {
		case <-time.After(receiptPause):
		case <-ctx.Done():
			return nil, nodegate.ErrTimeout("chain.send", ctx.Err())
		}
	}
	return nil, nodeError(syncTimeout, fmt.Sprintf("The transaction was added to the transaction pool but wasn't processed in %v", timeout), hash)
}

// What go-ethereum answers when a transaction is not mined in time, and how often await looks.
const (
	syncTimeout  = 4
	receiptPause = 10 * time.Millisecond
)

// timeout reads the second parameter of eth_sendRawTransactionSync, within go-ethereum's bounds.
func (s submitter) timeout(param []json.RawMessage) (time.Duration, error) {
	backend := s.n.engine.eth.APIBackend
	var asked *uint64
	if len(param) > 0 {
		if err := json.Unmarshal(param[0], &asked); err != nil {
			return 0, &nodegate.Error{Op: "chain.send", Code: nodegate.InvalidParams, Msg: fmt.Sprintf("invalid argument 1: %v", err)}
		}
	}
	if asked == nil || *asked == 0 {
		return backend.RPCTxSyncDefaultTimeout(), nil
	}
	longest := backend.RPCTxSyncMaxTimeout()
	return min(time.Duration(min(*asked, uint64(longest/time.Millisecond)))*time.Millisecond, longest), nil
}
