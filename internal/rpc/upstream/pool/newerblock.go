package pool

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// How long an answer waits for the head that it is ahead of, and how often the node is
// asked for it. A provider's address may hide several nodes of which some are behind.
const (
	aheadWait  = 2 * time.Second
	aheadPause = 50 * time.Millisecond
)

var errAhead = errors.New("the node's answer names a block that is not the chain's head yet")

// keepUp holds an answer back until clients may know of the block that it names. Whoever
// has the receipt of a transaction then sees its effects at `latest`: a node is looked at
// only now and then, and may have come further since.
func (a *asker) keepUp(ctx context.Context, n *node, q *query, o *outcome) {
	number := q.names(o.result)
	if number <= a.judge.heads.Number() {
		return
	}
	end := time.Now().Add(aheadWait)
	for a.lookAhead(ctx, n, number); number > a.judge.heads.Number(); a.lookAhead(ctx, n, number) {
		changed := a.judge.heads.Changes()
		if number <= a.judge.heads.Number() {
			return
		}
		if ctx.Err() != nil || time.Now().After(end) {
			o.result, o.err, o.verdict = nil, &client.Fault{Sent: true, Err: errAhead}, stale
			return
		}
		select {
		case <-changed:
		case <-time.After(aheadPause):
		case <-ctx.Done():
		}
	}
}

// lookAhead asks a node for its head, one call at a time. Whoever comes while another
// call asks waits for what that finds, not for a node that hangs.
func (a *asker) lookAhead(ctx context.Context, n *node, number uint64) {
	if !n.looking.TryLock() {
		return
	}
	defer n.looking.Unlock()
	if number <= a.judge.heads.Number() {
		return
	}
	a.lookHead(ctx, n)
}

// lookHead asks a node for its head. Whether it answers is the health check's concern.
func (a *asker) lookHead(ctx context.Context, n *node) {
	raw, err := a.look(ctx, n, method.EthGetBlockByNumber, `["latest",false]`)
	if err != nil {
		return
	}
	if head, ok := heads.Read(raw); ok && n.Checked.Load() && a.vouch(n, method.EthGetBlockByNumber, raw) == nil {
		a.judge.heads.Report(&n.Node, head)
	}
}

// names is the newest block that an answer names, or 0.
func (q *query) names(result []byte) uint64 {
	switch q.info.Answer {
	case method.BlockAnswer, method.HeaderAnswer:
		if q.tagged {
			return 0 // the tag means a block that clients know of
		}
		number, _ := hexjson.Quantity(member(result, "number"))
		return number
	case method.TransactionAnswer, method.ReceiptAnswer, method.AtHashAnswer, method.AtNumberAnswer:
		return numberAt(result, bytes.Index(result, []byte(blockNumber))) // all in it name the same block
	case method.ReceiptsAnswer, method.LogsAnswer:
		return numberAt(result, bytes.LastIndex(result, []byte(blockNumber))) // lists are in the order of blocks
	}
	return 0
}

const blockNumber = `"blockNumber"`

// numberAt is the value of the blockNumber at a place in an answer. Searching for the first is
// many times as fast as for the last.
func numberAt(result []byte, i int) uint64 {
	if i < 0 {
		return 0
	}
	rest := bytes.TrimLeft(result[i+len(blockNumber):], ": \t\r\n")
	end := bytes.IndexAny(rest, ",} \t\r\n")
	if end < 0 {
		return 0
	}
	number, _ := hexjson.Quantity(rest[:end])
	return number
}
