package nodegate

import (
	"context"
	"time"
)

// Trace is what the layers of a network tell the edge about one call: for the
// answer's headers, the access log and the metrics. It belongs to the goroutine that
// makes the call; what runs beside it must not write to it.
type Trace struct {
	Node   string        // the name of the node that answered; "" when none was asked
	Cache  CacheOutcome  // what the cache did
	Reason string        // why it could not answer, in a word or two; "" on a hit
	Waited time.Duration // for nodes, in all

	Verified Level // how well the answer was verified; LevelNone is the word of one node
	// Agreed is how many nodes gave the hash of the block that the answer is of, or with
	// LevelAgreed the answer itself.
	Agreed int
	// Checkpoint is true if the block is linked to one that the operator knows.
	Checkpoint bool
	Formed     bool // the answer has the form of Geth's already
	// HeadAge is how long no node has reported the newest block, if the answer is by one
	// that is old; 0 if it isn't.
	HeadAge time.Duration

	// Spans is what those above tell those below: the request is traced, and what they do for it
	// has spans; see internal/tracing.
	Spans bool
	// MostLogs is what those above tell those below: a longer list of logs is refused, so
	// whoever makes one may end it there. 0 is no bound.
	MostLogs int
	// Want, if it is set, is what those above know of the answer: nothing else is given out.
	Want *Want
	// Hold, if it is set, reserves so many more bytes of the memory that the caller's account
	// may use, until the call has returned. Whoever makes a large answer bit by bit asks first.
	//
	// Returns AccountBusy or Busy when there is none.
	Hold func(bytes int64) error
	// Pay, if it is set, charges the caller's account for so many more calls of a method, which
	// an answer takes beyond what its own price includes. Whoever makes them pays first.
	//
	// Returns RateLimited, CreditsSpent or InvalidRequest when the account can't pay.
	Pay func(method string, calls int) error
}

// Want is what is known of an answer before a node gives it. Whoever chooses among nodes
// drops an answer that doesn't hold, and asks another node.
type Want struct {
	Block uint64 // the number of the block that the call names by its hash
	// Holds says what is wrong with an answer; nil is nothing. Several goroutines may call it.
	Holds func(result []byte) error
}

// Level is how well data of nodes was verified.
type Level uint8

// The levels. Their numbers are stored in databases and say nothing about which one is better:
// see Reaches.
const (
	LevelNone   Level = iota // nothing is said about it
	LevelRoots               // the data belongs to the block hash that it names, by the roots of its header
	LevelHeader              // the header hashes to the block's hash; the rest of the block is the word of nodes
	LevelAgreed              // several nodes gave the same answer
)

var levelNames = [...]string{LevelNone: "", LevelRoots: "roots", LevelHeader: "header", LevelAgreed: "agreed"}

// levelRanks are the levels from the least to the best.
var levelRanks = [...]uint8{LevelNone: 0, LevelAgreed: 1, LevelHeader: 2, LevelRoots: 3}

// Levels is how many levels there are.
const Levels = int(LevelAgreed) + 1

// LevelNamed is the level with a name; LevelNone if there is none.
func LevelNamed(name string) Level {
	for l, n := range levelNames {
		if n == name {
			return Level(l)
		}
	}
	return LevelNone
}

// Reaches tells whether data of the level is verified as well as another level asks for. What
// is not known to be a level reaches none.
func (l Level) Reaches(least Level) bool {
	if int(l) >= Levels || int(least) >= Levels {
		return false
	}
	return levelRanks[l] >= levelRanks[least]
}

// String is the level as headers show it.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return ""
}

// CacheOutcome is what the cache did with a call.
type CacheOutcome uint8

// The outcomes.
const (
	CacheNone   CacheOutcome = iota // the network has no cache
	CacheBypass                     // the method's answers are never kept
	CacheMiss
	CacheHit
	CacheShared // another call that was in progress answered this one too
	CacheLedger // the ledger answered, and neither cache nor node was asked
)

// CacheOutcomes is how many outcomes there are.
const CacheOutcomes = int(CacheLedger) + 1

var cacheNames = [...]string{CacheNone: "", CacheBypass: "bypass", CacheMiss: "miss", CacheHit: "hit", CacheShared: "shared", CacheLedger: "ledger"}

// String is the outcome as headers, logs and metrics show it.
func (c CacheOutcome) String() string { return cacheNames[c] }

type traceKey struct{}

// WithTrace gives the layers below a place to tell what they did.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFrom returns the call's trace; who was called without one writes to nobody.
func TraceFrom(ctx context.Context) *Trace {
	if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
		return t
	}
	return &Trace{}
}
