package pool

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// ballot is one call that several nodes are asked, and what they said.
type ballot struct {
	reader  *reader
	query   *query
	tried   []*node
	votes   []*vote // each is another answer
	doubted outcome // it failed a check, see weigh
	failed  outcome // the best of those that are no answer
}

// vote is an answer and the nodes that gave it.
type vote struct {
	outcome
	nodes []*node
	shows bool   // all of them gave it with a header that hashes to its hash
	form  []byte // it can be compared by; nil before the first comparison
}

// lacks is how many nodes more must give the answer that most gave.
func (b *ballot) lacks() int {
	if l := b.leader(); l != nil {
		return b.query.agree - len(l.nodes)
	}
	return b.query.agree
}

// leader is the answer that most nodes gave, the first of those; nil before there is one.
func (b *ballot) leader() (most *vote) {
	for _, v := range b.votes {
		if most == nil || len(v.nodes) > len(most.nodes) {
			most = v
		}
	}
	return most
}

// count takes what a node said. An answer that failed a check is no vote, unless another node
// shows that the chain hashes its data in its own way.
func (b *ballot) count(o outcome) {
	before := b.doubted
	b.reader.weigh(b.query, &b.doubted, &o)
	if before.doubt != nil && b.doubted.doubt == nil && b.doubted.node != o.node {
		b.add(b.doubted)
	}
	b.add(o)
}

func (b *ballot) add(o outcome) {
	if !o.votes() {
		if b.failed.node == nil || o.verdict < b.failed.verdict {
			b.failed = o
		}
		return
	}
	shows := o.showsHeader(b.query)
	for _, v := range b.votes {
		if b.alike(v, &o) {
			v.nodes, v.shows = append(v.nodes, o.node), v.shows && shows
			return
		}
	}
	b.votes = append(b.votes, &vote{outcome: o, nodes: []*node{o.node}, shows: shows})
}

// votes tells whether the outcome is an answer: a result, a null, or an error that is the
// caller's business.
func (o *outcome) votes() bool {
	return o.doubt == nil && (o.verdict == good || o.verdict == missing && o.err == nil)
}

// alike tells whether an outcome is the answer of a vote.
func (b *ballot) alike(v *vote, o *outcome) bool {
	if v.err != nil || o.err != nil {
		return v.err != nil && o.err != nil && bytes.Equal(dataOf(v.err), dataOf(o.err))
	}
	if bytes.Equal(v.result, o.result) {
		return true
	}
	if v.form == nil {
		v.form = b.reader.compared(b.query.info, v.result)
	}
	return bytes.Equal(v.form, b.reader.compared(b.query.info, o.result))
}

// dataOf is what a node's error says for programs: why a call was reverted. The words differ
// from one software to another.
func dataOf(err error) []byte {
	var call *client.CallError
	if !errors.As(err, &call) || string(call.Data) == "null" {
		return nil
	}
	return call.Data
}

// mostCompared is how large an answer may be whose members may be in any order: to read it
// takes a multiple of its memory. Larger ones must be the same in Geth's form.
const mostCompared = 256 << 10

// compared is an answer in the form in which it is compared: Geth's, and beyond that with
// members in one order, without those that are null, and with small letters in hex digits.
func (r *reader) compared(row *method.Row, result []byte) []byte {
	if formed, ok := r.form(row, result); ok {
		result = formed
	}
	if len(result) > mostCompared {
		return result
	}
	d := json.NewDecoder(bytes.NewReader(result))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return result
	}
	out, err := json.Marshal(plain(value))
	if err != nil {
		return result
	}
	return out
}

// plain drops what answers may differ in that say the same.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			} else {
				v[name] = plain(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case string:
		if strings.HasPrefix(v, "0x") {
			return strings.ToLower(v)
		}
	}
	return value
}
