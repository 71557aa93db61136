package doctor

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// Ledger is what is configured of a network's verified copy of its newest blocks.
type Ledger struct {
	Blocks   uint64                  // that it keeps; 0 is none
	Usual    uint64                  // that one would keep where there is none
	Backfill int                     // older ones that it fetches in a second; 0 is none
	Cost     func(name string) int64 // credits of a call; nil gives no estimate
	// MinBlockTime is the shortest time between blocks of a network that has a ledger; 0 is any.
	MinBlockTime time.Duration
	Unprovable   bool // blocks of the network's stack can't be proven
}

// Sample is what the newest blocks of a chain are like. It is for estimates.
type Sample struct {
	Between time.Duration // two blocks; 0 is not known
	Bytes   int64         // that a block takes of the disk, about
}

// How the sample is taken.
const (
	sampleSpan   = 128 // blocks
	sampleLeast  = 16  // fewer say nothing about the time between two
	sampleBlocks = 4   // that are read whole
)

// ledgerBegins is how many blocks a ledger begins with.
const ledgerBegins = 128

// What a block takes in a ledger, which keeps the encodings that hashes are made of: the size
// that nodes tell, the receipts in a sixth of what they are as JSON, and an index.
const (
	receiptsPart = 6
	indexBytes   = 100 // of a transaction
)

// sample reads a few of the newest blocks.
func (x *exam) sample() {
	head := x.report.Head
	span := min(head, sampleSpan)
	if from, ok := x.timeOf(head - span); ok && span >= sampleLeast {
		if to, ok := x.timeOf(head); ok && to >= from {
			x.report.Sample.Between = time.Duration(to-from) * time.Second / time.Duration(span)
		}
	}
	bytes, read := int64(0), int64(0)
	for i := range min(uint64(sampleBlocks), head+1) {
		if n, ok := x.bytesOf(head - i*span/sampleBlocks); ok {
			bytes, read = bytes+n, read+1
		}
	}
	if read > 0 {
		x.report.Sample.Bytes = bytes / read
	}
}

// timeOf is the time of a block, in seconds.
func (x *exam) timeOf(number uint64) (uint64, bool) {
	block, err := x.call(method.EthGetBlockByNumber, fmt.Sprintf(`["%#x",false]`, number))
	if err != nil {
		return 0, false
	}
	return quantity(member(block, "timestamp"))
}

// bytesOf is about what a block takes of the disk.
func (x *exam) bytesOf(number uint64) (int64, bool) {
	raw, err := x.call(method.EthGetBlockByNumber, fmt.Sprintf(`["%#x",false]`, number))
	var block struct {
		Size         string
		Transactions []string
	}
	if err != nil || json.Unmarshal(raw, &block) != nil {
		return 0, false
	}
	size, ok := quantity(block.Size)
	receipts, err := x.call(method.EthGetBlockReceipts, fmt.Sprintf(`["%#x"]`, number))
	if err != nil {
		receipts = nil
	}
	return int64(min(size, 1<<40)) + int64(len(receipts)/receiptsPart+indexBytes*len(block.Transactions)), ok
}

func quantity(text string) (uint64, bool) {
	digits, ok := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, ok && err == nil
}

// judgeLedger says what a ledger takes of the nodes and of the disk.
func judgeLedger(n *Network, reports []Report) []Finding {
	l := &n.Ledger
	switch {
	case l.Cost == nil:
		return nil
	case l.Unprovable && l.Blocks > 0:
		return []Finding{{Problem: true, Text: "has a ledger, and blocks of " + n.Stack + " can't be proven: nothing will be in it. Remove ledger.blocks"}}
	case l.Unprovable:
		return []Finding{{Text: "has no ledger: blocks of " + n.Stack + " can't be proven"}}
	}
	for i := range reports {
		if r := &reports[i]; r.Err == nil && r.Sample.Bytes > 0 {
			return []Finding{{Text: l.estimate(r)}}
		}
	}
	return nil
}

func (l *Ledger) estimate(r *Report) string {
	blocks, said := l.Blocks, "its ledger of %s blocks takes "
	between := r.Sample.Between
	fast := between > 0 && between < l.MinBlockTime
	switch {
	case blocks == 0:
		blocks, said = l.Usual, "has no ledger. One of %s blocks would take "
	case fast:
		said = fmt.Sprintf("has no ledger, because there is less than %s (ledger.min_block_time) between two blocks. One of %%s blocks would take ", l.MinBlockTime)
	}
	text := fmt.Sprintf(said, grouped(blocks)) + "about " + sizeText(r.Sample.Bytes*int64(blocks)) + " of disk"
	if between > 0 {
		text += fmt.Sprintf(" and %s a day for the blocks that come, one every %s", l.calls(uint64(24*time.Hour/between)), between.Round(10*time.Millisecond))
	}
	older := min(blocks, r.Head+1)
	older -= min(older, ledgerBegins)
	switch {
	case older == 0:
		return text
	case l.Blocks == 0 || l.Backfill == 0 || fast:
		return text + fmt.Sprintf("; ledger.backfill would fetch %s older blocks with %s, once", grouped(older), l.calls(older))
	}
	took := time.Duration(older/uint64(l.Backfill)) * time.Second
	return text + fmt.Sprintf("; the backfill of %s older blocks takes %s, once, and at least %s", grouped(older), l.calls(older), took)
}

// calls is what so many blocks take: two calls each.
func (l *Ledger) calls(blocks uint64) string {
	credits := blocks * uint64(l.Cost(method.EthGetBlockByNumber)+l.Cost(method.EthGetBlockReceipts))
	return fmt.Sprintf("%s calls (%s credits)", grouped(2*blocks), grouped(credits))
}

// grouped writes a number with a comma for thousands.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// sizeText is a size for people.
func sizeText(n int64) string {
	const gib = 1 << 30
	if n >= gib {
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	}
	return fmt.Sprintf("%d MiB", max(1, n>>20))
}
