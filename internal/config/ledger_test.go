package config

import (
	"strings"
	"testing"
	"time"
)

// TestLedgerDefaults: a network of nodes has a ledger unless that may cost its operator, or
// its blocks can't be proven. What is asked for is kept however fast blocks come.
func TestLedgerDefaults(t *testing.T) {
	const nodes = "nodes: [{url: http://10.0.0.5:8545}]"
	const two = "nodes: [{url: http://10.0.0.5:8545}, {url: http://10.0.0.6:8545}]"
	for _, c := range []struct {
		lines  string
		blocks uint64
		least  time.Duration
	}{
		{nodes, 10_000, time.Second},
		{"embedded: {}", 0, 0},
		{nodes + ", ledger: {blocks: 0}", 0, 0},
		{nodes + ", ledger: {blocks: 500}", 500, 0},
		{nodes + ", ledger: {blocks: 500, min_block_time: 2s}", 500, 2 * time.Second},
		{nodes + ", ledger: {min_block_time: 0s}", 10_000, 0},
		{nodes + ", ledger: {disk: 1GiB}", 10_000, time.Second},
		{nodes + ", require_verified: roots", 10_000, 0},
		{nodes + ", require_verified: header", 10_000, time.Second},
		{two + ", agree: 2, require_verified: agreed", 10_000, time.Second},
		{two + ", agree: 2, require_verified: agreed, ledger: {blocks: 0}", 0, 0},
		{two + ", agree: 2, require_verified: agreed, layer2: {stack: arbitrum}", 0, 0},
		{nodes + ", agree: 1", 10_000, time.Second},
		{two + ", agree: 2", 10_000, 0},
		{two + ", agree: 2, ledger: {min_block_time: 3s}", 10_000, 3 * time.Second},
		{nodes + ", checkpoint: '" + someCheckpoint + "'", 10_000, 0},
		{"nodes: [{url: http://10.0.0.5:8545}, {url: http://10.0.0.6:8545, credits_per_second: 50}]", 0, 0},
		{"nodes: [{url: http://10.0.0.5:8545, credits_per_day: 1000}]", 0, 0},
		{"nodes: [{url: http://10.0.0.5:8545, credits_per_month: 1000}]", 0, 0},
		{"nodes: [{url: http://10.0.0.5:8545, credits_per_month: 1000}], ledger: {blocks: 200}", 200, 0},
		{nodes + ", layer2: {stack: op}", 10_000, time.Second},
		{nodes + ", layer2: {stack: arbitrum}", 0, 0},
		{nodes + ", layer2: {stack: zksync}", 0, 0},
	} {
		file := write(t, t.TempDir(), "networks:\n  - {name: main, "+c.lines+"}\n")
		got := mustLoad(t, Options{File: file}).Networks[0].Ledger
		if usual := c.least == time.Second; got.Usual != usual && !strings.Contains(c.lines, "min_block_time") {
			t.Errorf("%s: usual is %v", c.lines, got.Usual)
		}
		if got.Blocks != c.blocks || got.MinBlockTime != c.least {
			t.Errorf("%s: %d blocks, at least %s between two; want %d and %s", c.lines, got.Blocks, got.MinBlockTime, c.blocks, c.least)
		}
	}
}
