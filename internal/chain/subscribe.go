package chain

import (
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/rpc"
)

// feedBuffer is how many events wait for a reader before the subscription ends:
// enough for all logs of a full block.
const feedBuffer = 4096

// Subscribe starts one of go-ethereum's subscriptions: newHeads, logs,
// newPendingTransactions, transactionReceipts or syncing.
func (n *Node) Subscribe(ctx context.Context, params []byte) (<-chan []byte, error) {
	args, err := rawArgs(params)
	if err != nil {
		return nil, err
	}
	events := make(chan json.RawMessage)
	sub, err := n.client.EthSubscribe(ctx, events, args...)
	if err != nil {
		return nil, subscribeError(err)
	}
	out := make(chan []byte, feedBuffer)
	go n.forward(ctx, sub, events, out)
	return out, nil
}

// forward passes events on until the reader leaves, falls too far behind, or the
// node ends the subscription. An event waits until its block is on disk.
func (n *Node) forward(ctx context.Context, sub *rpc.ClientSubscription, events <-chan json.RawMessage, out chan<- []byte) {
	defer close(out)
	defer sub.Unsubscribe()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sub.Err():
			return
		case ev := <-events:
			n.engine.producer.await()
			select {
			case out <- ev:
			default:
				return
			}
		}
	}
}
