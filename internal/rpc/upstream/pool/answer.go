package pool

import (
	"errors"
	"math"
	"net/http"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// verdict is what is made of an outcome.
type verdict uint8

const (
	good      verdict = iota // the caller's answer, or an error that is its business
	capped                   // more than the node allows in one log query
	missing                  // null, but another node may know more
	stale                    // the node lacks a block that others have
	pruned                   // the node no longer keeps this
	lacking                  // the node doesn't offer the method
	faulty                   // an error that is the node's, not the caller's
	oversize                 // the answer is larger than allowed
	limited                  // the node wants to be left alone for a while
	broken                   // no answer, or rubbish
	lying                    // an answer that fails a check
	cancelled                // nobody waits for it any more
)

// outcome is what came of asking one node.
type outcome struct {
	node    *node
	result  []byte
	err     error
	verdict verdict
	also    *node        // a second one that was asked meanwhile
	held    verify.Kinds // the checks that the answer passed
	doubt   *doubt       // it failed one
	unsure  bool         // the verdict is by a text that may be the caller's: what another node says decides
}

// judge decides what an outcome means.
type judge struct {
	heads    *heads.Tracker
	identity *identity
}

// of judges an outcome, and brings it into the form that fits.
func (j *judge) of(n *node, q *query, o *outcome) verdict {
	var call *client.CallError
	switch {
	case o.err == nil:
		return j.result(n, q, o)
	case errors.As(o.err, &call):
		return j.callError(n, q, o, call)
	case errors.Is(o.err, client.ErrTooLarge) && q.class != small:
		return oversize
	case errors.Is(o.err, client.ErrBusy):
		return limited
	}
	var f *client.Fault
	if errors.As(o.err, &f) && f.Status == http.StatusTooManyRequests {
		return limited
	}
	return broken
}

func (j *judge) result(n *node, q *query, o *outcome) verdict {
	if string(o.result) == "null" {
		return j.null(n, q, o)
	}
	if !j.fits(q, o.result) {
		o.result, o.err = nil, &client.Fault{Sent: true, Err: errUnasked}
		return broken
	}
	if q.numbered {
		n.history.there(q.info, q.block, n.Head.Load())
	}
	return good
}

// Answers that are JSON-RPC and nonsense all the same.
var (
	errUnasked = errors.New("the node's response is for a different request")
	errNull    = errors.New("the node returned null for a call that always has a result")
)

func (j *judge) null(n *node, q *query, o *outcome) verdict {
	switch {
	case q.info.Needs == method.State && q.class == runs, q.info.NeverNull, q.info.Truth == method.OfARange:
		o.result, o.err = nil, &client.Fault{Sent: true, Err: errNull}
		return broken
	case q.info.Needs != method.History:
		return good
	case q.numbered && q.block > j.heads.Number():
		return good
	case q.numbered && q.info.EveryBlock:
		return j.old(n, q, o)
	}
	return missing
}

// longAgo is how far below a node's head a block must be for its absence to mean
// that the node has dropped it, and not that it hasn't got it yet.
const longAgo = 64

// old decides between a node that is late and one that has dropped a block.
func (j *judge) old(n *node, q *query, o *outcome) verdict {
	head := n.Head.Load()
	if head < q.block+longAgo {
		return stale
	}
	if !o.unsure {
		n.history.gone(q.info, q.block, head)
	}
	return pruned
}

// callError decides what an error of a node means. What code of the caller may have written
// comes first, so that no reason of a revert is taken for the node's own words.
func (j *judge) callError(n *node, q *query, o *outcome, e *client.CallError) verdict {
	r, needs := newNodeError(q, e), q.info.Needs != method.Nothing
	switch {
	case r.executed():
		return good
	case r.limits():
		return limited
	case n.capped(q, r):
		return capped
	}
	o.unsure = r.unsure()
	switch {
	case r.lacksMethod():
		if !o.unsure {
			n.history.without(q.method)
		}
		return lacking
	case needs && r.prunes():
		if q.numbered && !o.unsure {
			n.history.gone(q.info, q.block, n.Head.Load())
		}
		return pruned
	case needs && r.says(staleWords) && (q.hash != nil || q.numbered && q.block <= j.heads.Number()):
		if q.numbered {
			return j.old(n, q, o)
		}
		return stale
	case callers(r):
		return good
	}
	return faulty
}

// The words with which clients and providers say what they lack.
var (
	limitWords = []string{
		"rate limit", "rate-limit", "too many requests", "request count exceeded", "compute units", "capacity exceeded", "daily request",
		"request limit reached", "quota exceeded",
	}
	prunedWords = []string{
		"missing trie node", "historical state", "state is not available", "state not available", "no state available",
		"pruned", "pruning", "world state unavailable", "archive", "state already discarded", "maximum proof window",
		"history unavailable", "history is not available", "not fully indexed", "state histories",
	}
	staleWords = []string{
		"header not found", "unknown block", "block not found", "header for hash not found", "could not find block",
		"cannot find block", "block number out of range", "unknown header", "requested block", "block is not available",
	}
)

func contains(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// fits checks that a result has the form that was asked for. What it says is checked after
// that: see check.
func (j *judge) fits(q *query, result []byte) bool {
	switch q.info.Answer {
	case method.ChainIDAnswer:
		id, ok := hexjson.Quantity(result)
		return ok && j.identity.is(id)
	case method.BlockAnswer, method.HeaderAnswer, method.TransactionAnswer, method.AtHashAnswer, method.AtNumberAnswer, method.ReceiptAnswer,
		method.ProofAnswer, method.ObjectAnswer:
		return result[0] == '{'
	case method.ReceiptsAnswer, method.RawReceiptsAnswer, method.LogsAnswer:
		return result[0] == '['
	case method.RawTransactionAnswer, method.RawAtAnswer, method.RawHeaderAnswer, method.RawBlockAnswer, method.HexAnswer, method.CountAnswer, method.UncleCountAnswer, method.WordAnswer, method.ReturnAnswer, method.GasAnswer:
		return hexjson.IsData(result)
	}
	return true
}

// exact tells whether the block was given by its number, and so is in the answer.
func (q *query) exact() bool { return q.numbered && !q.tagged }

// member is the raw value of an object's member, or nil.
func member(object []byte, name string) (found []byte) {
	jsonrpc.Fields(object, func(n, value []byte) bool {
		if string(n) == name {
			found = value
			return false
		}
		return true
	})
	return found
}

// callerError is a node's JSON-RPC error for the layers above: bounded, and with
// nothing in it that could break a line or an envelope.
func callerError(e *client.CallError) *nodegate.Error {
	const mostText, mostData = 4 << 10, 1 << 20
	out := &nodegate.Error{Op: "upstream.call", Code: nodegate.NodeFault, Number: e.Code, Msg: client.Printable(e.Message, mostText)}
	if e.Code == 0 || e.Code > math.MaxInt32 || e.Code < math.MinInt32 {
		out.Number = -32000
	}
	if len(e.Data) > 0 && len(e.Data) <= mostData {
		out.Data = e.Data
	}
	return out
}
