package blocktag

import (
	"bytes"
	"context"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

var latest = []byte(`"latest"`)

// resolveBlock writes a number in the place of a tag in the method's block. Parameters
// that can't be read, or lack what they need, are for the node to refuse. So is a block
// that is left out where Geth insists on it: whoever speaks its words does too.
func (n *Node) resolveBlock(ctx context.Context, row *method.Row, params []byte) ([]byte, error) {
	at := row.Block
	var room [6][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(list) < at {
		return params, nil
	}
	absent := len(list) == at
	if absent {
		list = append(list, nil)
	}
	was := list[at]
	block := was
	switch {
	case absent || string(was) == "null":
		if !row.FillLatest {
			return params, nil
		}
		block = latest
	case was[0] == '{' && row.BlockObject:
		if block = numberIn(was); block == nil {
			return params, nil
		}
	case !isTag(was):
		return params, nil
	}
	if isTag(block) {
		v, err := n.view(ctx)
		if err != nil {
			return nil, err
		}
		block = v.number(block)
	}
	list[at] = block
	return join(list, len(params)+len(block)+len(`[,]`)), nil
}

func join(list [][]byte, size int) []byte {
	out := append(make([]byte, 0, size), '[')
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// numberIn returns the blockNumber of an EIP-1898 object: it means the same standing
// alone. An object with a hash, or with anything unknown, has none.
func numberIn(object []byte) (number []byte) {
	ok := jsonrpc.Fields(object, func(name, value []byte) bool {
		switch string(name) {
		case "blockNumber":
			number = value
		case "requireCanonical":
		default:
			return false
		}
		return true
	})
	if !ok || len(number) == 0 || number[0] != '"' {
		return nil
	}
	return number
}

const (
	fromBlock = `"fromBlock":`
	toBlock   = `"toBlock":`
)

// resolveLogs writes numbers in the place of the tags of a log query, and where it has
// no first or last block. A query by block hash is left alone, and so is one that does
// not look like any client's: the node reads it.
func (n *Node) resolveLogs(ctx context.Context, params []byte) ([]byte, error) {
	if !bytes.HasPrefix(params, []byte("[{")) || !bytes.HasSuffix(params, []byte("}]")) ||
		bytes.Count(params, []byte(fromBlock)) > 1 || bytes.Count(params, []byte(toBlock)) > 1 {
		return params, nil
	}
	var from, to []byte
	ok := jsonrpc.Fields(params[1:len(params)-1], func(name, value []byte) bool {
		switch string(name) {
		case "fromBlock":
			from = value
		case "toBlock":
			to = value
		case "blockHash":
			return false
		}
		return true
	})
	if !ok || !open(from) && !open(to) {
		return params, nil
	}
	v, err := n.view(ctx)
	if err != nil {
		return nil, err
	}
	return v.setMember(v.setMember(params, fromBlock, from), toBlock, to), nil
}

// open tells whether one end of a query has to be resolved.
func open(end []byte) bool { return end == nil || string(end) == "null" || isTag(end) }

// setMember gives one end of a query its number: in the place of its value, or behind
// the last member.
func (v *view) setMember(params []byte, name string, was []byte) []byte {
	if !open(was) {
		return params
	}
	if was == nil {
		return v.addMember(params, name)
	}
	at := bytes.Index(params, []byte(name))
	if at < 0 || !bytes.HasPrefix(params[at+len(name):], was) {
		return params // the name is spelled with escapes
	}
	tag := was
	if string(was) == "null" {
		tag = latest
	}
	number := v.number(tag)
	at += len(name)
	out := append(make([]byte, 0, len(params)+len(number)), params[:at]...)
	return append(append(out, number...), params[at+len(was):]...)
}

func (v *view) addMember(params []byte, name string) []byte {
	end := len(params) - len("}]")
	out := append(make([]byte, 0, len(params)+len(name)+len(v.latest)+1), params[:end]...)
	if end > len("[{") {
		out = append(out, ',')
	}
	return append(append(append(out, name...), v.latest...), "}]"...)
}
