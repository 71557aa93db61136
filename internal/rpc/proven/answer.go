package proven

import (
	"bytes"
	"context"
	"encoding/hex"
	"slices"
	"sync"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// answer answers a call from proofs, by the header of its block.
func (n *Node) answer(ctx context.Context, row *method.Row, q *query, h *header, w *work) ([]byte, error) {
	if row.Part == method.SlotsPart {
		return n.storage(ctx, q, h, w)
	}
	r := &q.accounts[0]
	f, err := n.prove(ctx, h, &q.block, r, w)
	if err != nil {
		return nil, err
	}
	switch row.Part {
	case method.BalancePart:
		return quantity(f.account.Balance[:]), nil
	case method.NoncePart:
		return []byte(hexjson.Number(f.account.Nonce)), nil
	case method.CodePart:
		code, err := n.code(ctx, h, &q.block, r, f.account.Code, w)
		return []byte(quoted(code)), err
	}
	return []byte(quoted(f.slots[0][:])), nil
}

// quantity is a number as a JSON token, without zeros before it.
func quantity(number []byte) []byte {
	digits := bytes.TrimLeft([]byte(hex.EncodeToString(number)), "0")
	if len(digits) == 0 {
		digits = []byte{'0'}
	}
	return append(append([]byte(`"0x`), digits...), '"')
}

// atOnce is how many accounts of one call are proven at the same time.
const atOnce = 8

// storage answers for slots of several accounts.
func (n *Node) storage(ctx context.Context, q *query, h *header, w *work) ([]byte, error) {
	if err := w.pay(ctx, n.unknown(q, h)); err != nil {
		return nil, err
	}
	all := make([]facts, len(q.accounts))
	errs := make([]error, len(q.accounts))
	var running sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range q.accounts {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			all[i], errs[i] = n.prove(ctx, h, &q.block, &q.accounts[i], w)
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return writeStorage(q.accounts, all), nil
}

// unknown is how many accounts of a call have to be proven.
func (n *Node) unknown(q *query, h *header) (count int) {
	for i := range q.accounts {
		if _, ok := n.known(h, &q.block, &q.accounts[i]); !ok {
			count++
		}
	}
	return count
}

// writeStorage writes slots by account, in the order of the addresses.
func writeStorage(accounts []request, all []facts) []byte {
	order := make([]int, len(accounts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(accounts[a].address[:], accounts[b].address[:]) })
	out := []byte{'{'}
	for i, of := range order {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quoted(accounts[of].address[:])...), ":["...)
		for j := range all[of].slots {
			if j > 0 {
				out = append(out, ',')
			}
			out = append(out, quoted(all[of].slots[j][:])...)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}
