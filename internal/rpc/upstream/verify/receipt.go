package verify

import "github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"

// The fields of a receipt.
const (
	rcTransactionHash = iota
	rcIndex
	rcBlockHash
	rcBlockNumber
	rcCumulative
	rcLogs
	rcBloom
	rcType
	rcStatus
	rcRoot
	rcDepositNonce
	rcDepositVersion
	receiptFields
)

var receiptNames = names{
	list: []string{
		"transactionHash", "transactionIndex", "blockHash", "blockNumber", "cumulativeGasUsed", "logs", "logsBloom", "type", "status", "root",
		"depositNonce", "depositReceiptVersion",
	},
	at:     receiptField,
	nested: rcLogs,
}

func receiptField(name []byte) int {
	switch string(name) {
	case "transactionHash":
		return rcTransactionHash
	case "transactionIndex":
		return rcIndex
	case "blockHash":
		return rcBlockHash
	case "blockNumber":
		return rcBlockNumber
	case "cumulativeGasUsed":
		return rcCumulative
	case "logs":
		return rcLogs
	case "logsBloom":
		return rcBloom
	case "type":
		return rcType
	case "status":
		return rcStatus
	case "root":
		return rcRoot
	case "depositNonce":
		return rcDepositNonce
	case "depositReceiptVersion":
		return rcDepositVersion
	}
	return -1
}

// view is a receipt as far as it was read.
type view struct {
	object
	kind uint64
	next int // the index of the log after its own
}

// mode says what is made of a receipt's logs on the way.
type mode uint8

const (
	blooming mode = iota // the bloom filter that they make is compared
	encoding             // the receipt is encoded, into the trie
)

// receipt reads the next receipt and checks that its logs are where it is itself. next is the
// index of its first log in the block, or -1 when that isn't known.
func (s *scratch) receipt(in *scanner, next int, m mode) (v view, f *Finding) {
	v.object = receiptNames.scan(in, s.fields[:receiptFields], s.seed, &s.receiptHabit, func() bool {
		if in.peek() != '[' {
			return false
		}
		s.scanLogs(in)
		return true
	})
	if in.bad || v.broken {
		return v, falsely(Identity, "the receipt can't be read, or names a field twice")
	}
	v.next = next
	kind, ok := typeOf(v.fields[rcType])
	if v.kind = kind; !ok || !isHash(v.fields[rcBlockHash]) || !isHash(v.fields[rcTransactionHash]) {
		return v, v.found(Placement, "the receipt doesn't name its block, its transaction and its type")
	}
	if v.fields[rcLogs] == nil || v.fields[rcLogs][0] != '[' {
		return v, v.found(Placement, "the receipt has no list of logs")
	}
	if len(s.logs) > 0 && string(v.fields[rcStatus]) == `"0x0"` {
		return v, v.found(Placement, "the receipt of a failed transaction has logs")
	}
	if m == encoding {
		return v, s.encodeReceipt(&v)
	}
	return v, s.bloomReceipt(&v)
}

// found is a finding about the receipt.
func (v *view) found(k Kind, what string) *Finding {
	f := &Finding{Kind: k, Shape: v.kind<<32 ^ v.other, Foreign: v.kind > setCodeType, What: what}
	_ = fixed(f.Claim[:], v.fields[rcTransactionHash]) // or zero
	return f
}

// bloomReceipt compares the bloom filter of the logs with the receipt's.
func (s *scratch) bloomReceipt(v *view) *Finding {
	clear(s.working[:])
	s.blooms.reset()
	for i := range s.logs {
		l := &s.logs[i]
		if f := s.placed(v, l); f != nil {
			return f
		}
		if !s.addLog(l) {
			return v.found(Bloom, "the receipt's logs can't be read")
		}
	}
	var given [bloomBytes]byte
	if !fixed(given[:], v.fields[rcBloom]) || given != s.working {
		return v.found(Bloom, "the receipt's logs don't make its bloom filter")
	}
	return nil
}

// encodeReceipt appends what the receipts root is made of.
func (s *scratch) encodeReceipt(v *view) *Finding {
	w := writer{out: s.trie.data, ok: true}
	if v.kind != legacyType {
		w.out = append(w.out, byte(v.kind))
	}
	start := len(w.out)
	if v.fields[rcStatus] == nil {
		w.data(v.fields[rcRoot])
	} else {
		w.quantity(v.fields[rcStatus])
	}
	w.quantity(v.fields[rcCumulative])
	w.data(v.fields[rcBloom])
	logs := len(w.out)
	for i := range s.logs {
		if f := s.placed(v, &s.logs[i]); f != nil {
			return f
		}
		w.log(&s.logs[i])
	}
	w.out = wrap(w.out, logs)
	if v.kind == depositType && v.fields[rcDepositVersion] != nil {
		w.quantity(v.fields[rcDepositNonce])
		w.quantity(v.fields[rcDepositVersion])
	}
	s.trie.data = wrap(w.out, start)
	s.trie.add()
	if !w.ok {
		return v.found(ReceiptsRoot, "the receipt can't be encoded")
	}
	return nil
}

// placed checks that a log is where its receipt is.
func (s *scratch) placed(v *view, l *logRow) *Finding {
	switch {
	case l.broken:
		return v.found(Identity, "a log can't be read, or names a field twice")
	case !same(l.fields[logBlockHash], v.fields[rcBlockHash]) || !same(l.fields[logBlockNumber], v.fields[rcBlockNumber]):
		return v.found(Placement, "a log names another block than its receipt")
	case !same(l.fields[logTransaction], v.fields[rcTransactionHash]) || !same(l.fields[logTransactionIndex], v.fields[rcIndex]):
		return v.found(Placement, "a log names another transaction than its receipt")
	}
	index, ok := hexjson.Quantity(l.fields[logIndex])
	if !ok || v.next >= 0 && index != uint64(v.next) {
		return v.found(Placement, "logs are not numbered one after the other")
	}
	v.next = int(index) + 1
	return nil
}

// log writes what receipts hold of a log.
func (w *writer) log(l *logRow) {
	start := len(w.out)
	w.data(l.fields[logAddress])
	topics := len(w.out)
	for _, t := range l.topics() {
		w.data(t)
	}
	w.out = wrap(w.out, topics)
	w.data(l.fields[logData])
	w.out = wrap(w.out, start)
}
