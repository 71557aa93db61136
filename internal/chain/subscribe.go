package chain

import (
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/rpc"
)

// Subscribe starts one of go-ethereum's subscriptions: newHeads, logs,
// newPendingTransactions, transactionReceipts or syncing.
func (n *Node) Subscribe(ctx context.Context, params []byte, take func(event []byte)) error {
	args, err := rawArgs(params)
	if err != nil {
		return err
	}
	events := make(chan json.RawMessage)
	sub, err := n.client.EthSubscribe(ctx, events, args...)
	if err != nil {
		return subscribeError(err)
	}
	go n.forward(ctx, sub, events, take)
	return nil
}

// forward passes events on until the reader leaves or the node ends the subscription.
// An event waits until its block is on disk.
func (n *Node) forward(ctx context.Context, sub *rpc.ClientSubscription, events <-chan json.RawMessage, take func(event []byte)) {
	defer take(nil)
	defer sub.Unsubscribe()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sub.Err():
			return
		case ev := <-events:
			if n.engine.producer.await() != nil {
				return
			}
			take(ev)
		}
	}
}
