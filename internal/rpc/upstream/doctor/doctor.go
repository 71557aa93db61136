package doctor

import (
	"context"
	"sync"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// Node is how one node is reached.
type Node struct {
	Name    string
	URL     string // http or https, or ""
	WS      string // ws or wss, or ""
	Backup  bool
	Headers map[string]string
	// MaxLogRange is how wide its log queries are configured to be; 0 is as wide as it answers.
	MaxLogRange uint64
	// Transport is how connections to the node are made.
	Transport client.Transport
}

// over is how to reach the node at one of its addresses.
func (n *Node) over(url string) client.Config {
	return client.Config{URL: url, Headers: n.Headers, Timeout: callTime, Transport: n.Transport}
}

// Network is what is expected of its nodes.
type Network struct {
	Name       string
	ChainID    uint64   // 0 expects the same of all
	MaxLag     uint64   // blocks that a node may be behind the furthest
	Stack      string   // of a rollup, or ""
	Namespaces []string // that clients may use beyond eth, net and web3
	LogBlocks  uint64   // widest range of eth_getLogs that clients may ask for
	Nodes      []Node
	Ledger     Ledger
}

// Finding is one thing to say about a node, or about the whole network.
type Finding struct {
	Node    string // "" is the network
	Problem bool   // something to mend; otherwise something to know
	Text    string
}

// Report is what one node said.
type Report struct {
	Node    string
	Backup  bool
	Err     error // why it could not be asked at all; the rest is empty then
	Client  string
	ChainID uint64
	Genesis string // hash of block 0
	Head    uint64
	Lag     uint64 // blocks behind the furthest node
	Syncing bool
	Missing []string      // methods that it does not offer, of those that are needed or common
	State   Depth         // how far back it has state
	Logs    uint64        // widest range of eth_getLogs that it answered; 0 for none
	LogsSet uint64        // max_log_range of its configuration; 0 for none
	Batch   bool          // takes several calls in one request
	Events  error         // why there is no subscription; nil where there is one, or no ws
	P50     time.Duration // of a small call
	Sample  Sample        // of its newest blocks
}

// Depth is how far back a node has state.
type Depth struct {
	Blocks uint64 // at least so many of the newest
	All    bool   // back to the first block
}

// examTime bounds the asking of one node; callTime one question.
const (
	examTime = time.Minute
	callTime = 10 * time.Second
)

// Examine asks every node of a network and judges what they said.
func Examine(ctx context.Context, n Network) ([]Report, []Finding) {
	ctx, cancel := context.WithTimeout(ctx, examTime)
	defer cancel()
	reports := make([]Report, len(n.Nodes))
	var all sync.WaitGroup
	for i := range n.Nodes {
		all.Go(func() { reports[i] = examine(ctx, &n, &n.Nodes[i]) })
	}
	all.Wait()
	measureLag(reports)
	return reports, judge(&n, reports)
}

// measureLag compares the heads. The nodes were asked at slightly different times,
// so a block or two is nothing.
func measureLag(reports []Report) {
	furthest := uint64(0)
	for _, r := range reports {
		furthest = max(furthest, r.Head)
	}
	for i := range reports {
		if reports[i].Err == nil {
			reports[i].Lag = furthest - reports[i].Head
		}
	}
}
