package proven

import (
	"bytes"
	"context"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// hint is what a call probably reads: what it read in another block, or the access list that
// a node makes of it. It saves round trips, and need not be true. Nothing waits long for it,
// and without it the call takes more rounds.
type hint struct {
	n *Node
	h *header
	e *execution

	begun  time.Time // when a node was asked; zero before
	came   chan listed
	stop   context.CancelFunc
	waited bool
	given  bool // there is no more to come
}

// listed is what came of asking for an access list.
type listed struct {
	list  []request
	trace nodegate.Trace
}

// noListsFor is how long no node is asked for access lists after all of them have said that
// they don't offer them.
const noListsFor = 10 * time.Minute

// take returns what is known by now. The first time it is what the call read before, or a
// node is asked.
func (t *hint) take(ctx context.Context, w *work) (list []request) {
	if t.given {
		return nil
	}
	if t.begun.IsZero() {
		list = t.n.store.touched(t.e.name())
		if t.given = list != nil; !t.given {
			t.ask(ctx)
		}
		return list
	}
	var l listed
	if l, t.given = t.await(ctx); t.given {
		w.add(&l.trace)
	}
	return l.list
}

// await waits for the node once, no longer than the first proofs took. After that it only
// looks whether the list has come.
func (t *hint) await(ctx context.Context) (l listed, ok bool) {
	if !t.waited {
		t.waited = true
		wait := time.NewTimer(time.Since(t.begun))
		defer wait.Stop()
		select {
		case l = <-t.came:
			return l, true
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	select {
	case l = <-t.came:
		return l, true
	default:
		return l, false
	}
}

// ask asks a node, and doesn't wait for it. The node is not blamed for being slow, since it is
// the caller who gives up.
func (t *hint) ask(ctx context.Context) {
	if t.e.pays() || time.Now().UnixNano() < t.n.noLists.Load() {
		t.given = true
		return
	}
	ctx, t.stop = context.WithCancel(ctx)
	t.begun, t.came = time.Now(), make(chan listed, 1)
	n, params, came := t.n, t.e.listParams(t.h), t.came
	go func() {
		var l listed
		raw, err := n.cfg.Source.Call(nodegate.WithTrace(ctx, &l.trace), method.EthCreateAccessList, params)
		switch {
		case err == nil:
			l.list = readAccessList(raw)
		case missingMethod(err):
			n.noLists.Store(time.Now().Add(noListsFor).UnixNano())
		}
		came <- l
	}()
}

// end gives up what has not come. Nothing of the call is left behind.
func (t *hint) end() {
	if t.stop == nil {
		return
	}
	t.stop()
	if !t.given {
		<-t.came
	}
}

// pays tells whether a call has no data. Most of these are payments, which read little.
func (e *execution) pays() bool {
	return !bytes.Contains(e.call, []byte(`"input":"0x`)) || bytes.Contains(e.call, []byte(`"input":"0x"`))
}

// listParams asks for the access list of a call, with its overrides of the state.
func (e *execution) listParams(h *header) []byte {
	params := append(append([]byte{'['}, withLessGas(e.call)...), `,`+quoted(h.Hash[:])...)
	if len(e.overrides) > 0 && string(e.overrides[0]) != "null" {
		params = append(append(params, ','), e.overrides[0]...)
	}
	return append(params, ']')
}

// hintGas is the most gas that a node may use for an access list: some can't be stopped before
// it is used up. Of a call that needs more, the list has what it read until then.
const hintGas = 10_000_000

// withLessGas is a call object with at most hintGas.
func withLessGas(call []byte) []byte {
	gas, out := uint64(hintGas), []byte{'{'}
	jsonrpc.Fields(call, func(name, value []byte) bool {
		if string(name) != "gas" {
			out = append(append(append(append(append(out, '"'), name...), `":`...), value...), ',')
		} else if given, ok := hexjson.Quantity(value); ok {
			gas = min(gas, given)
		}
		return true
	})
	return append(append(append(out, `"gas":`...), hexjson.Number(gas)...), '}')
}

// maxHintSlots is how many slots of an access list are proven before the call asks for them.
const maxHintSlots = 512

// readAccessList reads as much of an access list as is proven beforehand.
func readAccessList(raw []byte) (list []request) {
	var entries []byte
	jsonrpc.Fields(raw, func(name, value []byte) bool {
		if string(name) == "accessList" {
			entries = value
		}
		return true
	})
	elements, _, ok := jsonrpc.FirstElements(nil, entries, maxReadAccounts)
	if !ok {
		return nil
	}
	slots := 0
	for _, e := range elements[:min(len(elements), maxAccounts)] {
		r, ok := readListed(e)
		if slots += len(r.slots); ok && slots <= maxHintSlots {
			list = append(list, r)
		}
	}
	return list
}

// readListed reads an account of an access list.
func readListed(raw []byte) (r request, ok bool) {
	read := jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "address":
			ok = hexBytes(r.address[:], value)
		case "storageKeys":
			return r.readSlots(value)
		}
		return true
	})
	return r, ok && read
}
