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
