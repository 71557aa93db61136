package feed

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// keptLogBytes bounds the logs of the newest blocks that are kept.
const keptLogBytes = 16 << 20

// logKeeper gets the logs of each new block, once for all readers, and keeps those of
// the newest blocks: should the chain drop such a block, its logs are sent again as
// removed.
type logKeeper struct {
	steps
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

func newLogKeeper(f *Feed) *logKeeper { return &logKeeper{steps: newSteps(f, kindLogs)} }

func (k *logKeeper) do(ctx context.Context, s step) {
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
		if ctx.Err() == nil && !errors.Is(err, errDropped) {
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
func (k *logKeeper) send(logs []logEntry, s step) {
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
				f.push(one, s.at, event)
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
func (k *logKeeper) fetch(ctx context.Context, s step, filters []*logFilter) ([]logEntry, error) {
	params := `[{"blockHash":` + s.Hash + "}]"
	if len(filters) == 1 && filters[0].canonical != "{}" {
		params = `[{"blockHash":` + s.Hash + "," + filters[0].canonical[1:] + "]"
	}
	var logs []logEntry
	err := k.persist(ctx, s, func(ctx context.Context, from *heads.Node) error {
		raw, err := k.feed.cfg.Logs(ctx, from, s.Number, params)
		if err != nil {
			return err
		}
		var ok bool
		if logs, ok = readLogs(raw, &s.Header); !ok {
			return errForeignLogs
		}
		return nil
	})
	return logs, err
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
