package ledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// keptLookups are lookups of one block whose answers are kept.
func keptLookups(c *chain, number uint64) [][2]string {
	m := c.at(number)
	hash, tx := m.Hash().Hex(), m.Transactions()[0].Hash().Hex()
	return [][2]string{
		{"eth_getBlockByNumber", fmt.Sprintf(`["%#x",true]`, number)},
		{"eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, number)},
		{"eth_getBlockByHash", `["` + hash + `",true]`},
		{"eth_getBlockReceipts", fmt.Sprintf(`["%#x"]`, number)},
		{"eth_getBlockReceipts", `["` + hash + `"]`},
		{"eth_getTransactionByHash", `["` + tx + `"]`},
		{"eth_getTransactionByBlockNumberAndIndex", fmt.Sprintf(`["%#x","0x0"]`, number)},
		{"eth_getTransactionReceipt", `["` + tx + `"]`},
	}
}

// heldBy tells whether an answer is one that is kept, not one that was just written.
func (r *rig) heldBy(l [2]string) bool {
	first, err := r.Call(context.Background(), l[0], []byte(l[1]))
	if err != nil || string(first) == passed {
		return false
	}
	again, err := r.Call(context.Background(), l[0], []byte(l[1]))
	if err != nil {
		r.t.Fatal(err)
	}
	if string(first) != string(again) {
		r.t.Errorf("%s: first %.60s, then %.60s", l, first, again)
	}
	return &first[0] == &again[0] || sameAgain(r, l, again)
}

// sameAgain asks a third time: the first answer may have had more room than it needed, and then
// a copy of it is kept.
func sameAgain(r *rig, l [2]string, last []byte) bool {
	third, err := r.Call(context.Background(), l[0], []byte(l[1]))
	return err == nil && &third[0] == &last[0]
}

// busy is the newest block with a transaction, at or below a height.
func busy(c *chain, number uint64) uint64 {
	for len(c.at(number).Transactions()) == 0 {
		number--
	}
	return number
}

// TestKeptAnswers: what was answered once is answered from memory, until its block leaves the
// chain.
func TestKeptAnswers(t *testing.T) {
	c := newChain()
	c.grow(30)
	run(t, c, 1000, func(r *rig) {
		top := busy(c, 30)
		old := keptLookups(c, top)
		for _, l := range old {
			if !r.heldBy(l) {
				t.Errorf("%s is not kept", l)
			}
		}
		c.grow(2) // nothing leaves the chain
		r.settle()
		for _, l := range old {
			if !r.heldBy(l) {
				t.Errorf("%s is not kept while the chain grows", l)
			}
		}
		before, _ := r.ask("eth_getBlockByNumber", fmt.Sprintf("%#x", top), true)
		c.reorg(int(c.head.Number-top)+1, 6, 7)
		r.settle()
		after, ours := r.ask("eth_getBlockByNumber", fmt.Sprintf("%#x", top), true)
		if !ours || after == before {
			t.Errorf("block %d is answered as before the reorg", top)
		}
		for _, l := range old[5:6] { // a transaction of the branch that left
			if result, err := r.Call(context.Background(), l[0], []byte(l[1])); err != nil || string(result) == before {
				t.Errorf("%s: %.60s, %v", l, result, err)
			}
		}
	})
}

// TestKeptAnswersVouched: the nodes that gave a block's hash are counted for each call.
func TestKeptAnswersVouched(t *testing.T) {
	v := view{last: 10, vouched: []uint64{9, 5}, linked: true}
	k := newKept(NewAnswers(1 << 20))
	r := reader{view: &v, head: nodegate.Head{Number: 10}, known: true, number: 7, canonical: true}
	q, epoch := lookup{number: 7}, uint64(0)
	k.keep(q, &r, &answer{result: []byte("x")}, 0)
	for _, c := range []struct {
		vouched []uint64
		want    int
	}{{[]uint64{9, 5}, 1}, {[]uint64{9, 8}, 2}, {[]uint64{9, 8, 7}, 3}} {
		v.vouched = c.vouched
		if a, ok := k.find(q, &r, epoch); !ok || a.agreed != c.want || !a.linked {
			t.Errorf("vouched %v: %+v, %v; want agreed %d", c.vouched, a, ok, c.want)
		}
	}
	for name, spoil := range map[string]func(){
		"a later view's epoch":    func() { v.epoch, epoch = 1, 1 },
		"an epoch that has begun": func() { epoch = 1 },
		"a head below the block":  func() { r.head.Number = 6 },
		"a fork that is not read": func() { r.head = nodegate.Head{Number: 10, Fork: 1} },
	} {
		spoil()
		if _, ok := k.find(q, &r, epoch); ok {
			t.Errorf("answered in spite of %s", name)
		}
		v.epoch, epoch, r.head = 0, 0, nodegate.Head{Number: 10}
	}
}

// TestNotKept: answers that may change without a new epoch, and those that would fill the
// memory.
func TestNotKept(t *testing.T) {
	for name, r := range map[string]reader{
		"of another branch": {number: 7},
		"above the view":    {number: 11, canonical: true},
	} {
		r.view, r.head, r.known = &view{last: 10}, nodegate.Head{Number: 12}, true
		k := newKept(NewAnswers(1 << 20))
		k.keep(lookup{}, &r, &answer{result: []byte("x")}, 0)
		if _, ok := k.answers.table.GetIfPresent(keptKey{ledger: k.ledger}); ok {
			t.Errorf("an answer %s is kept", name)
		}
	}
	k := newKept(NewAnswers(1 << 20))
	r := reader{view: &view{last: 10}, head: nodegate.Head{Number: 12}, number: 7, canonical: true}
	k.keep(lookup{}, &r, &answer{result: make([]byte, 1<<16+1)}, 0)
	if _, ok := k.answers.table.GetIfPresent(keptKey{ledger: k.ledger}); ok {
		t.Error("an answer of more than a sixteenth of the memory is kept")
	}
	k = newKept(NewAnswers(1 << 20))
	k.keep(lookup{}, &r, &answer{result: []byte("x")}, 1)
	if _, ok := k.answers.table.GetIfPresent(keptKey{ledger: k.ledger}); ok {
		t.Error("an answer is kept although its epoch had ended")
	}
	none := newKept(nil)
	none.keep(lookup{}, &r, &answer{result: []byte("x")}, 0)
	if _, ok := none.find(lookup{}, &r, 0); ok {
		t.Error("answered without memory")
	}
}

// TestSharedAnswers: ledgers that share memory don't share answers, and together they stay
// within it.
func TestSharedAnswers(t *testing.T) {
	const bytes = 1 << 20
	all := NewAnswers(bytes)
	one, two := newKept(all), newKept(all)
	r := reader{view: &view{last: 10}, head: nodegate.Head{Number: 12}, known: true, number: 7, canonical: true}
	one.keep(lookup{number: 7}, &r, &answer{result: []byte("one")}, 0)
	if _, ok := two.find(lookup{number: 7}, &r, 0); ok {
		t.Error("a ledger answers for another network's")
	}
	two.keep(lookup{number: 7}, &r, &answer{result: []byte("two")}, 0)
	for want, k := range map[string]kept{"one": one, "two": two} {
		if a, ok := k.find(lookup{number: 7}, &r, 0); !ok || string(a.result) != want {
			t.Errorf("%q, %v; want %q", a.result, ok, want)
		}
	}
	for i := range uint64(200) {
		for _, k := range []kept{one, two} {
			k.keep(lookup{number: i}, &r, &answer{result: make([]byte, 16<<10)}, 0)
		}
	}
	// A cache of this kind lets go of what is too much a moment after it was added.
	for end := time.Now().Add(10 * time.Second); all.Size() > bytes && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if size := all.Size(); size > bytes || size < bytes/2 {
		t.Errorf("%d bytes are in use of %d", size, bytes)
	}
}
