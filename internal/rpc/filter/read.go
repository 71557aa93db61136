package filter

import (
	"context"
	"strings"
	"sync"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// block is a block and the one before it.
type block struct {
	point
	parent string
}

// block asks for the block of a number.
func (n *Node) block(ctx context.Context, number uint64) (block, error) {
	raw, err := n.next.Call(ctx, method.EthGetBlockByNumber, []byte("["+hexjson.Number(number)+",false]"))
	if err != nil {
		return block{}, err
	}
	b := block{point: point{Number: number}}
	jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "hash":
			b.Hash = strings.ToLower(string(value))
		case "parentHash":
			b.parent = strings.ToLower(string(value))
		}
		return true
	})
	if !hexjson.IsHash([]byte(b.Hash)) {
		return block{}, errMoved
	}
	return b, nil
}

// knows tells whether the node has a block.
func (n *Node) knows(ctx context.Context, p point) (bool, error) {
	raw, err := n.next.Call(ctx, method.EthGetBlockByHash, []byte("["+p.Hash+",false]"))
	return err == nil && string(raw) != "null", err
}

// readers is how many blocks are asked for at once.
const readers = 8

// blocksBetween returns the hashes of the blocks after base up to top.
func (n *Node) blocksBetween(ctx context.Context, _ *record, base point, top block) ([][]byte, error) {
	if top.Number <= base.Number {
		return nil, nil
	}
	found := make([]block, top.Number-base.Number)
	errs := make([]error, len(found))
	var all sync.WaitGroup
	for first := range min(readers, len(found)) {
		all.Go(func() {
			for i := first; i < len(found); i += readers {
				found[i], errs[i] = n.block(ctx, base.Number+1+uint64(i))
			}
		})
	}
	all.Wait()
	var events [][]byte
	parent := base.Hash
	for i := range found {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if found[i].parent != parent {
			return nil, errMoved
		}
		parent = found[i].Hash
		events = append(events, []byte(parent))
	}
	return events, nil
}

// logEntry is one log and its block.
type logEntry struct {
	raw   []byte
	block point
}

// logsBetween returns what changed in the logs after base: those that a reorg took
// back, and those that the owner has not got.
func (n *Node) logsBetween(ctx context.Context, r *record, base point, top block) ([][]byte, error) {
	found, err := n.logs(ctx, r, base.Number+1, top.Number)
	if err != nil {
		return nil, err
	}
	onChain, had := map[string]bool{}, map[string]bool{}
	for _, l := range found {
		onChain[l.block.Hash] = true
	}
	var events [][]byte
	for _, s := range r.takeBack(base, onChain) {
		gone, err := n.removed(ctx, r, s)
		if err != nil {
			return nil, err
		}
		events = append(events, gone...)
	}
	for _, s := range r.Sent {
		had[s.Hash] = true
	}
	var fresh []logEntry
	for _, l := range found {
		if !had[l.block.Hash] {
			fresh, events = append(fresh, l), append(events, l.raw)
		}
	}
	r.remember(fresh)
	return events, nil
}

// removed are the logs of a block that left the chain, the last one first as in Geth.
func (n *Node) removed(ctx context.Context, r *record, s sent) (events [][]byte, err error) {
	list := make([][]byte, len(s.Logs))
	for i := range s.Logs {
		list[i] = s.Logs[i]
	}
	if len(list) == 0 {
		raw, err := n.next.Call(ctx, method.EthGetLogs, []byte(`[{"blockHash":`+s.Hash+r.Match+"}]"))
		if err != nil {
			return nil, err
		}
		list, _ = jsonrpc.Elements(nil, raw)
	}
	for _, l := range list {
		events = append(events, rpc.Removed(l))
	}
	return events, nil
}

// logs asks for the logs of a range of blocks, as far as the filter is about them.
func (n *Node) logs(ctx context.Context, r *record, from, to uint64) ([]logEntry, error) {
	from, to = max(from, r.From), min(to, r.To)
	if from > to {
		return nil, nil
	}
	query := `[{"fromBlock":` + hexjson.Number(from) + `,"toBlock":` + hexjson.Number(to) + r.Match + "}]"
	raw, err := n.next.Call(ctx, method.EthGetLogs, []byte(query))
	if err != nil {
		return nil, err
	}
	list, _ := jsonrpc.Elements(nil, raw)
	found := make([]logEntry, len(list))
	for i, l := range list {
		found[i] = logEntry{raw: l, block: blockOf(l)}
	}
	return found, nil
}

// blockOf is the block that a log names.
func blockOf(log []byte) (p point) {
	jsonrpc.Fields(log, func(name, value []byte) bool {
		switch string(name) {
		case "blockHash":
			p.Hash = strings.ToLower(string(value))
		case "blockNumber":
			p.Number, _ = hexjson.Quantity(value)
		}
		return true
	})
	return p
}
