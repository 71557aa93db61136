package proven

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// facts are what proofs show of an account: itself, and slots in the order of a request.
type facts struct {
	account verify.Account
	slots   [][32]byte
}

// prove returns what an account holds in the state of a block. It takes at most one call to
// the nodes.
func (n *Node) prove(ctx context.Context, h *header, b *block, r *request, w *work) (facts, error) {
	if f, ok := n.known(h, b, r); ok {
		return f, nil
	}
	params := proofParams(h, b, r)
	got, err := n.flights.do(ctx, string(params), w, func() (any, error) {
		if f, ok := n.known(h, b, r); ok { // by a call that ended meanwhile
			return f, nil
		}
		f, err := n.askProof(ctx, h, params, w)
		if err == nil {
			n.keep(h, r, &f)
		}
		return f, err
	})
	if err != nil {
		return facts{}, err
	}
	return got.(facts), nil
}

// known is what was proven before, if that is all. It is nothing where a node has to say
// whether the block is on the chain.
func (n *Node) known(h *header, b *block, r *request) (f facts, ok bool) {
	if b.raw != nil {
		return f, false
	}
	if f.account, ok = n.store.account(h.StateRoot, r.address); !ok {
		return f, false
	}
	for _, slot := range r.slots {
		value, ok := n.store.slot(f.account.Storage, slot)
		if !ok {
			return f, false
		}
		f.slots = append(f.slots, value)
	}
	return f, true
}

func (n *Node) keep(h *header, r *request, f *facts) {
	n.store.keepAccount(h.StateRoot, r.address, f.account)
	for i, slot := range r.slots {
		n.store.keepSlot(f.account.Storage, slot, f.slots[i])
	}
}

// proofParams asks for the proof of an account in the state of the block with a hash: a
// number may mean another block by then.
func proofParams(h *header, b *block, r *request) []byte {
	keys := make([]string, len(r.slots))
	for i := range r.slots {
		if keys[i] = quoted(r.slots[i][:]); r.keys != nil {
			keys[i] = string(r.keys[i])
		}
	}
	return []byte(`[` + quoted(r.address[:]) + `,[` + strings.Join(keys, ",") + `],` + at(h, b) + `]`)
}

// at is the parameter that names a block by its hash.
func at(h *header, b *block) string {
	if b.raw != nil {
		return string(b.raw)
	}
	return quoted(h.Hash[:])
}

// askProof asks the nodes for a proof that holds.
func (n *Node) askProof(ctx context.Context, h *header, params []byte, w *work) (facts, error) {
	var mu sync.Mutex
	var shown *facts
	holds := func(result []byte) error {
		account, slots, err := n.checker.Prove(h.StateRoot, params, result)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			shown = &facts{account, slots} // every proof that holds shows the same
		}
		return err
	}
	_, err := n.ask(ctx, method.EthGetProof, params, &nodegate.Want{Block: h.Number, Holds: holds}, w)
	if err != nil {
		return facts{}, err
	}
	n.held.Store(true)
	mu.Lock()
	defer mu.Unlock()
	return *shown, nil
}

// ask asks the nodes for something that holds.
func (n *Node) ask(ctx context.Context, name string, params []byte, want *nodegate.Want, w *work) ([]byte, error) {
	var held atomic.Bool
	t := nodegate.Trace{Want: &nodegate.Want{Block: want.Block, Holds: func(result []byte) error {
		err := want.Holds(result)
		if err == nil {
			held.Store(true)
		}
		return err
	}}}
	result, err := n.cfg.Source.Call(nodegate.WithTrace(ctx, &t), name, params)
	w.add(&t)
	if err == nil && !held.Load() { // the source doesn't know what is wanted
		return nil, errUnproven
	}
	return result, err
}

// wholeProof returns the proof that a client asks for. lied tells whether a node gave one
// that doesn't hold.
func (n *Node) wholeProof(ctx context.Context, h *header, q *query, w *work) (result []byte, lied bool, err error) {
	r := &q.accounts[0]
	params := proofParams(h, &q.block, r)
	place := key{kind: ofProof, root: h.StateRoot, name: crypto.Keccak256Hash(proofParams(h, &block{}, r))}
	if result = n.store.bytes(place); result != nil && q.block.raw == nil {
		return result, false, nil
	}
	var failed atomic.Bool // who waits for the same proof has to know too
	holds := func(result []byte) error {
		_, _, err := n.checker.Prove(h.StateRoot, params, result)
		if err != nil {
			failed.Store(true)
		}
		return err
	}
	got, err := n.flights.do(ctx, "proof "+string(params), w, func() (any, error) {
		result, err := n.ask(ctx, method.EthGetProof, params, &nodegate.Want{Block: h.Number, Holds: holds}, w)
		if err == nil {
			n.store.keepBytes(place, result)
		}
		return asked{result, failed.Load()}, err
	})
	a, _ := got.(asked)
	if err != nil {
		return nil, a.lied, err
	}
	n.held.Store(true)
	return a.result, false, nil
}

// asked is what came of a call for a proof.
type asked struct {
	result []byte
	lied   bool // a node gave one that doesn't hold
}

var errCode = errors.New("the code doesn't have the hash that the proof of its account shows")

// code returns the code with a hash, which the account has in the block.
func (n *Node) code(ctx context.Context, h *header, b *block, r *request, hash [32]byte, w *work) ([]byte, error) {
	if hash == verify.NoCode {
		return nil, nil
	}
	place := key{kind: ofCode, root: hash}
	if code := n.store.bytes(place); code != nil {
		return code, nil
	}
	params := []byte(`[` + quoted(r.address[:]) + `,` + at(h, b) + `]`)
	holds := func(result []byte) error {
		if code, ok := dataOf(result); !ok || crypto.Keccak256Hash(code) != hash {
			return errCode
		}
		return nil
	}
	got, err := n.flights.do(ctx, "code "+string(params), w, func() (any, error) {
		result, err := n.ask(ctx, method.EthGetCode, params, &nodegate.Want{Block: h.Number, Holds: holds}, w)
		if err != nil {
			return nil, err
		}
		code, _ := dataOf(result)
		n.store.keepBytes(place, code)
		return code, nil
	})
	if err != nil {
		return nil, err
	}
	return got.([]byte), nil
}

// dataOf reads a string of hex digits.
func dataOf(token []byte) ([]byte, bool) {
	text, ok := jsonrpc.String(token)
	if !ok || !hexjson.IsData(token) || len(text)%2 == 1 {
		return nil, false
	}
	data := make([]byte, len(text)/2-1)
	return data, hexDigits(data, text)
}
