package pool

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// node is one remote node and what is known about it.
type node struct {
	heads.Node // how far it has come

	cfg     Node
	conn    caller
	link    *link // nil without a WebSocket address
	figures *obs.Node
	stop    context.CancelFunc

	cordoned atomic.Bool // by the operator: no calls of clients
	inFlight atomic.Int64
	slow     average // latency in nanoseconds
	failing  average // the share of failures
	speeds   speeds
	breaker  breaker
	credits  credits
	quota    quota
	history  history
	logs     logCap
	answered atomic.Int64 // when the last call began that was answered, in Unix nanoseconds
	honest   honest       // which checks its answers have passed
	sending  afterSending // looks because of transactions
	looking  sync.Mutex   // held while it is asked for a head that an answer is ahead of

	mu     sync.Mutex
	why    string // it is not used, or what failed last
	failed Cause  // what failed last; "" if nothing has
	client string // what it calls itself
}

// bareNode is a node of which nothing is known, without a way to it.
func bareNode(cfg Node) *node {
	n := &node{cfg: cfg, why: "not checked yet"}
	n.Node.Name, n.Node.Rank = cfg.Name, cfg.rank()
	n.Aside, n.SetWhy = n.away, n.setWhy
	n.quota.day, n.quota.month = cfg.CreditsPerDay, cfg.CreditsPerMonth
	return n
}

// grade is how good a node is to ask.
type grade uint8

const (
	well     grade = iota
	poorly         // behind, syncing, or failing often: asked when nobody is well
	aside          // ejected: asked when there is nobody else
	unusable       // not checked yet, of another chain, cordoned, or out of credits: never asked
)

// tooManyFailures is the share of failures from which a node is not well.
const tooManyFailures = 0.5

func (ns *nodeSet) grade(n *node) grade {
	switch {
	case !n.Checked.Load(), n.cordoned.Load(), n.quota.spent():
		return unusable
	case n.breaker.open():
		return aside
	case n.Syncing.Load(), n.Doubted.Load(), n.Silent.Load() > 1, n.failing.value() > tooManyFailures,
		ns.heads.Best() > n.Head.Load()+ns.maxLag:
		return poorly
	}
	return well
}

// score says how long a call may have to wait here: less is better.
func (n *node) score() float64 {
	const quick = float64(50 * time.Microsecond)
	return float64(n.inFlight.Load()+1) * max(n.slow.value(), quick) * (1 + 8*n.failing.value())
}

// The weights of the newest value in the averages.
const (
	slowWeight    = 0.1
	failingWeight = 0.05
)

func (n *node) noteSuccess(start time.Time, took time.Duration) {
	n.breaker.good()
	if at := start.UnixNano(); at > n.answered.Load() {
		n.answered.Store(at)
	}
	n.slow.add(float64(took), slowWeight)
	n.speeds.add(took)
	if n.failing.value() != 0 {
		n.failing.blend(0, failingWeight)
	}
}

// answeredSince tells whether a call that began later was answered.
func (n *node) answeredSince(start time.Time) bool { return n.answered.Load() > start.UnixNano() }

func (n *node) noteFailure(err error) {
	n.failing.blend(1, failingWeight)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.why, n.failed = n.clean(err), causeOf(err)
}

func (n *node) setWhy(why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.why = why
}

// clean is an error's text without the node's addresses, whose paths may be keys, and
// without the values of its headers, which a node may repeat.
func (n *node) clean(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, url := range []string{n.cfg.URL, n.cfg.WS} {
		text = withoutAddress(text, url)
	}
	for _, value := range n.cfg.Headers {
		text = withoutHeader(text, value)
	}
	return client.Printable(text, 300)
}

// shortestSecret is the length from which the value of a header can be a secret. Shorter ones
// would take ordinary words out of errors.
const shortestSecret = 6

// withoutHeader takes out a header's value, and what follows the scheme in one such as
// "Bearer TOKEN".
func withoutHeader(text, value string) string {
	_, token, _ := strings.Cut(value, " ")
	for _, secret := range []string{value, token} {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

func withoutAddress(text, url string) string {
	if url == "" {
		return text
	}
	text = strings.ReplaceAll(text, url, "its address")
	if _, rest, ok := strings.Cut(url, "://"); ok {
		if at := strings.IndexAny(rest, "/?"); at >= 0 && len(rest[at:]) > 1 {
			text = strings.ReplaceAll(text, rest[at:], "/...")
		}
	}
	return text
}
