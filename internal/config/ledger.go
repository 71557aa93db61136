package config

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// UsualLedger is how many blocks the ledger of a network keeps that doesn't say.
const UsualLedger = 10_000

// usualBlockTime is how fast the blocks of such a network may come.
const usualBlockTime = time.Second

// settleLedger gives a network of nodes its ledger, unless that would cost the operator:
// nodes with a budget are paid for by the call, and each block takes two. What is asked for
// is kept however fast the blocks come, and so is what other settings can't do without.
func (s *settler) settleLedger(n *Network, at string) {
	given := s.src[at+"ledger.blocks"].origin != fromDefault
	if !given && len(n.Nodes) > 0 && !n.hasBudget() && n.Provable() {
		n.Ledger.Blocks = UsualLedger
	}
	n.Ledger.Usual = !given && n.Ledger.Blocks > 0 && n.Verified != levelRoots && (n.Agree <= 1 || n.Verified == levelAgreed) && n.Checkpoint == ""
	if s.src[at+"ledger.min_block_time"].origin == fromDefault && n.Ledger.Usual {
		n.Ledger.MinBlockTime = usualBlockTime
	}
}

// hasBudget tells whether a node of the network has one.
func (n *Network) hasBudget() bool {
	return slices.ContainsFunc(n.Nodes, func(o Node) bool { return o.CreditsPerSecond > 0 || o.CreditsPerDay > 0 || o.CreditsPerMonth > 0 })
}

// Provable tells whether blocks of the network can be proven, as far as its stack says.
func (n *Network) Provable() bool {
	return n.Layer2 == nil || n.Layer2.Stack != "arbitrum" && n.Layer2.Stack != "zksync"
}

func checkCheckpoint(s string) error {
	if _, _, ok := readCheckpoint(s); !ok && s != "" {
		return fmt.Errorf("%q is not a block; use its number in decimal, a colon, and its hash of 0x and 64 hex digits", s)
	}
	return nil
}

func readCheckpoint(s string) (number uint64, hash [32]byte, ok bool) {
	digits, text, _ := strings.Cut(s, ":0x")
	number, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || len(text) != 2*len(hash) {
		return 0, hash, false
	}
	_, err = hex.Decode(hash[:], []byte(text))
	return number, hash, err == nil
}

// CheckpointBlock is the block of the checkpoint; not ok where none is set.
func (n *Network) CheckpointBlock() (number uint64, hash [32]byte, ok bool) {
	return readCheckpoint(n.Checkpoint)
}

// checkLedger makes the checks of a network's ledger.
func (c *checker) checkLedger(n *Network, at string) {
	none := n.Ledger.Blocks == 0
	if m := n.Ledger.Memory; m > 0 && m < leastLedgerMemory {
		c.failAt(at+"ledger.memory", "%s is too small; use at least %s, or 0 to share memory.ledgers", m, Size(leastLedgerMemory))
	}
	if none && n.Verified == levelRoots {
		c.failAt(at+"require_verified", "needs a ledger: without one every call would be refused; set ledger.blocks to 10000")
	}
	if none && n.Checkpoint != "" {
		c.failAt(at+"checkpoint", "needs a ledger, which checks it; set ledger.blocks to 10000")
	}
	switch {
	case n.Verified == levelAgreed && n.Agree < 2:
		c.failAt(at+"require_verified", "agreed needs nodes that can agree; set agree to 2 or more")
	case none && n.Agree > 1 && n.Verified != levelAgreed:
		c.failAt(at+"agree", "needs a ledger, which checks it; set ledger.blocks to 10000")
	case n.Agree > len(n.Nodes):
		c.failAt(at+"agree", "%d nodes can't agree: the network has %d; use a smaller number or add nodes", n.Agree, len(n.Nodes))
	}
}
