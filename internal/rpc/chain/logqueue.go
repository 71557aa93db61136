package chain

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/event"
)

// maxWaitingLogs bounds the memory of logs that wait for their readers. The largest block has
// some megabytes.
const maxWaitingLogs = 64 << 20

// logQueue holds the logs of blocks until the readers have them. The chain hands them over as
// they are, so that what no filter selects is never encoded, and never waits for a reader.
type logQueue struct {
	mined chan []*types.Log
	gone  chan core.RemovedLogsEvent

	mu      sync.Mutex
	waiting []logBatch
	bytes   int
	arrived chan struct{} // there are some
}

// logBatch is what came at once: the logs of a block.
type logBatch struct {
	step  uint64 // of the source
	logs  []*types.Log
	bytes int
}

func newLogQueue() *logQueue {
	return &logQueue{mined: make(chan []*types.Log), gone: make(chan core.RemovedLogsEvent), arrived: make(chan struct{}, 1)}
}

// subscribe begins with the next block. Both channels are read by one goroutine, and the chain
// waits until it has read, so events keep their order.
func (q *logQueue) subscribe(bc *core.BlockChain) event.Subscription {
	return event.JoinSubscriptions(bc.SubscribeLogsEvent(q.mined), bc.SubscribeRemovedLogsEvent(q.gone))
}

// put adds logs, unless too many wait already.
func (q *logQueue) put(step uint64, logs []*types.Log) (ok bool) {
	b := logBatch{step: step, logs: logs}
	for _, l := range logs {
		const entry = 256 // a log and the pointer to it
		b.bytes += entry + len(l.Data) + len(l.Topics)*common.HashLength
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes > 0 && q.bytes+b.bytes > maxWaitingLogs {
		return false
	}
	q.bytes += b.bytes
	q.waiting = append(q.waiting, b)
	select {
	case q.arrived <- struct{}{}:
	default:
	}
	return true
}

// next takes the oldest logs.
func (q *logQueue) next() (b logBatch, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return b, false
	}
	b, q.waiting = q.waiting[0], q.waiting[1:]
	q.bytes -= b.bytes
	return b, true
}
