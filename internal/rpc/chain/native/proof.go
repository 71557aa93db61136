package native

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// maxProofKeys bounds what one native proof walks; more is handed over, where
// go-ethereum words the refusal.
const maxProofKeys = 1024

// fewProofKeys is how many keys are proved among the others. More of them take a seat in
// the heavy lane.
const fewProofKeys = 16

// proof answers eth_getProof from raw trie nodes: account and values come from
// the leaves of the very nodes that prove them.
func (p *Path) proof(ctx context.Context, a *args) ([]byte, bool, error) {
	addr, ok := a.address(0)
	if !ok || a.n != 3 {
		return nil, false, nil
	}
	keys, ok := proofKeys(a.raw[1])
	blk := p.block(a, 2)
	if !ok || blk == nil || blk.header.Root == types.EmptyRootHash {
		return nil, false, nil
	}
	view, err := p.states.view(blk.header.Root)
	if err != nil {
		return nil, false, nil
	}
	out, err := p.prove(ctx, view, addr, keys)
	switch {
	case errors.Is(err, lane.ErrAborted):
		return nil, true, nodegate.ErrTimeout("native.proof", err)
	case refused(err):
		return nil, true, err
	case err != nil:
		return nil, false, nil
	}
	return out, true, nil
}

// prove writes a proof, in the heavy lane if it has many keys. There it rests between
// them, and ends when its context does.
func (p *Path) prove(ctx context.Context, view *stateView, addr common.Address, keys []proofKey) (out []byte, err error) {
	if len(keys) <= fewProofKeys {
		return writeProof(view, addr, keys, func() error { return nil })
	}
	var rests background.Rests
	err = p.lanes.RunSliced(ctx, p.cfg.CallTimeout, func(ctx context.Context, _ time.Duration) (err error) {
		out, err = writeProof(view, addr, keys, func() error {
			if ctx.Err() != nil {
				return lane.ErrAborted
			}
			rests.Now()
			return nil
		})
		return err
	})
	return out, err
}

// proofKey is a storage key and how it is echoed: 32-byte keys as they are, short
// ones as quantities.
type proofKey struct {
	slot common.Hash
	full bool
}

func proofKeys(raw []byte) ([]proofKey, bool) {
	if len(raw) < 2 || raw[0] != '[' {
		return nil, false
	}
	var keys []proofKey
	rest := raw[1 : len(raw)-1]
	for len(rest) > 0 {
		end := valueEnd(rest)
		text, ok := unquote(rest[:end])
		if !ok || len(keys) == maxProofKeys {
			return nil, false
		}
		slot, ok := storageKey(text)
		if !ok {
			return nil, false
		}
		keys = append(keys, proofKey{slot, len(text) == 2+2*common.HashLength})
		if rest = rest[end:]; len(rest) > 0 && rest[0] == ',' {
			rest = rest[1:]
		}
	}
	return keys, true
}

// writeProof writes the members in go-ethereum's order. The account's own proof
// comes before the fields it proves, so they are read in a first walk. An error of pause,
// which is called before each key, ends it.
func writeProof(view *stateView, addr common.Address, keys []proofKey, pause func() error) ([]byte, error) {
	w := &proofWriter{out: make([]byte, 0, 8192)}
	w.out = append(w.out, `{"address":"`...)
	w.out = appendHex(w.out, addr[:])
	w.out = append(w.out, `","accountProof":`...)
	w.open()
	acct, err := view.proveAccount(addr, w.node)
	if err != nil {
		return nil, err
	}
	w.close()
	w.account(acct)
	w.out = append(w.out, `,"storageProof":[`...)
	for i, key := range keys {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := pause(); err != nil {
			return nil, err
		}
		if err := w.slot(view, addr, acct, key); err != nil {
			return nil, err
		}
	}
	return append(w.out, "]}"...), nil
}

type proofWriter struct {
	out     []byte
	scratch []byte // a slot's nodes, which stand behind the value they prove
	first   bool
}

func (w *proofWriter) open() {
	w.out, w.first = append(w.out, '['), true
}

func (w *proofWriter) close() {
	w.out = append(w.out, ']')
}

// node appends one raw trie node as a hex string.
func (w *proofWriter) node(raw []byte) {
	if !w.first {
		w.out = append(w.out, ',')
	}
	w.first = false
	w.out = append(appendHex(append(w.out, '"'), raw), '"')
}

// account writes balance, code hash, nonce and storage root. An absent account
// has zero hashes.
func (w *proofWriter) account(acct *types.StateAccount) {
	var codeHash, root common.Hash
	var nonce uint64
	balance := new(uint256.Int)
	if acct != nil {
		codeHash, root, nonce, balance = common.BytesToHash(acct.CodeHash), acct.Root, acct.Nonce, acct.Balance
	}
	w.out = append(w.out, `,"balance":"`...)
	w.out = append(w.out, balance.Hex()...)
	w.out = append(w.out, `","codeHash":"`...)
	w.out = appendHex(w.out, codeHash[:])
	w.out = append(w.out, `","nonce":`...)
	w.out = append(w.out, quoteUint(nonce)...)
	w.out = append(w.out, `,"storageHash":"`...)
	w.out = appendHex(w.out, root[:])
	w.out = append(w.out, '"')
}

// slot writes one storage proof; key and value stand before the nodes.
func (w *proofWriter) slot(view *stateView, addr common.Address, acct *types.StateAccount, key proofKey) error {
	w.out = append(w.out, `{"key":"`...)
	if key.full {
		w.out = appendHex(w.out, key.slot[:])
	} else {
		w.out = append(w.out, shortHex(key.slot)...)
	}
	w.out = append(w.out, `","value":"`...)
	var root common.Hash
	if acct != nil {
		root = acct.Root
	}
	nodes := &proofWriter{out: w.scratch[:0]}
	nodes.open()
	value, err := view.proveSlot(addr, root, key.slot, nodes.node)
	if err != nil {
		return err
	}
	nodes.close()
	w.out = append(w.out, shortHex(value)...)
	w.out = append(w.out, `","proof":`...)
	w.out = append(append(w.out, nodes.out...), '}')
	w.scratch = nodes.out
	return nil
}

func shortHex(h common.Hash) string {
	return new(uint256.Int).SetBytes32(h[:]).Hex()
}
