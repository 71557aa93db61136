package feed

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// logStep is a block that was added to the chain or taken off it.
type logStep struct {
	heads.Header
	step    uint64
	removed bool
	lead    *heads.Node // that reported the block
}

// The bounds of following logs.
const (
	maxSteps     = 2048            // that wait for their logs
	logTries     = 20              // to get the logs of a block
	keptLogBytes = 16 << 20        // of the logs of the newest blocks
	longestLogs  = 5 * time.Second // for the logs of one block
)

// logKeeper gets the logs of each new block, once for all readers, and keeps those of
// the newest blocks: should the chain drop such a block, its logs are sent again as
// removed.
type logKeeper struct {
	feed  *Feed
	steps chan logStep
	kept  []blockLogs // the oldest first
	bytes int
}

type blockLogs struct {
	hash string
	logs []logEntry
	size int
}

// logEntry is one log.
type logEntry struct {
	raw     []byte
	address string // lower-case JSON token
	topics  []string
}

func newLogKeeper(f *Feed) *logKeeper {
	return &logKeeper{feed: f, steps: make(chan logStep, maxSteps)}
}

// put queues a step, if anybody reads logs. The feed is locked.
func (k *logKeeper) put(s logStep) {
	if !k.feed.wants(kindLogs) {
		return
	}
	select {
	case k.steps <- s:
	default:
		k.feed.dropKinds(kindLogs) // the nodes are too slow: this step is lost, so no later one may follow
	}
}

func (k *logKeeper) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-k.steps:
			k.do(ctx, s)
		}
	}
}

func (k *logKeeper) do(ctx context.Context, s logStep) {
	if s.removed {
		if i := slices.IndexFunc(k.kept, func(b blockLogs) bool { return b.hash == s.Hash }); i >= 0 {
			k.send(k.kept[i].logs, s)
			k.bytes -= k.kept[i].size
			k.kept = slices.Delete(k.kept, i, i+1)
		}
		return
	}
	filters := k.filters()
	if len(filters) == 0 {
		return
	}
	logs, err := k.fetch(ctx, s, filters)
	if err != nil {
		if ctx.Err() == nil {
			k.feed.cfg.Log.Warn("no node returns the logs of a block: closing logs subscriptions", "block", s.Number, "err", err)
			k.feed.lose(ctx, kindLogs)
		}
		return
	}
	k.keep(s.Hash, logs)
	k.send(logs, s)
}

// filters are those that somebody reads.
func (k *logKeeper) filters() (list []*logFilter) {
	k.feed.mu.Lock()
	defer k.feed.mu.Unlock()
	for _, s := range k.feed.streams {
		if s.kind == kindLogs {
			list = append(list, s.filter)
		}
	}
	return list
}

// send gives logs to the readers whose filters they match.
func (k *logKeeper) send(logs []logEntry, s logStep) {
	f := k.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, entry := range logs {
		event := f.cfg.FixLog(entry.raw)
		if s.removed {
			event = rpc.Removed(event)
		}
		for _, one := range f.streams {
			if one.kind == kindLogs && one.filter.matches(&entry) {
				f.push(one, s.step, event)
			}
		}
	}
}

func (k *logKeeper) keep(hash string, logs []logEntry) {
	b := blockLogs{hash: hash, logs: logs}
	for _, l := range logs {
		b.size += len(l.raw)
	}
	k.kept, k.bytes = append(k.kept, b), k.bytes+b.size
	for len(k.kept) > keptBlocks || k.bytes > keptLogBytes && len(k.kept) > 1 {
		k.bytes -= k.kept[0].size
		k.kept = slices.Delete(k.kept, 0, 1)
	}
}

var errForeignLogs = errors.New("the node's logs are of another block than was asked")

// fetch asks for a block's logs, of the node that reported it or any that has it: with
// the filter when there is one, and all of them when there are several.
func (k *logKeeper) fetch(ctx context.Context, s logStep, filters []*logFilter) ([]logEntry, error) {
	params := `[{"blockHash":` + s.Hash + "}]"
	if len(filters) == 1 && filters[0].canonical != "{}" {
		params = `[{"blockHash":` + s.Hash + "," + filters[0].canonical[1:] + "]"
	}
	var err error
	for try := range logTries {
		var raw []byte
		if raw, err = k.ask(ctx, s, params, try == 0); err == nil {
			logs, ok := readLogs(raw, &s.Header)
			if ok {
				return logs, nil
			}
			err = errForeignLogs
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(followPause):
		}
	}
	return nil, err
}

func (k *logKeeper) ask(ctx context.Context, s logStep, params string, first bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, longestLogs)
	defer cancel()
	from := s.lead
	if !first {
		from = nil
	}
	return k.feed.cfg.Logs(ctx, from, s.Number, params)
}

// readLogs splits a block's logs and checks that they are of the block.
func readLogs(raw []byte, block *heads.Header) (list []logEntry, ok bool) {
	elements, ok := jsonrpc.Elements(nil, raw)
	if !ok {
		return nil, false
	}
	for _, e := range elements {
		entry := logEntry{raw: e}
		of, at, numbered := "", uint64(0), false
		whole := jsonrpc.Fields(e, func(name, value []byte) bool {
			switch string(name) {
			case "blockHash":
				of = string(value)
			case "blockNumber":
				at, numbered = hexjson.Quantity(value)
			case "address":
				entry.address = strings.ToLower(string(value))
			case "topics":
				entry.topics = lowerList(value)
			}
			return true
		})
		if !whole || !strings.EqualFold(of, block.Hash) || !numbered || at != block.Number {
			return nil, false
		}
		list = append(list, entry)
	}
	return list, true
}

func lowerList(raw []byte) (list []string) {
	elements, _ := jsonrpc.Elements(nil, raw)
	for _, e := range elements {
		list = append(list, strings.ToLower(string(e)))
	}
	return list
}
