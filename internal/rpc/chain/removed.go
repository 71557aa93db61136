package chain

import (
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
)

// The bounds of what subscribers are told of when blocks are taken back. Beyond them their
// subscription ends: they would miss some.
const (
	maxRemoved       = 10_000 // logs
	maxRemovedBlocks = 10_000
)

// logsAbove are the logs of the blocks above one, the newest first as in go-ethereum, marked
// as removed. It is nil and false when there are too many.
func (p developer) logsAbove(to *types.Header) (logs []*types.Log, all bool) {
	bc := p.eth.BlockChain()
	if bc.CurrentBlock().Number.Uint64() > to.Number.Uint64()+maxRemovedBlocks {
		return nil, false
	}
	for h := bc.CurrentBlock(); h != nil && h.Number.Cmp(to.Number) > 0; h = bc.GetHeaderByHash(h.ParentHash) {
		receipts := bc.GetReceiptsByHash(h.Hash())
		for i := len(receipts) - 1; i >= 0; i-- {
			for j := len(receipts[i].Logs) - 1; j >= 0; j-- {
				gone := *receipts[i].Logs[j]
				gone.Removed = true
				logs = append(logs, &gone)
			}
		}
		if len(logs) > maxRemoved {
			return nil, false
		}
	}
	return logs, true
}

// removed tells the subscribers of logs which are gone, as in a reorg. go-ethereum says
// nothing when its head is set back.
func (f *feeds) removed(logs []*types.Log, all bool) {
	f.mu.Lock()
	src := f.sources[logsSource]
	f.mu.Unlock()
	if src == nil {
		return
	}
	if !all {
		f.lose(src)
		return
	}
	select {
	case <-src.stop:
	case src.logs.gone <- core.RemovedLogsEvent{Logs: logs}:
	}
}
