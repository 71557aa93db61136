package requestlog

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// Kept is how long an entry is kept.
const Kept = time.Hour

const (
	defaultEntries = 500
	defaultBytes   = 32 << 20
	sweepEvery     = time.Minute
	shards         = 16
)

// Bounds of what an entry holds of a request.
const (
	maxError  = 512  // bytes of an error text
	maxParams = 1024 // bytes of parameters
	maxReply  = 2048 // bytes of a response
	maxID     = 22   // bytes of a request's id: those of obs.RequestIDs fit, longer ones of clients are cut
	maxName   = 96   // bytes of a method's or a node's name
)

// Config bounds a Log.
type Config struct {
	Entries int   // of one key, half of them failed ones; 0 is 500
	Bytes   int64 // of all keys together; 0 is 32 MiB
	// Ask sends a question to all other servers and returns what they answer, and how many
	// did not. Each answers with Log.Answer. nil where this is the only server.
	Ask func(ctx context.Context, question []byte) (answers [][]byte, silent int, err error)
}

// Entry is one request.
//
// Network, Method, Outcome and Node are kept as they are when an entry is recorded:
// they must not be a part of a buffer that is used again. ID, Error, Params and Reply are
// copied.
type Entry struct {
	KeyID   string    // whose it is; Record takes it from the grant
	ID      string    // as the client has it in X-Request-Id
	Place   int       // of the call in a batch, from 0
	At      time.Time // when it began; the zero time is now
	Network string
	Method  string
	Outcome string // "ok", or a Code's name
	Error   string // what the client was told
	Number  int    // the JSON-RPC error code; 0 for none
	Node    string // that answered; "" when none was asked
	Cache   nodegate.CacheOutcome
	Level   nodegate.Level // how well the answer was verified
	Took    time.Duration  // 0 for what was refused before it was executed
	Waited  time.Duration  // the part of Took that nodes took
	Credits int64
	Params  []byte // nil unless the key's owner wants them kept
	Cut     bool   // Params are longer than what is kept of them

	Reply    []byte // the response; nil unless the key's owner wants it kept
	ReplyCut bool   // Reply is longer than what is kept of it
}

// Failed tells whether the client was answered with an error.
func (e *Entry) Failed() bool { return nodegate.Failed(e.Outcome) }

// Told is what a client is told of an error.
func Told(err error) string {
	e := nodegate.AsError(err)
	switch {
	case e.Code == nodegate.Internal:
		return "internal error"
	case e.Msg == "":
		return e.Code.String()
	}
	return e.Msg
}

// Log holds the latest requests of keys. A nil Log records nothing and has
// nothing.
type Log struct {
	seed   maphash.Seed
	shards [shards]shard
	ask    func(ctx context.Context, question []byte) (answers [][]byte, silent int, err error)
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

// New starts a journal. Close ends it.
func New(c Config) *Log {
	if c.Entries <= 0 {
		c.Entries = defaultEntries
	}
	if c.Bytes <= 0 {
		c.Bytes = defaultBytes
	}
	ctx, stop := context.WithCancel(context.Background())
	j := &Log{seed: maphash.MakeSeed(), ask: c.Ask, stop: stop}
	for i := range j.shards {
		j.shards[i].keys = map[string]*keyLog{}
		j.shards[i].limit = max(c.Entries/2, 1)
		j.shards[i].room = int(c.Bytes / shards)
	}
	j.ended.Go(func() { j.sweepEvery(ctx) })
	return j
}

// Close ends the background work.
func (j *Log) Close() {
	if j != nil {
		j.stop()
		j.ended.Wait()
	}
}

func (j *Log) shardOf(keyID string) *shard {
	return &j.shards[maphash.String(j.seed, keyID)%shards]
}

// Record keeps a request of a grant. Params and Reply are kept only when the settings of
// the key say so at this moment.
func (j *Log) Record(g *nodegate.Grant, e *Entry) {
	if j == nil {
		return
	}
	at := e.At
	if at.IsZero() {
		at = time.Now()
	}
	keep := wanted(g)
	s := j.shardOf(g.KeyID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(g, e, at.UnixNano(), keep)
}

// texts that are kept only if the key's owner wants it.
type optional uint8

const (
	params optional = 1 << iota
	reply
)

// wanted is what the owner of a key wants kept now.
func wanted(g *nodegate.Grant) (keep optional) {
	p := g.Policy()
	if p == nil {
		return 0
	}
	if p.Settings.KeepParams {
		keep |= params
	}
	if p.Settings.KeepResponses {
		keep |= reply
	}
	return keep
}

func (j *Log) sweepEvery(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			j.sweep(time.Now())
		}
	}
}

// sweep clears away what is too old, and texts that are wanted no longer.
func (j *Log) sweep(now time.Time) {
	for i := range j.shards {
		j.shards[i].sweep(now.Add(-Kept).UnixNano())
	}
}
