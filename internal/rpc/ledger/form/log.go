package form

// Log is a log of a receipt, as it is stored: its parts are slices of the row.
type Log struct {
	Address []byte // 20 bytes
	Data    []byte
	topics  []byte // RLP
}

// topicBytes is the length of a topic in RLP.
const topicBytes = 1 + hashBytes

// Topics is how many topics the log has.
func (l *Log) Topics() int { return len(l.topics) / topicBytes }

// Topic is one topic, of 32 bytes.
func (l *Log) Topic(i int) []byte { return l.topics[i*topicBytes+1 : (i+1)*topicBytes] }

// Logs goes through the logs of a receipt's row:
//
//	logs := form.LogsOf(row)
//	for logs.Next() {
//		use(&logs.Log)
//	}
//	if !logs.OK() {
//		// the row can't be read
//	}
type Logs struct {
	Log
	rest cursor
}

// LogsOf returns the logs of a receipt's row.
func LogsOf(row []byte) Logs {
	r, ok := readRow(row)
	if !ok {
		return Logs{rest: cursor{bad: true}}
	}
	return Logs{rest: r.logs}
}

// Next moves on to the next log. It returns false after the last one, and where the row
// can't be read further.
func (l *Logs) Next() bool {
	if !l.rest.more() {
		return false
	}
	in := l.rest.list()
	l.Address = in.fixed(addressBytes)
	topics := in.list()
	l.topics, l.Data = topics.rest, in.data()
	for topics.more() {
		topics.fixed(hashBytes)
	}
	if !topics.done() || !in.done() {
		l.rest.fail()
	}
	return !l.rest.bad
}

// OK tells whether all logs could be read.
func (l *Logs) OK() bool { return l.rest.done() }

// Place is where a log is within its block.
type Place struct {
	Transaction [hashBytes]byte
	Index       uint64 // of the transaction
	Log         uint64 // its own index in the block
	Removed     bool   // the block is no longer in the chain
}

// AppendLog appends a log of the block h.
func AppendLog(dst []byte, h *Head, at *Place, l *Log) []byte {
	t := text{dst}
	t.logContent(l)
	t.logPlace(h, at)
	t.logEnd(at)
	return t.b
}

// logPlace writes what all logs of a receipt have in common.
func (t *text) logPlace(h *Head, at *Place) {
	t.number(`,"blockNumber":`, h.Number)
	t.data(`,"transactionHash":`, at.Transaction[:])
	t.number(`,"transactionIndex":`, at.Index)
	t.data(`,"blockHash":`, h.Hash[:])
	t.number(`,"blockTimestamp":`, h.Time)
}

// logContent writes what the log itself holds.
func (t *text) logContent(l *Log) {
	t.data(`{"address":`, l.Address)
	t.raw(`,"topics":[`)
	for i := range l.Topics() {
		t.comma(i == 0)
		t.quote(l.Topic(i))
	}
	t.data(`],"data":`, l.Data)
}

func (t *text) logEnd(at *Place) {
	t.number(`,"logIndex":`, at.Log)
	if at.Removed {
		t.raw(`,"removed":true}`)
		return
	}
	t.raw(`,"removed":false}`)
}

// The most characters of a log beside its data and topics, and of a topic.
const (
	logText   = 440
	topicText = 2*hashBytes + 5
)
