package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// largeSend is how many bytes of parameters make a transaction a large one. To read, hash and
// check it takes longer than most calls take as a whole: it waits for a seat in the heavy lane
// and has low priority.
const largeSend = 16 << 10

// submitter gives transactions to the pool of a chain.
type submitter struct {
	n    *Node
	seat func(ctx context.Context, work func(context.Context) error) error // works in the heavy lane
}

func newSubmitter(n *Node) submitter {
	return submitter{n, func(ctx context.Context, work func(context.Context) error) error {
		return n.lanes.RunHeavy(ctx, genericTime, func(ctx context.Context, _ time.Duration) error { return work(ctx) })
	}}
}

// submit reads a transaction and gives it to the pool. The transaction is nil where the
// parameters hold none, and then go-ethereum has said what is wrong with them. raw is the
// transaction as the pool has it.
func (s submitter) submit(ctx context.Context, params []byte) (tx *types.Transaction, raw, result []byte, err error) {
	if len(params) < largeSend {
		if tx, raw, err = rawTransaction(params); err == nil {
			s.n.growth.expect(ctx, tx)
			result, err = s.n.ask(ctx, method.EthSendRawTransaction, params)
		}
		return tx, raw, result, err
	}
	ctx, cancel := context.WithTimeout(ctx, genericTime)
	defer cancel()
	defer context.AfterFunc(s.n.engine.producer.life, cancel)()
	chain := s.n.engine.eth.BlockChain()
	err = s.seat(ctx, func(ctx context.Context) (err error) {
		if tx, raw, err = s.screened(params); err != nil || wantsProofs(chain, tx) {
			return err
		}
		s.n.growth.expect(ctx, tx)
		result, err = s.handOver(ctx, params)
		return err
	})
	if err == nil && wantsProofs(chain, tx) {
		raw, result, err = s.submitProven(ctx, tx)
	}
	return tx, raw, result, laneError(err)
}

// screened reads a large transaction, and refuses one that the pool would refuse after much
// work.
func (s submitter) screened(params []byte) (tx *types.Transaction, raw []byte, err error) {
	if tx, raw, err = rawTransaction(params); err != nil || tx == nil {
		return nil, nil, err
	}
	if err := screenBlobs(s.n.engine.eth, tx); err != nil {
		return tx, raw, apiError(err)
	}
	return tx, raw, nil
}

// handOver gives parameters to go-ethereum, on this thread.
func (s submitter) handOver(ctx context.Context, params []byte) ([]byte, error) {
	return s.n.onThisThread(ctx, s.n.engine.long[method.EthSendRawTransaction], params)
}

// submitProven submits a transaction with blobs in the old form, with the proofs of the new one.
func (s submitter) submitProven(ctx context.Context, tx *types.Transaction) (raw, result []byte, err error) {
	if tx, err = s.withProofs(ctx, tx); err != nil {
		return nil, nil, err
	}
	if raw, err = tx.MarshalBinary(); err != nil {
		return nil, nil, err
	}
	s.n.growth.expect(ctx, tx)
	err = s.seat(ctx, func(ctx context.Context) (err error) {
		result, err = s.handOver(ctx, []byte(`["`+hexutil.Encode(raw)+`"]`))
		return err
	})
	return raw, result, err
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
	pause := firstPause
	for end := time.Now().Add(timeout); time.Now().Before(end); pause = longer(pause) {
		receipt, err := s.n.Call(ctx, method.EthGetTransactionReceipt, question)
		if err != nil || string(receipt) != "null" {
			return receipt, err
		}
		select {
		case <-time.After(min(pause, time.Until(end))):
		case <-ctx.Done():
			return nil, nodegate.ErrTimeout("chain.send", ctx.Err())
		}
	}
	return nil, nodeError(syncTimeout, fmt.Sprintf("The transaction was added to the transaction pool but wasn't processed in %v", timeout), hash)
}

// syncTimeout is what go-ethereum answers when a transaction is not mined in time.
const syncTimeout = 4

// How often await looks: soon at first, then less and less often, as one account can wait for
// many transactions that are never mined.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

func longer(pause time.Duration) time.Duration { return min(pause*3/2, lastPause) }

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
