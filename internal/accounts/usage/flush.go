package usage

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// maxBatch is the number of rows, or of figures, in one batch.
const maxBatch = 5_000

// Flush brings everything that was recorded before the call to the store. When it
// returns an error, the next flush goes on with the same batch.
//
// Returns what the store returns, or Timeout when ctx ends while another flush is
// in progress.
func (r *Recorder) Flush(ctx context.Context) error {
	select {
	case <-r.flushing:
	case <-ctx.Done():
		return nodegate.ErrTimeout("usage.flush", ctx.Err())
	}
	defer func() { r.flushing <- struct{}{} }()
	r.cells.collect(r.minute.Load())
	for {
		if r.pending == nil {
			r.pending = r.nextBatch()
		}
		if r.pending == nil {
			return nil
		}
		if err := r.offer(ctx); err != nil {
			return err
		}
	}
}

// Backlog is what the store has not taken yet: how many rows, those of the last moments
// left out, and how long the oldest have waited.
func (r *Recorder) Backlog() (rows int, age time.Duration) {
	rows = r.rows.waiting() + int(r.offered.Load())
	if since := r.since.Load(); since != 0 && rows > 0 {
		age = time.Since(time.Unix(0, since))
	}
	return rows, age
}

func (r *Recorder) nextBatch() *nodegate.UsageBatch {
	b := &nodegate.UsageBatch{Server: r.server, Number: r.number + 1}
	b.Rows, b.Figures = r.rows.take(maxBatch)
	if len(b.Rows) == 0 && len(b.Figures) == 0 {
		return nil
	}
	r.number++
	r.offered.Store(int64(len(b.Rows)))
	return b
}

// offer gives the pending batch to the store.
func (r *Recorder) offer(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := r.store.AddUsage(limited, r.pending); err != nil {
		if !r.failing {
			r.since.Store(time.Now().UnixNano())
			r.log.Warn("can't save usage: keeping it in memory and retrying", "err", err)
		}
		r.failing = true
		return err
	}
	if r.failing {
		r.log.Info("usage is saved again")
	}
	r.pending, r.failing = nil, false
	r.offered.Store(0)
	r.since.Store(0)
	r.rows.saved()
	return nil
}
