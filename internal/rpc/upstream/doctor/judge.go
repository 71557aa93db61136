package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// slow is a p50 that clients would feel.
const slow = 500 * time.Millisecond

// wanted is how far back state is looked for by ordinary clients.
const wanted = 127

// judge says what is wrong, and what is worth knowing.
func judge(n *Network, reports []Report) []Finding {
	var list []Finding
	chain, genesis := majority(n, reports)
	for i := range reports {
		r := &reports[i]
		add := func(problem bool, format string, args ...any) {
			list = append(list, Finding{Node: r.Node, Problem: problem, Text: fmt.Sprintf(format, args...)})
		}
		if r.Err != nil {
			add(true, "can't be reached: %v. Check its URL, its headers and the network in between", r.Err)
			continue
		}
		if r.ChainID != chain {
			add(true, "serves chain %d, but the network is chain %d: it is never used. Remove it, or correct chain_id", r.ChainID, chain)
		} else if r.Genesis != "" && genesis != "" && r.Genesis != genesis {
			add(true, "has a different genesis block than the others (%s): it serves another chain with the same chain ID", r.Genesis)
		}
		judgeHead(n, r, add)
		judgeMethods(n, r, add)
		judgeHistory(n, r, add)
		if r.Events != nil {
			add(true, "has no subscriptions over its ws: %v. New blocks are polled; correct ws, or remove it", r.Events)
		}
		if r.P50 > slow {
			add(false, "is slow: median latency is %v", r.P50.Round(time.Millisecond))
		}
	}
	return append(append(list, judgeNetwork(n, reports)...), judgeLedger(n, reports)...)
}

type say func(problem bool, format string, args ...any)

func judgeHead(n *Network, r *Report, add say) {
	if r.Syncing {
		add(true, "is syncing: it is not used until it has caught up")
	} else if r.Lag > n.MaxLag {
		add(true, "is %d blocks behind: it is not used until it is at most %d (max_lag) behind", r.Lag, n.MaxLag)
	}
}

func judgeMethods(n *Network, r *Report, add say) {
	for _, name := range r.Missing {
		switch namespace, _, _ := strings.Cut(name, "_"); {
		case namespace == method.SpaceDebug && !slices.Contains(n.Namespaces, method.SpaceDebug): // nobody asks for it
		case namespace == "eth":
			add(true, "does not offer %s, and clients expect it. Turn it on at the node", name)
		default:
			add(true, "does not offer %s, which this network's configuration needs. Turn it on at the node, or change layer2.stack or namespaces", name)
		}
	}
}

func judgeHistory(n *Network, r *Report, add say) {
	if !r.State.All && r.State.Blocks < min(wanted, max(r.Head, 1)-1) {
		add(true, "has state of the newest %d blocks only; ordinary nodes have 128. Calls about older ones fail unless another node has them", r.State.Blocks)
	}
	judgeLogs(n, r, add)
}

// judgeLogs is about the widest log query that a node answers.
func judgeLogs(n *Network, r *Report, add say) {
	switch {
	case r.Logs >= min(n.LogBlocks, r.Head+1), 0 < r.LogsSet && r.LogsSet <= r.Logs:
	case r.Logs == 0:
		add(true, "does not answer "+method.EthGetLogs+", not even for one block. Turn it on at the node")
	default:
		add(false, "answers "+method.EthGetLogs+" over %d blocks at most, and clients may ask for %d: such calls are split. Set max_log_range of the node to %d, or raise its limit",
			r.Logs, n.LogBlocks, r.Logs)
	}
}

// judgeNetwork is about all nodes together.
func judgeNetwork(n *Network, reports []Report) []Finding {
	var list []Finding
	add := func(problem bool, text string) { list = append(list, Finding{Problem: problem, Text: text}) }
	usable, archive, events := 0, false, false
	for i, r := range reports {
		if r.Err != nil {
			continue
		}
		usable++
		archive = archive || r.State.All
		events = events || n.Nodes[i].WS != "" && r.Events == nil
	}
	if usable == 0 {
		add(true, "no node can be used: calls get 503, and /readyz/<network> reports not ready")
		return list
	}
	if len(reports) == 1 {
		add(false, "has one node: when it is down, so is the network")
	}
	if !archive {
		add(false, "no node has state back to the first block: calls about old blocks fail")
	}
	if !events {
		add(false, "no node has subscriptions (ws): new blocks are polled, and pending transactions can't be followed")
	}
	return list
}

// majority is the chain that the configuration names, or else that most nodes are of;
// and the first block that most nodes of it have.
func majority(n *Network, reports []Report) (chain uint64, genesis string) {
	chain = n.ChainID
	if chain == 0 {
		chain = most(reports, func(r Report) (uint64, bool) { return r.ChainID, r.Err == nil })
	}
	return chain, most(reports, func(r Report) (string, bool) { return r.Genesis, r.Err == nil && r.ChainID == chain && r.Genesis != "" })
}

// most is what the largest number of reports have, the first of several.
func most[T comparable](reports []Report, of func(Report) (T, bool)) T {
	counts := map[T]int{}
	var best T
	for _, r := range reports {
		if v, ok := of(r); ok {
			counts[v]++
		}
	}
	for _, r := range reports {
		if v, ok := of(r); ok && counts[v] > counts[best] {
			best = v
		}
	}
	return best
}
