package rpc

import (
	"context"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// Subscribe passes a subscription on to the node below a layer.
//
// Returns MethodNotFound when that node can't push events.
func Subscribe(ctx context.Context, next nodegate.Node, params []byte, take nodegate.Take) error {
	feed, ok := next.(nodegate.Feed)
	if !ok {
		return &nodegate.Error{
			Op: "rpc.subscribe", Code: nodegate.MethodNotFound,
			Msg: "the method " + method.EthSubscribe + " does not exist/is not available",
		}
	}
	return feed.Subscribe(ctx, params, take)
}
