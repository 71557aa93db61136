package unixfs

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ipld/go-ipld-prime/datamodel"

	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// largeValue is the size of a block that takes milliseconds to decode. It waits for its
// turn however little the request has worked: the work can't be divided.
const largeValue = 64 << 10

// withValue decodes a block into a builder and hands the value to use, all of it in one turn
// of the request. While it lasts, and no longer, the memory of the value is reserved: so only
// as many values are in memory as there are turns.
//
// Returns AccountBusy or Busy without memory for it now, TooLarge if the account may never
// have so much.
func (c valueCodec) withValue(ctx context.Context, b datamodel.NodeBuilder, data []byte, use func(datamodel.Node) error) (err error) {
	if len(data) > largeValue {
		fairshare.TakeTurns(ctx)
	}
	turnErr := fairshare.Do(ctx, func() {
		cost, hold := valueCost(uint64(c.code), data), budget.From(ctx)
		if err = holdValue(hold, cost); err != nil {
			return
		}
		defer hold.Shrink(cost)
		if err = c.decode(b, bytes.NewReader(data)); err != nil {
			err = failed("%s", fmt.Sprint(err))
			return
		}
		err = use(b.Build())
	})
	if turnErr != nil {
		return cancelled(turnErr)
	}
	return err
}

// holdValue reserves the memory of a value.
func holdValue(h *budget.Hold, cost int64) error {
	err := h.Grow(cost)
	if err != nil && !h.Fits(cost) {
		return tooLarge("decoding the block takes about %d MiB of memory, more than an account may use (memory.requests_per_account): split the value into several blocks", cost>>20)
	}
	return err
}

// heldBuffer collects what an encoder writes. It reserves the bytes before it grows, with the
// copy that growing makes; they stay reserved until the request ends.
type heldBuffer struct {
	bytes.Buffer
	hold *budget.Hold
}

func (b *heldBuffer) Write(p []byte) (int, error) {
	if free := b.Available(); free < len(p) {
		more := max(heldStep, b.Len(), len(p))
		if err := b.hold.Grow(2 * int64(more)); err != nil {
			return 0, err
		}
		b.Grow(more)
	}
	return b.Buffer.Write(p)
}

// encodeHeld writes a value in a codec.
func (c valueCodec) encodeHeld(ctx context.Context, v datamodel.Node) ([]byte, error) {
	out := &heldBuffer{hold: budget.From(ctx)}
	if err := c.encode(v, out); err != nil {
		return nil, failedBy(err)
	}
	return out.Bytes(), nil
}
