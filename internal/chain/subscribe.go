package chain

import (
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/rpc"
)

// feedBuffer is how many events wait for a reader before the subscription ends.
// go-ethereum keeps as many again on its side.
const feedBuffer = 256

// Subscribe starts one of go-ethereum's subscriptions: newHeads, logs,
// newPendingTransactions, transactionReceipts or syncing.
func (n *Node) Subscribe(ctx context.Context, params []byte) (<-chan []byte, error) {
	args, err := rawArgs(params)
	if err != nil {
		return nil, err
	}
	events := make(chan json.RawMessage, feedBuffer)
	sub, err := n.client.EthSubscribe(ctx, events, args...)
	if err != nil {
		return nil, subscribeError(err)
	}
	out := make(chan []byte)
	go forward(ctx, sub, events, out)
	return out, nil
}

// forward passes events on until the reader leaves or the node ends the
// subscription because the reader is too slow.
func forward(ctx context.Context, sub *rpc.ClientSubscription, events <-chan json.RawMessage, out chan<- []byte) {
	defer close(out)
	defer sub.Unsubscribe()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sub.Err():
			return
		case ev := <-events:
			select {
			case out <- ev:
			case <-ctx.Done():
				return
			}
		}
	}
}
