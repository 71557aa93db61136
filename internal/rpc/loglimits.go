package rpc

import (
	"context"

	"github.com/nodegate/nodegate"
)

// LogBlocks is how many blocks a log query may span: what the caller's plan says, or else most.
func LogBlocks(ctx context.Context, most uint64) uint64 {
	if p := nodegate.GrantFrom(ctx).Plan(); p != nil && p.LogBlocks > 0 {
		return uint64(p.LogBlocks)
	}
	return most
}

// LogResults is how many logs it may find, in the same way.
func LogResults(ctx context.Context, most int) int {
	if p := nodegate.GrantFrom(ctx).Plan(); p != nil && p.LogResults > 0 {
		return int(p.LogResults)
	}
	return most
}
