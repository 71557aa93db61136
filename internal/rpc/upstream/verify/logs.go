package verify

import (
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// The fields of a log.
const (
	logAddress = iota
	logTopics
	logData
	logBlockHash
	logBlockNumber
	logTransaction
	logTransactionIndex
	logIndex
	logRemoved
	logTimestamp // not checked
	logFields
)

var logNames = names{
	list:   []string{"address", "topics", "data", "blockHash", "blockNumber", "transactionHash", "transactionIndex", "logIndex", "removed", "blockTimestamp"},
	at:     logField,
	nested: logTopics,
}

func logField(name []byte) int {
	switch string(name) {
	case "address":
		return logAddress
	case "topics":
		return logTopics
	case "data":
		return logData
	case "blockHash":
		return logBlockHash
	case "blockNumber":
		return logBlockNumber
	case "transactionHash":
		return logTransaction
	case "transactionIndex":
		return logTransactionIndex
	case "logIndex":
		return logIndex
	case "removed":
		return logRemoved
	case "blockTimestamp":
		return logTimestamp
	}
	return -1
}

// maxTopics is how many topics a log can have.
const maxTopics = 4

// logRow is a log as it was read.
type logRow struct {
	fields [logFields][]byte
	list   [maxTopics][]byte
	count  int // of topics
	other  uint64
	broken bool
}

func (l *logRow) topics() [][]byte { return l.list[:l.count] }

// scanLogs reads a list of logs into the room for them.
func (s *scratch) scanLogs(in *scanner) {
	clear(s.logs) // lets go of the answer
	s.logs = s.logs[:0]
	if !in.take('[') {
		return
	}
	for first := true; in.more(first, ']'); first = false {
		s.logs = append(s.logs, logRow{})
		s.scanLog(in, &s.logs[len(s.logs)-1])
	}
}

func (s *scratch) scanLog(in *scanner, l *logRow) {
	o := logNames.scan(in, l.fields[:], s.seed, &s.logHabit, func() bool {
		if in.peek() != '[' {
			return false
		}
		in.take('[')
		for first := true; in.more(first, ']'); first = false {
			if t := in.value(); l.count < maxTopics {
				l.list[l.count] = t
				l.count++
			} else {
				l.broken = true
			}
		}
		return true
	})
	l.other, l.broken = o.other, l.broken || o.broken || l.fields[logTopics] == nil
}

// filter is what logs were asked for.
type filter struct {
	addresses [][]byte // none: any
	topics    [][][]byte
	block     []byte // the hash of their block, or nil
	from, to  uint64
	hasFrom   bool
	hasTo     bool
}

// read reads a filter. One that can't be read is the node's to refuse.
func (f *filter) read(raw []byte) bool {
	return jsonrpc.Fields(raw, func(name, value []byte) bool {
		ok := true
		switch string(name) {
		case "address":
			f.addresses, ok = oneOrMore(value)
		case "topics":
			ok = f.readTopics(value)
		case "blockHash":
			f.block = value
		case "fromBlock":
			f.from, f.hasFrom = hexjson.Quantity(value)
		case "toBlock":
			f.to, f.hasTo = hexjson.Quantity(value)
		}
		return ok
	})
}

func (f *filter) readTopics(raw []byte) bool {
	if raw[0] == 'n' {
		return true
	}
	list, ok := jsonrpc.Elements(nil, raw)
	for _, position := range list {
		either, fine := oneOrMore(position)
		f.topics, ok = append(f.topics, either), ok && fine
	}
	return ok
}

// oneOrMore reads a string or a list of them; null and a list with a null in it are any.
func oneOrMore(raw []byte) (list [][]byte, ok bool) {
	switch raw[0] {
	case 'n':
		return nil, true
	case '"':
		return [][]byte{raw}, true
	}
	list, ok = jsonrpc.Elements(nil, raw)
	for _, e := range list {
		if e[0] == 'n' {
			return nil, ok
		}
	}
	return list, ok
}

// asked says what speaks against a log, or "".
func (f *filter) asked(l *logRow, number uint64) string {
	topics := l.topics()
	switch {
	case f.block != nil && !same(l.fields[logBlockHash], f.block):
		return "a log is of another block than was asked for"
	case f.hasFrom && number < f.from || f.hasTo && number > f.to:
		return "a log is of a block outside the range"
	case len(f.addresses) > 0 && !isOneOf(l.fields[logAddress], f.addresses):
		return "a log is of another address than was asked for"
	}
	for i, either := range f.topics {
		if len(either) > 0 && (i >= len(topics) || !isOneOf(topics[i], either)) {
			return "a log has other topics than were asked for"
		}
	}
	return ""
}

func isOneOf(token []byte, list [][]byte) bool {
	for _, e := range list {
		if same(token, e) {
			return true
		}
	}
	return false
}

// spot is where the log before was.
type spot struct {
	number, index uint64
	block         []byte
}

// checkLogs checks logs against the filter, and that they are in order.
func (s *scratch) checkLogs(f *filter, result []byte, known func([32]byte) *Header) *Finding {
	in := s.begin(result)
	if s.scanLogs(&in); !in.ended() {
		return falsely(Identity, "the answer is not a list of logs")
	}
	var last spot
	var header *Header
	for i := range s.logs {
		l := &s.logs[i]
		if l.broken {
			return falsely(Identity, "a log can't be read, or names a field twice")
		}
		at, found := s.oneLog(f, l, i == 0, &last)
		if found != nil {
			_ = fixed(found.Claim[:], l.fields[logBlockHash]) // or zero
			if found.Shape = l.other; found.Foreign {
				found.Shape++
			}
			return found
		}
		if i == 0 || !same(at.block, last.block) {
			header = s.headerOf(at.block, known)
		}
		if found := s.inBloom(l, header, at.number); found != nil {
			return found
		}
		last = at
	}
	return nil
}

// oneLog checks one log, and that it comes after the last.
func (s *scratch) oneLog(f *filter, l *logRow, first bool, last *spot) (at spot, found *Finding) {
	at.block = l.fields[logBlockHash]
	var numbered, indexed bool
	at.number, numbered = hexjson.Quantity(l.fields[logBlockNumber])
	at.index, indexed = hexjson.Quantity(l.fields[logIndex])
	if !numbered || !indexed || !isHash(at.block) || !isHash(l.fields[logTransaction]) {
		return at, falsely(Placement, "a log doesn't name its index, its block and its transaction")
	}
	if why := f.asked(l, at.number); why != "" {
		return at, falsely(Identity, "%s", why)
	}
	switch {
	case l.count < len(f.topics):
		return at, falsely(FilterMatch, "a log has fewer topics than were asked for")
	case string(l.fields[logRemoved]) == "true":
		return at, falsely(FilterMatch, "a log is marked as removed")
	case first:
	case at.number < last.number:
		return at, falsely(FilterMatch, "logs are not in the order of blocks")
	case at.number == last.number && at.index <= last.index: // some chains count them by transaction
		return at, &Finding{Kind: FilterMatch, Foreign: true, What: "logs are not in the order of their indices"}
	case (at.number == last.number) != same(at.block, last.block):
		return at, falsely(Placement, "logs give one block two numbers, or two blocks one")
	}
	return at, nil
}

// headerOf is the checked header of a block, if it is known.
func (s *scratch) headerOf(token []byte, known func([32]byte) *Header) *Header {
	var hash [32]byte
	if !fixed(hash[:], token) {
		return nil
	}
	return known(hash)
}

// inBloom checks a log against the header of its block.
func (s *scratch) inBloom(l *logRow, h *Header, number uint64) *Finding {
	if h == nil {
		return nil
	}
	if h.Number != number {
		return &Finding{Kind: Placement, Claim: h.Hash, What: "a log's block has another number"}
	}
	clear(s.working[:])
	s.blooms.reset()
	if !s.addLog(l) || !within(&s.working, &h.Bloom) {
		return &Finding{Kind: Bloom, Claim: h.Hash, What: "a log is not in the bloom filter of its block"}
	}
	return nil
}
