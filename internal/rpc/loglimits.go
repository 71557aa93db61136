package rpc

import (
	"context"

	"github.com/nodegate/nodegate"
)

// LogBlocks is how many blocks a log query may span: what the caller's plan says, or else most.
func LogBlocks(ctx context.Context, most uint64) uint64 {
	if p := planOf(ctx); p != nil && p.LogBlocks > 0 {
		return uint64(p.LogBlocks)
	}
	return most
}

// LogResults is how many logs it may find, in the same way.
func LogResults(ctx context.Context, most int) int {
	if p := planOf(ctx); p != nil && p.LogResults > 0 {
		return int(p.LogResults)
	}
	return most
}

// planOf is the plan of a client's call; nil for calls from inside the service.
func planOf(ctx context.Context) *nodegate.Plan {
	return nodegate.GrantFrom(ctx).Plan()
}
