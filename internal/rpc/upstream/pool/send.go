package pool

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// The bounds of sending.
const (
	sendNodes   = 3               // that get a transaction at once
	maxSending  = 512             // transactions on their way
	rejectGrace = 2 * time.Second // for the others, once a node has refused a transaction
)

// sender puts transactions out.
type sender struct {
	nodes   *nodeSet
	ask     *asker
	reader  *reader
	timeout time.Duration
	ctx     context.Context // ends what is on its way
	slots   chan struct{}   // one for each transaction on its way
	sent    recent
}

// send puts a transaction out: to several nodes at once, and the first that takes it
// answers. The others go on, also when the client leaves: the transaction is out.
func (d *sender) send(ctx context.Context, q *query) ([]byte, error) {
	hash := transactionHash(q.params)
	if hash == nil {
		return d.reader.read(ctx, q) // not a transaction: a node says so in its own words
	}
	select {
	case d.slots <- struct{}{}:
	default:
		return nil, busy(time.Second)
	}
	trace, start := nodegate.TraceFrom(ctx), time.Now()
	defer func() { trace.Waited += time.Since(start) }()
	s := &sending{sender: d, query: *q, hash: hash}
	var tried []*node
	for {
		s.nodes = d.sendTo(ctx, q, tried)
		if len(s.nodes) == 0 {
			break
		}
		tried = append(tried, s.nodes...)
		if s.wave(ctx); s.final() {
			break
		}
	}
	go func() { s.rest.Wait(); <-d.slots }() // Close waits for it
	return s.answer(ctx, trace)
}

// sendTo picks up to three nodes of the best kind that there is.
func (d *sender) sendTo(ctx context.Context, q *query, tried []*node) (list []*node) {
	first := d.nodes.choose(ctx, q, tried)
	if first.node == nil {
		return nil
	}
	list = append(list, first.node)
	for len(list) < sendNodes {
		c := d.nodes.pick(q, append(slices.Clip(tried), list...))
		if c.node == nil || c.against > first.against {
			break
		}
		list = append(list, c.node)
	}
	return list
}

// wave sends to the nodes and waits for the first that takes the transaction, or for
// all of them to fail.
func (s *sending) wave(ctx context.Context) {
	out := make(chan outcome, len(s.nodes))
	for _, n := range s.nodes {
		s.rest.Go(func() {
			o := s.one(ctx, n)
			out <- o
			if o.err == nil {
				s.sender.ask.lookAfterSending(s.sender.ctx, n) // it may be in a block already
			}
		})
	}
	var grace <-chan time.Time
	for range s.nodes {
		select {
		case o := <-out:
			if s.take(o); s.taken != nil {
				return
			}
			if s.refused != nil && grace == nil {
				grace = time.After(rejectGrace)
			}
		case <-grace:
			s.unsure = true
			return
		case <-ctx.Done():
			s.unsure = true
			return
		}
	}
}

// one sends to one node. What the node says about a transaction that it knows is
// success.
func (s *sending) one(parent context.Context, n *node) outcome {
	d := s.sender
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), d.timeout)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	o := d.ask.ask(ctx, n, &s.query)
	var call *client.CallError
	if errors.As(o.err, &call) && o.verdict == good {
		r := newNodeError(&s.query, call)
		if !r.executed() && (contains(r.text, knownWords) || contains(r.text, minedWords) && d.knows(ctx, n, s.hash)) {
			o.result, o.err = s.hash, nil
		}
	}
	if o.err == nil && !sameTransaction(o.result, s.hash, s.query.params) {
		d.nodes.failed(n, errUnasked)
		o.err, o.verdict = &client.Fault{Sent: true, Err: errUnasked}, broken
	}
	if o.err == nil {
		d.sent.add(o.result, n)
	}
	return o
}

// The words for a transaction that the node has, and for one that may be in a block
// already.
var (
	knownWords = []string{"already known", "known transaction", "alreadyknown", "already imported", "already in mempool", "already exists", "already in the pool"}
	minedWords = []string{"nonce too low", "nonce is too low", "nonce_too_low", "oldnonce", "nonce too small", "already mined"}
)

// knows asks whether a node has a transaction.
func (d *sender) knows(ctx context.Context, n *node, hash []byte) bool {
	raw, err := d.ask.look(ctx, n, method.EthGetTransactionByHash, "["+string(hash)+"]")
	return err == nil && strings.EqualFold(string(member(raw, "hash")), string(hash))
}

// sameTransaction tells whether a node's answer is the transaction's hash. Networks
// have transaction types of their own whose hash is made in another way; these are
// taken as the node says.
func sameTransaction(result, hash, params []byte) bool {
	if !hexjson.IsHash(result) {
		return false
	}
	return bytes.EqualFold(result, hash) || !standardType(params)
}

// transactionHash is the hash of the transaction that the parameters hold, as a JSON
// token, or nil.
func transactionHash(params []byte) []byte {
	raw := rawTransaction(params)
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == blobType {
		raw = verify.WithoutBlobs(raw)
	}
	return []byte(`"0x` + hex.EncodeToString(crypto.Keccak256(raw)) + `"`)
}

func rawTransaction(params []byte) []byte {
	var room [2][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(list) == 0 || !hexjson.IsData(list[0]) {
		return nil
	}
	raw, err := hex.DecodeString(string(list[0][3 : len(list[0])-1]))
	if err != nil {
		return nil
	}
	return raw
}

// The types that a transaction can begin with: the newest of the standard, the one
// with blobs, and the first byte of a list, which is a transaction without a type.
const (
	newestType = 4
	blobType   = 3
	firstList  = 0xc0
)

func standardType(params []byte) bool {
	raw := rawTransaction(params)
	return len(raw) > 0 && (raw[0] <= newestType || raw[0] >= firstList)
}
