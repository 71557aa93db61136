package blocktag

import (
	"context"
	"strconv"

	"github.com/nodegate/nodegate"
)

// view is one state of the chain: a head, and its numbers as parameters spell them.
type view struct {
	nodegate.Head
	latest, safe, finalized []byte // quoted; nil where the chain has no such block
}

func newView(h nodegate.Head) *view {
	v := &view{Head: h, latest: quoted(h.Number)}
	if h.Safe > 0 {
		v.safe = quoted(h.Safe)
	}
	if h.Finalized > 0 {
		v.finalized = quoted(h.Finalized)
	}
	return v
}

func quoted(number uint64) []byte {
	b := append(make([]byte, 0, len(`"0x0123456789abcdef"`)), `"0x`...)
	return append(strconv.AppendUint(b, number, 16), '"')
}

// view asks for the head and never returns less than it ever returned on that fork. Requests on
// many goroutines meet here, and a node below may be asked by two of them in one order
// and answer in the other.
func (n *Node) view(ctx context.Context) (*view, error) {
	head, err := n.next.Head(ctx)
	if err != nil {
		return nil, err
	}
	for {
		seen := n.seen.Load()
		further := furthest(seen.Head, head)
		if further == seen.Head {
			return seen, nil
		}
		if v := newView(further); n.seen.CompareAndSwap(seen, v) {
			return v, nil
		}
	}
}

// furthest joins two heads so that no number is less than in either. Only a new fork may
// bring a lower head: the chain itself was set back, and what was told is gone. A head of
// an old fork was read before that and is late.
func furthest(seen, head nodegate.Head) nodegate.Head {
	switch {
	case head.Fork < seen.Fork:
		return seen
	case head.Fork > seen.Fork && (head.Number < seen.Number || head.Lost > seen.Lost):
		return head
	}
	joined := nodegate.Head{
		Number: max(seen.Number, head.Number), GasLimit: seen.GasLimit, Fork: head.Fork, Lost: head.Lost,
		Safe: max(seen.Safe, head.Safe), Finalized: max(seen.Finalized, head.Finalized),
	}
	if head.Number >= seen.Number {
		joined.GasLimit = head.GasLimit
	}
	return joined
}

// earliest is the first block of every chain.
const earliest = `"0x0"`

// isTag tells whether a parameter is one of the tags that have a number.
func isTag(raw []byte) bool {
	switch string(raw) {
	case `"latest"`, `"safe"`, `"finalized"`, `"earliest"`:
		return true
	}
	return false
}

// number is what a tag means; the tag itself where the chain has no such block yet.
func (v *view) number(tag []byte) []byte {
	var n []byte
	switch string(tag) {
	case `"latest"`:
		n = v.latest
	case `"safe"`:
		n = v.safe
	case `"finalized"`:
		n = v.finalized
	case `"earliest"`:
		n = []byte(earliest)
	}
	if n == nil {
		return tag
	}
	return n
}
