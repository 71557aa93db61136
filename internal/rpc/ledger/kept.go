package ledger

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/nodegate/nodegate"
)

// Answers keeps finished answers of ledgers in memory. Several ledgers may share one: what is
// asked for most stays, whichever network it belongs to.
type Answers struct {
	table   keptTable
	largest int
	ledgers atomic.Uint64 // so many use it
}

// kept are a ledger's answers that were written before. What many clients ask for is read from
// the database and written once; the next ones cost a look into memory.
type kept struct {
	answers *Answers // nil: none are kept
	ledger  uint64
}

// keptTable is what kept uses of otter's cache, which is generic: without an interface every
// package from which its type can be reached compiles all of it again.
type keptTable interface {
	GetIfPresent(key keptKey) (*keptAnswer, bool)
	Set(key keptKey, value *keptAnswer) (*keptAnswer, bool)
	WeightedSize() uint64
}

type keptKey struct {
	lookup
	ledger uint64
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

// NewAnswers returns a memory for so many bytes.
func NewAnswers(bytes int64) *Answers {
	return &Answers{
		largest: int(bytes / keptShare),
		table: otter.Must(&otter.Options[keptKey, *keptAnswer]{
			MaximumWeight: uint64(max(bytes, 1)),
			Weigher: func(_ keptKey, a *keptAnswer) uint32 {
				return uint32(min(len(a.result)+keptOverhead, math.MaxUint32))
			},
		}),
	}
}

// Size is how many bytes are in use.
func (a *Answers) Size() int64 { return int64(a.table.WeightedSize()) }

func newKept(answers *Answers) kept {
	if answers == nil {
		return kept{}
	}
	return kept{answers, answers.ledgers.Add(1)}
}

// find returns an answer that holds by a reader's view, in the present epoch.
func (k *kept) find(q lookup, r *reader, epoch uint64) (answer, bool) {
	if k.answers == nil {
		return answer{}, false
	}
	a, ok := k.answers.table.GetIfPresent(keptKey{q, k.ledger})
	if !ok || a.epoch != r.view.epoch || a.epoch != epoch || !r.view.holds(a.number, r.head, r.known) {
		return answer{}, false
	}
	return answer{a.result, a.level, r.view.agreed(a.number), r.view.linked}, true
}

// keep keeps what a reader answered from a block of the chain. Blocks above the view may be
// replaced without a new epoch, so what is said of them is not kept. The epoch is the one after
// the block was read: if it is still the view's, no block has begun to leave the chain.
func (k *kept) keep(q lookup, r *reader, a *answer, epoch uint64) {
	if k.answers == nil || !r.canonical || r.number > r.view.last || r.view.epoch != epoch || len(a.result) > k.answers.largest {
		return
	}
	room := cap(a.result)
	a.result = slices.Clip(a.result) // many get it, and none may write behind it
	result := a.result
	if room > len(result)+len(result)/8 {
		result = slices.Clone(result)
	}
	k.answers.table.Set(keptKey{q, k.ledger}, &keptAnswer{result, a.level, r.number, r.view.epoch})
}
