package unixfs

import (
	"errors"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
)

// TestHoldBlocks: an upload that never fits in the account's memory is too large; one that
// would fit if the account's other requests were gone is to come again.
func TestHoldBlocks(t *testing.T) {
	const step = blockStep * blockCost
	b := budget.New(budget.Config{Process: 100 * step, Account: 3 * step})
	upload := b.Hold("a")
	var err error
	blocks := blockStep
	for ; err == nil && blocks < 100*blockStep; blocks += blockStep {
		err = holdBlocks(&upload, blocks)
	}
	if !errors.Is(err, nodegate.TooLarge) {
		t.Errorf("an upload alone: %v after %d blocks, want TooLarge", err, blocks)
	}
	upload.Release()

	other := b.Hold("a")
	if err := other.Grow(3 * step); err != nil {
		t.Fatal(err)
	}
	if err := holdBlocks(&upload, blockStep); !errors.Is(err, nodegate.AccountBusy) {
		t.Errorf("an upload beside another: %v, want AccountBusy", err)
	}
}
