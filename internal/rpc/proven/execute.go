package proven

import (
	"bytes"
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// executes tells whether a method executes a call and answers with what came of it.
func executes(row *method.Row) bool {
	return row.Contracts == method.CallObject && (row.Answer == method.ReturnAnswer || row.Answer == method.GasAnswer) && row.Block != method.None
}

// execution is a call that may be executed here.
type execution struct {
	row       *method.Row
	block     block
	call      []byte
	overrides [][]byte // of the state, and of the block
}

// readExecution reads a call. What only a node can answer is not ok: the pending block has
// no state root, and whether a block is on the chain is for a node to say.
func readExecution(row *method.Row, params []byte) (e *execution, ok bool) {
	var room [4][]byte
	args, ok := jsonrpc.Elements(room[:0], params)
	e = &execution{row: row, block: block{by: byLatest}}
	if !ok || len(args) < row.Block {
		return nil, false
	}
	if len(args) > row.Block && !e.block.read(args[row.Block]) {
		return nil, false
	}
	e.call, e.overrides = args[0], args[min(len(args), row.Block+1):]
	return e, e.block.by != byPending && e.block.raw == nil
}

// name is what the call is known by, in whatever block.
func (e *execution) name() [32]byte {
	return crypto.Keccak256Hash(e.call, bytes.Join(e.overrides, []byte{','}))
}

// execute answers a call by executing it here, over proven state. A call of a form that isn't
// executed here is passed on: its answer is the word of a node.
func (n *Node) execute(ctx context.Context, row *method.Row, params []byte) ([]byte, error) {
	e, ok := readExecution(row, params)
	if !ok {
		return n.next.Call(ctx, row.Name, params)
	}
	var w work
	h, err := n.header(ctx, &e.block, &w)
	if errors.Is(err, errNoBlock) {
		return n.refused(ctx, row.Name, params)
	}
	var o outcome
	if err == nil {
		h, _, err = n.settled(ctx, &e.block, h, &w, func(h *header) (_ []byte, err error) {
			o, err = n.run(ctx, e, h, &w)
			return nil, err
		})
	}
	switch {
	case err != nil:
		return nil, explain(err)
	case errors.Is(o.err, errNotPlain):
		return n.next.Call(ctx, row.Name, params)
	case o.proven:
		n.tell(ctx, &w, h)
		nodegate.TraceFrom(ctx).Formed = true
	}
	return o.result, o.err
}

// outcome is what came of a call. If it is proven, its error is too: every node that executes
// the call gets it.
type outcome struct {
	result []byte
	err    error
	proven bool
}

var (
	errNotPlain = errors.New("more than a plain call")
	errForks    = &nodegate.Error{
		Op: "proven.execute", Code: nodegate.Unverified,
		Msg: "this network executes calls over proven state, and this block doesn't match the forks of the chain that nodegate knows",
	}
	errRounds = &nodegate.Error{
		Op: "proven.execute", Code: nodegate.Unverified,
		Msg: "this network executes calls over proven state, and this call reads more of it than nodegate proves for one call. Split it into smaller calls",
	}
	errAncestor = &nodegate.Error{
		Op: "proven.execute", Code: nodegate.Unverified,
		Msg: "this network executes calls over proven state, and this call reads the hash of an older block, which can be proven since Prague only. Call a later block",
	}
)

// maxRounds is how often one call is executed until all that it reads is known. Each time but
// the last, what was missing is asked for at once.
const maxRounds = 16

// run executes a call until all that it reads is known. It returns an error if the nodes don't
// give it that.
func (n *Node) run(ctx context.Context, e *execution, h *header, w *work) (outcome, error) {
	if h.block == nil {
		return outcome{err: errForks}, nil
	}
	task, ok := n.cfg.Machine.Task(e.row, h.block, e.call, e.overrides...)
	if !ok {
		return outcome{err: errNotPlain}, nil
	}
	s := newWitness(n, h)
	hint := hint{n: n, h: h, e: e}
	defer hint.end()
	for range maxRounds {
		s.begin()
		result, missed, err := task.Run(ctx, s.reads())
		switch {
		case !missed && ended(err):
			n.store.keepTouched(e.name(), s.touched())
			return outcome{result, err, true}, nil
		case !missed:
			return outcome{err: err}, nil
		case s.stuck != nil && len(s.wanted) == 0:
			return outcome{err: s.stuck}, nil
		}
		s.expect(hint.take(ctx, w))
		if s.wantsTooMuch() {
			return outcome{err: errRounds}, nil
		}
		if err := s.fetch(ctx, w); err != nil {
			return outcome{}, err
		}
	}
	return outcome{err: errRounds}, nil
}

// ended tells whether a call was executed to its end. Others were stopped, or never began.
func ended(err error) bool {
	return err == nil || errors.Is(err, nodegate.Reverted) || errors.Is(err, nodegate.ExecutionFailed)
}
