package eth

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// getLogs answers a log query within the limits of blocks and results.
func getLogs(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	span, err := n.logSpan(ctx, row, params)
	if err != nil {
		return nil, err
	}
	n.boundLogs(ctx)
	result, err := n.findLogs(ctx, row, params, span)
	if err != nil {
		return nil, err
	}
	if err := n.checkResults(ctx, result, span); err != nil {
		return nil, err
	}
	return result, nil
}

// boundLogs tells the layers below how many logs are enough to refuse the answer.
func (n *Node) boundLogs(ctx context.Context) {
	nodegate.TraceFrom(ctx).MostLogs = rpc.LogResults(ctx, n.cfg.LogResults) + 1
}

// findLogs asks the node below. A range that is too wide to ask nodes for is for whoever
// needs none of them.
func (n *Node) findLogs(ctx context.Context, row *method.Row, params []byte, s span) ([]byte, error) {
	tooWide := n.checkSpan(ctx, s)
	switch {
	case tooWide == nil:
		return n.passOn(ctx, row.Name, params)
	case n.cfg.WideLogs == nil:
		return nil, tooWide
	}
	canonical, err := compact(params)
	if err != nil {
		return nil, err
	}
	result, err := n.cfg.WideLogs.Call(ctx, row.Name, canonical)
	if errors.Is(err, nodegate.NotFound) {
		err = tooWide
	}
	return result, err
}

// newFilter holds a stored query to the same span of blocks.
func newFilter(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	span, err := n.logSpan(ctx, row, params)
	if err == nil {
		err = n.checkSpan(ctx, span)
	}
	if err != nil {
		return nil, err
	}
	return n.passOn(ctx, row.Name, params)
}

// getFilterLogs holds a stored query's answer to the same number of results.
func getFilterLogs(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	n.boundLogs(ctx)
	result, err := n.passOn(ctx, row.Name, params)
	if err != nil {
		return nil, err
	}
	if err := n.checkResults(ctx, result, span{}); err != nil {
		return nil, err
	}
	return result, nil
}

// filterFields are the members of a log query. Some decoders ignore case, so a
// variant of one could get past the check of its value.
var filterFields = []string{"fromBlock", "toBlock", "blockHash", "address", "topics"}

// span is the range of blocks of a query, or one block by its hash.
type span struct {
	from, to uint64
	byHash   bool
}

// logSpan reads the range of a query. A query it can't read is for the node to refuse.
func (n *Node) logSpan(ctx context.Context, row *method.Row, params []byte) (span, error) {
	var a args
	if err := a.split(params, row.MaxParams()); err != nil {
		return span{}, err
	}
	head, noHead := n.next.Head(ctx)
	if noHead != nil {
		head.Number = math.MaxUint64 // blocks that have a number are known without it
	}
	s := span{from: head.Number, to: head.Number}
	var variant string
	jsonrpc.Fields(a.at(0), func(name, value []byte) bool {
		switch string(name) {
		case "fromBlock":
			s.from = logBlock(value, head.Number)
		case "toBlock":
			s.to = logBlock(value, head.Number)
		case "blockHash":
			s.byHash = true
		default:
			variant = variantOf(name, filterFields)
		}
		return variant == ""
	})
	if variant != "" {
		return s, badArg(0, variant)
	}
	if noHead != nil && !s.byHash && (s.from == head.Number || s.to == head.Number) {
		return s, noHead
	}
	return s, nil
}

// checkSpan refuses a range that is too wide, naming one that works.
func (n *Node) checkSpan(ctx context.Context, s span) error {
	most := rpc.LogBlocks(ctx, n.cfg.LogBlocks)
	if s.byHash || s.to < s.from || s.to-s.from < most {
		return nil
	}
	return invalid("query spans more than %d blocks: try fromBlock %s, toBlock %s", most, quoted(s.from), quoted(s.from+most-1))
}

// logBlock reads one end of a range. A block beyond the head is for the node to word.
func logBlock(raw []byte, head uint64) uint64 {
	b, reason := parseBlock(raw)
	if reason != "" {
		return head
	}
	if b.text == "earliest" {
		return 0
	}
	if at, ok := number(b.text); ok && !b.byHash {
		return min(at, head)
	}
	return head
}

// checkResults refuses an answer with too many logs, naming a range that has few
// enough of them.
func (n *Node) checkResults(ctx context.Context, result []byte, s span) error {
	most := rpc.LogResults(ctx, n.cfg.LogResults)
	list, ok := jsonrpc.Elements(nil, result)
	if !ok || len(list) <= most {
		return nil
	}
	hint := "narrow it by address or topic"
	if at, ok := blockNumberIn(list[most], "blockNumber"); ok && at > s.from {
		hint = fmt.Sprintf("try fromBlock %s, toBlock %s", quoted(s.from), quoted(at-1))
	}
	return invalid("query returns more than %d results: %s", most, hint)
}
