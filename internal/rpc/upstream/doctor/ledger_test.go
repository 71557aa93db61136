package doctor

import (
	"testing"
	"time"
)

// TestEstimate: what an operator reads before a ledger costs something.
func TestEstimate(t *testing.T) {
	cost := func(name string) int64 {
		if name == "eth_getBlockReceipts" {
			return 1000
		}
		return 80
	}
	mainnet := Report{Head: 22_000_000, Sample: Sample{12 * time.Second, 150 << 10}}
	for name, c := range map[string]struct {
		ledger Ledger
		report Report
		want   string
	}{
		"grows": {
			Ledger{Blocks: 10_000}, mainnet,
			"its ledger of 10,000 blocks takes about 1.4 GiB of disk and 14,400 calls (7,776,000 credits) a day for the blocks that come, one every 12s; ledger.backfill would fetch 9,872 older blocks with 19,744 calls (10,661,760 credits), once",
		},
		"with a backfill": {
			Ledger{Blocks: 10_000, Backfill: 5}, mainnet,
			"its ledger of 10,000 blocks takes about 1.4 GiB of disk and 14,400 calls (7,776,000 credits) a day for the blocks that come, one every 12s; the backfill of 9,872 older blocks takes 19,744 calls (10,661,760 credits), once, and at least 32m54s",
		},
		"off": {
			Ledger{Usual: 10_000}, mainnet,
			"has no ledger. One of 10,000 blocks would take about 1.4 GiB of disk and 14,400 calls (7,776,000 credits) a day for the blocks that come, one every 12s; ledger.backfill would fetch 9,872 older blocks with 19,744 calls (10,661,760 credits), once",
		},
		"blocks come fast": {
			Ledger{Blocks: 10_000, Backfill: 5, MinBlockTime: time.Second}, Report{Head: 22_000_000, Sample: Sample{250 * time.Millisecond, 15 << 10}},
			"has no ledger, because there is less than 1s (ledger.min_block_time) between two blocks. One of 10,000 blocks would take about 146 MiB of disk and 691,200 calls (373,248,000 credits) a day for the blocks that come, one every 250ms; ledger.backfill would fetch 9,872 older blocks with 19,744 calls (10,661,760 credits), once",
		},
		"blocks come fast, and are wanted": {
			Ledger{Blocks: 10_000}, Report{Head: 22_000_000, Sample: Sample{250 * time.Millisecond, 15 << 10}},
			"its ledger of 10,000 blocks takes about 146 MiB of disk and 691,200 calls (373,248,000 credits) a day for the blocks that come, one every 250ms; ledger.backfill would fetch 9,872 older blocks with 19,744 calls (10,661,760 credits), once",
		},
		"a young chain": {
			Ledger{Blocks: 10_000}, Report{Head: 10, Sample: Sample{Bytes: 700}},
			"its ledger of 10,000 blocks takes about 6 MiB of disk",
		},
	} {
		c.ledger.Cost = cost
		if got := c.ledger.estimate(&c.report); got != c.want {
			t.Errorf("%s:\nis   %s\nwant %s", name, got, c.want)
		}
	}
}

// TestUnprovable: a ledger that can't work is no question of what it takes.
func TestUnprovable(t *testing.T) {
	reports := []Report{{Head: 22_000_000, Sample: Sample{250 * time.Millisecond, 15 << 10}}}
	for blocks, want := range map[uint64]Finding{
		0:      {Text: "has no ledger: blocks of arbitrum can't be proven"},
		10_000: {Problem: true, Text: "has a ledger, and blocks of arbitrum can't be proven: nothing will be in it. Remove ledger.blocks"},
	} {
		n := Network{Stack: "arbitrum", Ledger: Ledger{Blocks: blocks, Usual: 10_000, Unprovable: true, Cost: func(string) int64 { return 1 }}}
		if got := judgeLedger(&n, reports); len(got) != 1 || got[0] != want {
			t.Errorf("%d blocks: %+v", blocks, got)
		}
	}
}
