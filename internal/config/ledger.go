package config

import (
	"slices"
	"time"
)

// The ledger of a network that doesn't say.
const (
	usualWindow    = 10_000
	usualBlockTime = time.Second
)

// settleLedger gives a network of nodes its ledger, unless that would cost the operator:
// nodes with a budget are paid for by the call, and each block takes two. What is asked for
// is kept however fast the blocks come.
func (s *settler) settleLedger(n *Network, at string) {
	given := s.src[at+"ledger.blocks"].origin != fromDefault
	if !given && len(n.Nodes) > 0 && !n.hasBudget() && n.provable() {
		n.Ledger.Blocks = usualWindow
	}
	if s.src[at+"ledger.min_block_time"].origin == fromDefault && n.Ledger.Blocks > 0 && !given && n.Verified == anyLevel {
		n.Ledger.MinBlockTime = usualBlockTime
	}
}

// hasBudget tells whether a node of the network has one.
func (n *Network) hasBudget() bool {
	return slices.ContainsFunc(n.Nodes, func(o Node) bool { return o.CreditsPerSecond > 0 || o.CreditsPerDay > 0 || o.CreditsPerMonth > 0 })
}

// provable tells whether blocks of the network can be proven, as far as its stack says.
func (n *Network) provable() bool {
	return n.Layer2 == nil || n.Layer2.Stack != "arbitrum" && n.Layer2.Stack != "zksync"
}
