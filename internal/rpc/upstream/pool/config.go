package pool

import (
	"cmp"
	"log/slog"
	"maps"
	"reflect"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// Node is how one remote node is reached. It has an address for HTTP, one for
// WebSocket, or both.
type Node struct {
	Name    string // how logs and figures call it
	URL     string // http or https; may hold a provider's key and is never shown
	WS      string // ws or wss; the same
	Backup  bool   // the same as Tier 2
	Tier    int    // 1 to 3; asked only when no node of a smaller one can answer; 0: 1, or 2 for a backup
	Weight  int    // its share of the calls among nodes that are as good; 0: 1
	Headers map[string]string
	Only    []string // patterns of the methods that it gets, such as eth_*; none: all
	Not     []string // patterns of those that it doesn't get
	// CreditsPerSecond is what the node may be used for; 0 is no limit.
	CreditsPerSecond int64
	// CreditsPerDay and CreditsPerMonth are the same by UTC day and month.
	CreditsPerDay, CreditsPerMonth int64
	// MaxLogRange is how many blocks the node allows in one log query; 0 is learned from its errors.
	MaxLogRange uint64
	Traceparent bool // send the node the trace that a call is a part of
	// Transport is how connections to the node are made; it may hold keys and is never shown.
	Transport client.Transport
}

func (n Node) equal(o Node) bool {
	headers := maps.Equal(n.Headers, o.Headers)
	n.Headers, o.Headers = nil, nil
	return headers && reflect.DeepEqual(n, o)
}

func (n Node) role() string {
	if n.rank() > 0 {
		return "backup"
	}
	return "primary"
}

// rank is 0 for the nodes that are asked first.
func (n Node) rank() int {
	switch {
	case n.Tier > 0:
		return n.Tier - 1
	case n.Backup:
		return 1
	}
	return 0
}

// Retry bounds how a call that a node fails is sent to others.
type Retry struct {
	Attempts int   // nodes that one call is sent to, one after the other; 0: 3
	Percent  int64 // more requests for that; 0: 20
}

// Hedge says when a read that takes unusually long is sent to a second node too.
type Hedge struct {
	Off     bool
	Delay   time.Duration // after which it is; 0: by how long such reads take
	Percent int64         // more requests for that; 0: 5
}

// Config is what a pool works with.
type Config struct {
	Network    string
	Nodes      []Node
	ChainID    uint64        // 0: learned from the first node that answers
	Stack      string        // the rollup's, which says how its chain hashes; "": not known
	Timeout    time.Duration // of a call, all attempts together; 0: 10 s
	MaxAnswer  int64         // bytes; 0: 64 MiB
	MaxLag     uint64        // blocks that a node may be behind; 0: 5
	Poll       time.Duration // between two looks at a node; 0: by the time of a block
	MaxHeadAge time.Duration // how long the newest block is told when no node reports one; 0: 30 s
	Retry      Retry
	Hedge      Hedge
	Cost       func(method string) int64 // credits of a call; nil: 1 each
	Shared     heads.Shared              // nil on one server
	Proven     bool                      // subscriptions that follow the chain get only what LookUpIn's copy has
	FixHead    func(raw []byte) []byte   // brings a header to the form that subscribers get; nil: as it is
	FixLog     func(raw []byte) []byte   // the same for a log
	FixReceipt func(raw []byte) []byte   // and for a receipt
	// Form brings an answer to the form in which those of different nodes are compared; not ok
	// is what can't be one. Nil is as it is.
	Form    func(row *method.Row, result []byte) ([]byte, bool)
	Metrics *obs.Metrics // nil: nothing is counted
	Log     *slog.Logger // nil: nothing is logged
}

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	if c.MaxAnswer <= 0 {
		c.MaxAnswer = 64 << 20
	}
	if c.MaxLag == 0 {
		c.MaxLag = 5
	}
	c.Retry.Attempts = min(cmp.Or(c.Retry.Attempts, 3), mostTries)
	c.Retry.Percent = cmp.Or(c.Retry.Percent, 20)
	c.Hedge.Percent = cmp.Or(c.Hedge.Percent, 5)
	asIs := func(raw []byte) []byte { return raw }
	if c.FixHead == nil {
		c.FixHead = asIs
	}
	if c.FixLog == nil {
		c.FixLog = asIs
	}
	if c.FixReceipt == nil {
		c.FixReceipt = asIs
	}
	if c.Form == nil {
		c.Form = func(_ *method.Row, result []byte) ([]byte, bool) { return result, true }
	}
	if c.Cost == nil {
		c.Cost = func(string) int64 { return 1 }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
