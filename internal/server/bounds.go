package server

import (
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/edge"
)

// boundsOf are the bounds of what accounts have open.
func boundsOf(l *config.Limits) edge.Bounds {
	return edge.Bounds{
		SocketsPerAccount: l.SocketsPerAccount, SubscriptionsPerAccount: l.SubsPerAccount, CallsPerAccount: l.CallsPerAccount,
		BodyRate: int64(l.BodyRate),
		Sockets:  l.Sockets, Subscriptions: l.Subscriptions,
	}
}
