package pool

import (
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/logrange"
)

// query is one call and what it asks for.
type query struct {
	method string
	params []byte
	info   *method.Row
	class  class
	cost   int64

	block    uint64 // the newest block that the answer is about
	numbered bool   // there is such a block
	tagged   bool   // it was not given by its number
	pending  bool   // it is about what is not in a block yet
	hash     []byte // the hash it asks for, in its quotes
	only     []*node
	want     *nodegate.Want // what the answer must be; nil: whatever a node says
	agree    int            // nodes that must give the same answer; 0 is one
	spans    bool           // the request is traced

	span   logrange.Span // of a log query
	ranged bool          // there is one
}

// class groups methods that take about as long as each other.
type class uint8

const (
	small class = iota // nothing old
	looks              // blocks, transactions, receipts
	runs               // state and executions
	logs
	traces
	classes
)

func classOf(name string, i *method.Row) class {
	switch {
	case method.Traces(name):
		return traces
	case i.Truth == method.OfARange:
		return logs
	case i.Needs == method.State:
		return runs
	case i.Needs == method.History:
		return looks
	}
	return small
}

// read fills a query in. head is what the tags mean.
func (q *query) read(name string, params []byte, head uint64) {
	q.method, q.params, q.info = name, params, method.Of(name)
	q.class = classOf(name, q.info)
	var room [8][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok {
		return
	}
	switch {
	case q.info.Block != method.None && q.info.Block < len(list):
		q.at(list[q.info.Block], head)
	case q.info.Block != method.None:
		q.latest(head)
	case q.info.Truth == method.OfARange && len(list) > 0:
		q.rangeOf(list[0], head)
	case q.info.Needs != method.Nothing && len(list) > 0 && hexjson.IsHash(list[0]):
		q.hash = list[0]
	}
}

// at reads a block parameter: a number, a tag, a hash, or an object with one of them.
func (q *query) at(raw []byte, head uint64) {
	if raw[0] != '{' {
		q.named(raw, head)
		return
	}
	jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "blockNumber", "blockHash":
			q.named(value, head)
		}
		return true
	})
}

// named reads a block's name.
func (q *query) named(raw []byte, head uint64) {
	switch string(raw) {
	case `"latest"`, "null":
		q.latest(head)
	case `"pending"`:
		q.latest(head)
		q.pending = true
	case `"earliest"`:
		q.block, q.numbered, q.tagged = 0, true, true
	default:
		if hexjson.IsHash(raw) {
			q.hash = raw
		} else {
			q.block, q.numbered = hexjson.Quantity(raw)
			q.tagged = false
		}
	}
}

// must has the query accept only what is wanted. A call that names its block by the hash
// goes to nodes that have come as far.
func (q *query) must(want *nodegate.Want) {
	if q.want = want; want != nil && q.hash != nil {
		q.block, q.numbered, q.tagged = want.Block, true, true
	}
}

func (q *query) latest(head uint64) { q.block, q.numbered, q.tagged = head, true, true }

// rangeOf reads the newest block of a log query.
func (q *query) rangeOf(filter []byte, head uint64) {
	q.latest(head)
	jsonrpc.Fields(filter, func(name, value []byte) bool {
		switch string(name) {
		case "toBlock":
			q.named(value, head)
		case "blockHash":
			if q.numbered, q.tagged = false, false; hexjson.IsHash(value) {
				q.hash = value
			}
		}
		return true
	})
}
