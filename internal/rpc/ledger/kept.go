package ledger

import (
	"math"
	"slices"

	"github.com/maypok86/otter/v2"

	"github.com/nodegate/nodegate"
)

// kept are answers that were written before. What many clients ask for is read from the
// database and written once; the next ones cost a look into memory.
type kept struct {
	answers keptTable // nil: none are kept
	largest int
}

// keptTable is what kept uses of otter's cache, which is generic: without an interface every
// package from which its type can be reached compiles all of it again.
type keptTable interface {
	GetIfPresent(key lookup) (*keptAnswer, bool)
	Set(key lookup, value *keptAnswer) (*keptAnswer, bool)
}

// keptAnswer is an answer from a block of the chain. It holds for as long as no block was taken
// off the chain, which the view's epoch tells.
type keptAnswer struct {
	result []byte
	level  nodegate.Level
	number uint64
	epoch  uint64
}

// An answer takes so much beyond its bytes, and at most so much of all.
const (
	keptOverhead = 256
	keptShare    = 16
)

func newKept(memory int64) kept {
	if memory <= 0 {
		return kept{}
	}
	return kept{
		largest: int(memory / keptShare),
		answers: otter.Must(&otter.Options[lookup, *keptAnswer]{
			MaximumWeight: uint64(memory),
			Weigher: func(_ lookup, a *keptAnswer) uint32 {
				return uint32(min(len(a.result)+keptOverhead, math.MaxUint32))
			},
		}),
	}
}

// find returns an answer that holds by a reader's view, in the present epoch.
func (k *kept) find(q lookup, r *reader, epoch uint64) (answer, bool) {
	if k.answers == nil {
		return answer{}, false
	}
	a, ok := k.answers.GetIfPresent(q)
	if !ok || a.epoch != r.view.epoch || a.epoch != epoch || !r.view.holds(a.number, r.head, r.known) {
		return answer{}, false
	}
	return answer{a.result, a.level, r.view.agreed(a.number), r.view.linked}, true
}

// keep keeps what a reader answered from a block of the chain. Blocks above the view may be
// replaced without a new epoch, so what is said of them is not kept. The epoch is the one after
// the block was read: if it is still the view's, no block has begun to leave the chain.
func (k *kept) keep(q lookup, r *reader, a *answer, epoch uint64) {
	if k.answers == nil || !r.canonical || r.number > r.view.last || r.view.epoch != epoch || len(a.result) > k.largest {
		return
	}
	room := cap(a.result)
	a.result = slices.Clip(a.result) // many get it, and none may write behind it
	result := a.result
	if room > len(result)+len(result)/8 {
		result = slices.Clone(result)
	}
	k.answers.Set(q, &keptAnswer{result, a.level, r.number, r.view.epoch})
}
