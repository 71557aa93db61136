package filter

import (
	"context"
	"math"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// create begins a filter at the chain's head.
func (n *Node) create(ctx context.Context, what method.Found, params []byte) ([]byte, error) {
	if len(params) > largestRequest {
		return nil, invalid("invalid argument 0: the filter is too large: at most 64 KiB")
	}
	r, err := n.newRecord(ctx, what, params)
	if err != nil {
		return nil, err
	}
	id, state := newID(), r.encode()
	kept, err := n.handle(ctx, id).create(ctx, 1+len(params)/placeBytes, state)
	if err != nil {
		return nil, err
	}
	if !kept {
		return nil, errTooMany
	}
	return []byte(`"` + id + `"`), nil
}

func (n *Node) newRecord(ctx context.Context, what method.Found, params []byte) (*record, error) {
	switch what {
	case method.FindsLogs:
		return n.newLogs(ctx, params)
	case method.FindsBlocks:
		r := &record{Kind: blocks}
		return r, n.begin(ctx, r)
	}
	r := &record{Kind: pending}
	var room [2][]byte
	if list, ok := jsonrpc.Elements(room[:0], params); ok && len(list) > 0 && string(list[0]) == "true" {
		r.Kind = transactions
	}
	var err error
	r.Pending, err = n.pending.begin(ctx)
	return r, err
}

// begin sets a filter to the chain's head: what comes after it is new.
func (n *Node) begin(ctx context.Context, r *record) error {
	head, err := n.next.Head(ctx)
	if err != nil {
		return err
	}
	b, err := n.block(ctx, head.Number)
	if err != nil {
		return err
	}
	r.Seen = []point{b.point}
	return nil
}

// newLogs reads a filter of logs. The node says what is wrong with it: it is asked for
// the logs of the newest block.
func (n *Node) newLogs(ctx context.Context, params []byte) (*record, error) {
	r := &record{Kind: logs, To: math.MaxUint64}
	var room [2][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(list) == 0 {
		return nil, invalid("missing value for required argument 0")
	}
	r.Query = string(list[0])
	from, to := "", ""
	jsonrpc.Fields(list[0], func(name, value []byte) bool {
		switch string(name) {
		case "fromBlock":
			from = string(value)
		case "toBlock":
			to = string(value)
		case "address", "topics":
			r.Match += `,"` + string(name) + `":` + string(value)
		}
		return true
	})
	if err := r.setRange(from, to); err != nil {
		return nil, err
	}
	if err := n.begin(ctx, r); err != nil {
		return nil, err
	}
	_, err := n.logs(ctx, r, r.last().Number, r.last().Number)
	return r, err
}

// setRange reads the blocks that a filter of logs is about, by Geth's rules: a filter
// may end at a block only if it begins at one.
func (r *record) setRange(from, to string) error {
	if from == `"pending"` || to == `"pending"` {
		return invalid("pending logs are not supported")
	}
	first, begins := hexjson.Quantity([]byte(from))
	last, ends := hexjson.Quantity([]byte(to))
	begins = begins || from == `"earliest"`
	if ends && (!begins || last < first) {
		return invalid("invalid block range params")
	}
	r.From, r.Begins = first, begins
	if ends {
		r.To = last
	}
	return nil
}
