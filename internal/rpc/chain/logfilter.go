package chain

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/rpc"
)

// logsSource is the key of the source of all logs.
const logsSource = "logs"

// subject is what a subscription is to.
type subject struct {
	key    string     // of the stream: the same for parameters that mean the same
	source string     // the key of go-ethereum's subscription
	filter *logFilter // nil: every event of the source
	args   []any
}

// subjectOf reads the parameters of eth_subscribe. What is not known here is a subject
// of its own, and go-ethereum says what it thinks of it.
func subjectOf(args []any) subject {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = string(a.(json.RawMessage))
	}
	key := strings.Join(texts, ",")
	s := subject{key: key, source: key, args: args}
	switch {
	case len(texts) == 2 && texts[0] == `"logs"`:
		if filter := readLogFilter(texts[1]); filter != nil {
			s.filter, s.source, s.key = filter, logsSource, logsSource+" "+filter.key
		}
	case len(texts) == 2 && texts[0] == `"newPendingTransactions"` && (texts[1] == "false" || texts[1] == "null"):
		s.key, s.source, s.args = texts[0], texts[0], args[:1]
	}
	return s
}

// logFilter selects logs as go-ethereum's does.
type logFilter struct {
	addresses map[common.Address]struct{} // none: any
	topics    []map[common.Hash]struct{}  // by position; an empty one: any
	from, to  uint64                      // blocks
	key       string                      // the same for filters that say the same in another order
	brief     []any                       // parameters that go-ethereum accepts if it accepts the filter's; nil: there are no shorter ones
}

// readLogFilter is nil for what is no filter.
func readLogFilter(text string) *logFilter {
	var crit filters.FilterCriteria
	if text == "null" || json.Unmarshal([]byte(text), &crit) != nil {
		return nil
	}
	f := &logFilter{addresses: setOf(crit.Addresses), to: math.MaxUint64, key: keyOf(&crit), brief: briefOf(&crit)}
	for _, choices := range crit.Topics {
		f.topics = append(f.topics, setOf(choices))
	}
	// Negative numbers are tags: of those only latest and earliest pass the check, and
	// neither leaves out what is new.
	if crit.FromBlock != nil && crit.FromBlock.Sign() >= 0 {
		f.from = crit.FromBlock.Uint64()
	}
	if crit.ToBlock != nil && crit.ToBlock.Sign() >= 0 {
		f.to = crit.ToBlock.Uint64()
	}
	return f
}

func setOf[T comparable](list []T) map[T]struct{} {
	set := make(map[T]struct{}, len(list))
	for _, v := range list {
		set[v] = struct{}{}
	}
	return set
}

// briefOf leaves out what go-ethereum has accepted already when it read a filter, which would
// only be read twice more: its lists, where they are not too long.
func briefOf(crit *filters.FilterCriteria) []any {
	longest := len(crit.Addresses)
	for _, choices := range crit.Topics {
		longest = max(longest, len(choices))
	}
	if longest > ethconfig.Defaults.LogQueryLimit {
		return nil
	}
	blocks := map[string]rpc.BlockNumber{}
	if crit.FromBlock != nil {
		blocks["fromBlock"] = rpc.BlockNumber(crit.FromBlock.Int64())
	}
	if crit.ToBlock != nil {
		blocks["toBlock"] = rpc.BlockNumber(crit.ToBlock.Int64())
	}
	text, err := json.Marshal(blocks)
	if err != nil {
		return nil
	}
	return []any{"logs", json.RawMessage(text)}
}

// keyOf digests a filter. What is given twice stays so: go-ethereum counts.
func keyOf(crit *filters.FilterCriteria) string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, crit.FromBlock, crit.ToBlock, len(crit.Addresses))
	for _, a := range sorted(crit.Addresses, common.Address.Cmp) {
		h.Write(a[:])
	}
	for _, choices := range crit.Topics {
		_, _ = fmt.Fprintln(h, len(choices))
		for _, topic := range sorted(choices, common.Hash.Cmp) {
			h.Write(topic[:])
		}
	}
	return string(h.Sum(nil))
}

func sorted[T any](list []T, compare func(a, b T) int) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, compare)
	return list
}

// matches tells whether a log is selected.
func (f *logFilter) matches(l *types.Log) bool {
	if l.BlockNumber < f.from || l.BlockNumber > f.to || len(f.topics) > len(l.Topics) {
		return false
	}
	if _, in := f.addresses[l.Address]; !in && len(f.addresses) > 0 {
		return false
	}
	for i, choices := range f.topics {
		if _, in := choices[l.Topics[i]]; !in && len(choices) > 0 {
			return false
		}
	}
	return true
}
