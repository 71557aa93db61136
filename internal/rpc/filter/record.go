package filter

import (
	"encoding/json"
	"slices"
)

// The kinds of filters.
const (
	logs         = "logs"
	blocks       = "blocks"
	pending      = "pending"      // hashes of transactions
	transactions = "transactions" // whole ones
)

// record is a filter: what it looks for, and how far its owner has read.
type record struct {
	Kind  string `json:"kind"`
	Query string `json:"query,omitempty"` // of logs, as the client gave it
	Match string `json:"match,omitempty"` // its address and topics, as members of an object

	// The blocks that a filter of logs is about. One that does not begin at a block begins
	// at the head.
	Begins bool   `json:"begins,omitempty"`
	From   uint64 `json:"from,omitempty"`
	To     uint64 `json:"to,omitempty"`

	// Seen are blocks that the owner has read up to, the oldest first. After a reorg the
	// newest that is still on the chain is where reading goes on.
	Seen []point `json:"seen,omitempty"`
	// Sent are the newest blocks whose logs the owner has: a reorg takes them back.
	Sent []sent `json:"sent,omitempty"`

	Pending uint64 `json:"pending,omitempty"` // the position in the pool's transactions
}

// point is one block.
type point struct {
	Number uint64 `json:"n"`
	Hash   string `json:"h"` // a JSON token
}

// sent is a block of which the owner got logs. They are kept while they are few; else
// the node is asked for them again.
type sent struct {
	point
	Logs []json.RawMessage `json:"logs,omitempty"`
}

// How much of the past a filter remembers.
const (
	maxSeen     = 64
	maxSentLogs = 4 << 10 // bytes
)

func (r *record) last() point { return r.Seen[len(r.Seen)-1] }

func (r *record) encode() []byte {
	b, _ := json.Marshal(r) // has nothing that can fail
	return b
}

func decode(state []byte) (*record, error) {
	r := &record{}
	if err := json.Unmarshal(state, r); err != nil || (r.Kind == logs || r.Kind == blocks) && len(r.Seen) == 0 {
		return nil, errNotFound // somebody else's
	}
	return r, nil
}

// moveTo notes that the owner has read up to a block, after what is left of the blocks
// up to base.
func (r *record) moveTo(base, top point) {
	r.Seen = slices.DeleteFunc(r.Seen, func(p point) bool { return p.Number > base.Number })
	r.Seen = append(r.Seen, top)
	r.Seen = r.Seen[max(0, len(r.Seen)-maxSeen):]
}

// takeBack returns the blocks above base that are not on the chain any more, the newest
// first, and forgets them.
func (r *record) takeBack(base point, onChain map[string]bool) (gone []sent) {
	r.Sent = slices.DeleteFunc(r.Sent, func(s sent) bool {
		if s.Number <= base.Number || onChain[s.Hash] {
			return false
		}
		gone = append(gone, s)
		return true
	})
	slices.Reverse(gone)
	return gone
}

// remember notes logs that the owner gets.
func (r *record) remember(list []logEntry) {
	for _, l := range list {
		if n := len(r.Sent); n == 0 || r.Sent[n-1].Hash != l.block.Hash {
			r.Sent = append(r.Sent, sent{point: l.block})
		}
		s := &r.Sent[len(r.Sent)-1]
		s.Logs = append(s.Logs, json.RawMessage(l.raw))
	}
	r.Sent = r.Sent[max(0, len(r.Sent)-maxSeen):]
	size := 0
	for i := len(r.Sent) - 1; i >= 0; i-- {
		for _, l := range r.Sent[i].Logs {
			size += len(l)
		}
		if size > maxSentLogs {
			r.Sent[i].Logs = nil
		}
	}
}
