package cache

import (
	"strconv"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// life is how long an answer may be kept. From byHash on it can't become wrong.
type life uint8

const (
	never     life = iota
	oneBlock       // while the head is the same
	untilFork      // until a reorganization, or until its block is final and it is asked for again
	byHash         // what a hash names: always true, though the block may leave the chain
	always         // final
)

// The reasons that a trace gives.
const (
	neverKept   = "never kept"
	pending     = "pending"
	notThere    = "not there"
	newBlock    = "new block"
	reorganized = "reorganized"
	finalNow    = "final now"
	null        = "null"
	tooLarge    = "too large"
	beyondHead  = "beyond the head"
	noHead      = "no head"
	unreadable  = "unreadable"
)

// plan is what is known about an answer's life before it is there.
type plan struct {
	life     life
	byAnswer bool // the answer tells its block
	block    uint64
	reason   string        // why it is not kept, with never
	head     nodegate.Head // before the node is asked
}

// planFor decides by the method and its parameters. known is false when nobody could
// tell the head: then only what needs none is kept.
func planFor(info *method.Row, params []byte, head nodegate.Head, known bool) plan {
	p := plan{head: head}
	switch info.Truth {
	case method.OfTheChain:
		p.life = always
	case method.OfAHash:
		p.life = byHash
	case method.OfItsAnswer:
		p.byAnswer = true
	case method.OfTheHead:
		p.life = oneBlock
	case method.OfABlock:
		p.ofBlock(element(params, info.Block))
	case method.OfARange:
		p.ofRange(element(params, 0))
	default:
		p.reason = neverKept
	}
	if !known && p.reason != pending && p.life < byHash {
		return plan{reason: noHead}
	}
	return p
}

// element returns one parameter, nil where there is none.
func element(params []byte, i int) []byte {
	var room [6][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || i >= len(list) {
		return nil
	}
	return list[i]
}

// hashLength is that of a quoted hash.
const hashLength = len(`"0x"`) + 64

// ofBlock plans for an answer of the block that a parameter names.
func (p *plan) ofBlock(raw []byte) {
	switch at, isNumber := number(raw); {
	case isNumber:
		p.ofNumber(at)
	case string(raw) == `"pending"`:
		p.life, p.reason = never, pending
	case string(raw) == `"earliest"`:
		p.ofNumber(0)
	case len(raw) == 0 || string(raw) == "null" || isTag(raw):
		p.life = oneBlock
	case len(raw) == hashLength && raw[0] == '"':
		p.life = byHash
	case raw[0] == '{':
		p.ofObject(raw)
	default:
		p.life, p.reason = never, unreadable
	}
}

// isTag knows the tags that move with the head. Over blocktag they are rare: the chain
// has no safe block, or the parameter is one that blocktag doesn't fill in.
func isTag(raw []byte) bool {
	return string(raw) == `"latest"` || string(raw) == `"safe"` || string(raw) == `"finalized"`
}

// ofObject plans for a block named after EIP-1898. A hash that must be on the chain
// may leave it, and nobody tells its number: it is not kept.
func (p *plan) ofObject(raw []byte) {
	p.life, p.reason = never, neverKept
	var hash, at []byte
	ok := jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "blockHash":
			hash = value
		case "blockNumber":
			at = value
		case "requireCanonical":
			return string(value) == "false"
		default:
			return false
		}
		return true
	})
	switch {
	case !ok || (hash == nil) == (at == nil):
	case hash != nil:
		p.life, p.reason = byHash, ""
	case at[0] == '"':
		p.reason = ""
		p.ofBlock(at)
	}
}

// ofRange plans for the logs of a range: its last block decides.
func (p *plan) ofRange(filter []byte) {
	var from, to []byte
	hash := false
	ok := jsonrpc.Fields(filter, func(name, value []byte) bool {
		switch string(name) {
		case "fromBlock":
			from = value
		case "toBlock":
			to = value
		case "blockHash":
			hash = true
		}
		return true
	})
	switch {
	case !ok:
		p.reason = unreadable
	case hash && from == nil && to == nil:
		p.life = byHash
	case hash:
		p.reason = unreadable
	default:
		p.ofEnds(from, to)
	}
}

// ofEnds takes the shorter life of the two ends.
func (p *plan) ofEnds(from, to []byte) {
	first, last := *p, *p
	first.ofBlock(from)
	last.ofBlock(to)
	if first.life == byHash || last.life == byHash {
		first.life, first.reason = never, unreadable
	}
	*p = last
	if first.life < last.life {
		*p = first
	}
}

// ofNumber plans for an answer of a block by its number. A block beyond the head may
// be there on one node, but nobody watches it yet.
func (p *plan) ofNumber(at uint64) {
	p.block = at
	switch {
	case at <= p.head.Finalized:
		p.life = always
	case at > p.head.Number:
		p.life, p.reason = never, beyondHead
	default:
		p.life = untilFork
	}
}

// settle completes a plan with the answer.
func (p plan) settle(result []byte) plan {
	switch {
	case p.reason != "":
		p.life = never
	case len(result) == 0 || string(result) == "null":
		p.life, p.reason = never, null
	case p.life == byHash && string(result) == "[]":
		p.life, p.reason = never, null // some nodes say so of a block that they don't know
	case p.byAnswer:
		at, ok := blockOf(result)
		if !ok {
			p.life, p.reason = never, pending
			break
		}
		p.ofNumber(at)
	}
	return p
}

// blockOf reads which block a transaction or receipt is in; a pending one is in none.
func blockOf(result []byte) (at uint64, ok bool) {
	var inBlock, hasHash bool
	whole := jsonrpc.Fields(result, func(name, value []byte) bool {
		switch string(name) {
		case "blockNumber":
			at, inBlock = number(value)
		case "blockHash":
			hasHash = len(value) == hashLength
		}
		return true
	})
	return at, whole && inBlock && hasHash
}

// number reads a quoted hexadecimal number, also one with zeros before it.
func number(raw []byte) (n uint64, ok bool) {
	const least = len(`"0x0"`)
	if len(raw) < least || len(raw) == hashLength || string(raw[:3]) != `"0x` || raw[len(raw)-1] != '"' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[3:len(raw)-1]), 16, 64)
	return n, err == nil
}
