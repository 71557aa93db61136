package form

// row is the fields of a receipt's row: a receipt as it is hashed, without its type, which
// is the transaction's, and without its bloom filter, which the logs give.
type row struct {
	state      []byte // 32 bytes, before Byzantium; else the status: 1, or nothing
	cumulative uint64
	logs       cursor
	deposit    []byte // the last two fields of a deposit's receipt, or nothing
	nonce      uint64 // the first of them
}

// readRow finds the fields of a row.
func readRow(b []byte) (r row, ok bool) {
	in := cursor{rest: b}
	list := in.list()
	r.begin(&list)
	r.end(&list)
	return r, in.done() && list.done()
}

// begin reads what is before the bloom filter of a receipt.
func (r *row) begin(in *cursor) {
	r.state = in.data()
	r.cumulative = in.number()
	if n := len(r.state); n != hashBytes && n != 0 && (n != 1 || r.state[0] != 1) {
		in.fail()
	}
}

// end reads what is after it. Receipts of OP stack deposits have a nonce and a version.
func (r *row) end(in *cursor) {
	r.logs, r.deposit = in.list(), in.rest
	if in.more() {
		r.nonce = in.number()
		in.number() // the version
	}
}

// DepositNonce is the nonce of an OP stack deposit, which only its receipt has, and only
// since the fork Canyon.
func DepositNonce(row []byte) (nonce uint64, ok bool) {
	r, ok := readRow(row)
	return r.nonce, ok && len(r.deposit) > 0
}

// Slim is what a receipt's row says about the rows after it.
type Slim struct {
	Cumulative uint64 // gas used in the block up to here
	Logs       uint64 // how many it has
}

// Slim appends the row of a receipt in its consensus encoding. It returns false, and dst as
// it was, when Consensus would not make the same receipt of the row again.
func (w *Writer) Slim(dst, receipt []byte) ([]byte, Slim, bool) {
	in, kind := cursor{rest: receipt}, byte(legacyType)
	typed := len(receipt) > 0 && receipt[0] < shortString
	if typed {
		kind, in.rest = receipt[0], receipt[1:]
	}
	list := in.list()
	all := list.rest
	var r row
	r.begin(&list)
	front := all[:len(all)-len(list.rest)]
	given := list.fixed(BloomBytes)
	back := list.rest
	r.end(&list)
	if !in.done() || !list.done() || typed && kind == legacyType || !r.of(kind) {
		return dst, Slim{}, false
	}
	s := w.get()
	defer w.put(s)
	count, ok := s.filter(r.logs)
	if !ok || string(s.bloom[:]) != string(given) {
		return dst, Slim{}, false
	}
	dst = appendHead(dst, shortList, len(front)+len(back))
	return append(append(dst, front...), back...), Slim{r.cumulative, count}, true
}

// of tells whether a receipt of that type can have such a row.
func (r *row) of(kind byte) bool {
	return kind == depositType || kind <= setCodeType && len(r.deposit) == 0
}

// filter makes the bloom filter of logs, and counts them.
func (s *scratch) filter(list cursor) (count uint64, ok bool) {
	clear(s.bloom[:])
	logs := Logs{rest: list}
	for logs.Next() {
		s.addLog(&s.bloom, &logs.Log)
		count++
	}
	return count, logs.OK()
}

// Consensus appends a receipt in its consensus encoding, given its row and the type of its
// transaction. It returns false, and dst as it was, when the row can't be read.
func (w *Writer) Consensus(dst []byte, kind byte, row []byte) ([]byte, bool) {
	r, ok := readRow(row)
	if !ok || !r.of(kind) {
		return dst, false
	}
	s := w.get()
	defer w.put(s)
	if _, ok := s.filter(r.logs); !ok {
		return dst, false
	}
	in := cursor{rest: row}
	list := in.list()
	all := list.rest
	list.data() // the status
	list.data() // the gas
	front, back := all[:len(all)-len(list.rest)], list.rest
	if kind != legacyType {
		dst = append(dst, kind)
	}
	const bloomHead = 3
	dst = appendHead(dst, shortList, len(all)+bloomHead+BloomBytes)
	dst = appendData(append(dst, front...), s.bloom[:])
	return append(dst, back...), true
}
