package logquery

import (
	"context"
	"errors"
	"math"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// Limits bound an answer; 0 is no bound.
type Limits struct {
	Logs  int // the walk ends with this many
	Bytes int // or with this many bytes or a few more
	// Pace, if it is set, is called before every block and every list of the index: work
	// of some microseconds.
	Pace func()
	// Hold, if it is set, reserves so many bytes before the answer takes them. Its error ends
	// the walk.
	Hold func(bytes int64) error
}

// Stop is why a walk ended.
type Stop int

// The reasons.
const (
	Complete Stop = iota // all logs of the query were found
	Full                 // a limit was reached: there may be more in block Result.At and behind
	Hole                 // the logs of block Result.At are not known here; all before it were found
	Outside              // block Result.At is not stored; nothing was searched
)

// Result is what a walk found.
type Result struct {
	Logs  []byte // a JSON array
	Count int
	Stop  Stop
	At    uint64 // where it stopped, if it is not complete
}

// Run finds the logs of a filter. An error is one of the store, or of the context: the query is
// for a node then.
func Run(ctx context.Context, rows *store.Snapshot, f *Filter, limits Limits) (Result, error) {
	w := walk{ctx: ctx, rows: rows, filter: f, limits: limits, out: []byte{'['}}
	var err error
	if f.Hash != nil {
		err = w.byHash(*f.Hash)
	} else {
		err = w.byRange()
	}
	if err != nil && !errors.Is(err, errStop) {
		return Result{}, err
	}
	return Result{Logs: append(w.out, ']'), Count: w.count, Stop: w.stop, At: w.at}, nil
}

// errStop ends a walk for the reason that it notes.
var errStop = errors.New("stop")

// walk is a query that is being answered.
type walk struct {
	ctx    context.Context
	rows   *store.Snapshot
	filter *Filter
	limits Limits

	out   []byte
	held  int // bytes that are reserved for it
	count int
	stop  Stop
	at    uint64

	search logindex.Search
	raw    [][]byte
	holes  []byte

	head  form.Head // of the block that is being looked at
	place store.Place
}

// end ends the walk.
func (w *walk) end(why Stop, at uint64) error {
	w.stop, w.at = why, at
	return errStop
}

// byHash looks at one block, canonical or not.
func (w *walk) byHash(hash [32]byte) error {
	at, ok, err := w.rows.ByHash(hash)
	if err != nil {
		return err
	}
	if !ok {
		return w.end(Outside, 0)
	}
	m, ok, err := w.rows.Canonical(at.Number)
	if err != nil {
		return err
	}
	if ok && m.Place == at && m.Hole {
		return w.end(Hole, at.Number)
	}
	return w.block(at, nil)
}

// byRange looks at the blocks that the index names.
func (w *walk) byRange() error {
	first, last, ok := w.rows.Span()
	switch {
	case !ok || w.filter.From < first:
		return w.end(Outside, w.filter.From)
	case w.filter.To > last:
		return w.end(Outside, max(last+1, w.filter.From))
	}
	keys := w.filter.keys()
	for from := w.filter.From; ; {
		section := logindex.Section(from)
		to := min(w.filter.To, section*logindex.SectionBlocks+logindex.SectionBlocks-1)
		if err := w.section(section, keys, from, to); err != nil || to == w.filter.To {
			return err
		}
		from = to + 1
	}
}

// section looks at the blocks of a section, from one up to another.
func (w *walk) section(section uint64, keys [][]logindex.Key, from, to uint64) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if len(keys) == 0 {
		for n := from; n <= to; n++ {
			if err := w.height(n, nil); err != nil {
				return err
			}
		}
		return nil
	}
	list, err := w.candidates(section, keys)
	for i := 0; i < len(list) && err == nil; i++ {
		if n := section*logindex.SectionBlocks + uint64(list[i].Block); n >= from && n <= to {
			err = w.height(n, list[i].Txs)
		}
	}
	return err
}

// candidates are the blocks of a section that may have a log of the query, and those whose
// logs may be unknown.
func (w *walk) candidates(section uint64, keys [][]logindex.Key) (list []logindex.Posting, err error) {
	if w.holes, err = w.rows.Holes(w.holes[:0], section); err != nil {
		return nil, err
	}
	if w.raw == nil {
		w.raw = make([][]byte, len(keys))
	}
	lists := make([][]byte, len(keys))
	for i := range keys {
		if i == len(keys)-1 && w.filter.hasEvent() && few(lists[:i]) {
			lists = lists[:i]
			break
		}
		if err = w.pace(); err != nil {
			return nil, err
		}
		if w.raw[i], err = w.rows.Lists(w.raw[i][:0], section, keys[i]); err != nil {
			return nil, err
		}
		if lists[i] = w.raw[i]; len(lists[i]) == 0 {
			lists = nil // nothing has all of them
			break
		}
	}
	list, ok := w.search.Section(lists, w.holes)
	if !ok {
		return nil, &nodegate.Error{Op: "ledger.logs", Code: nodegate.Damaged, Msg: "the ledger's index of logs is damaged"}
	}
	return list, nil
}

// fewBytes is how long a list of a few transactions is.
const fewBytes = 16

// few tells whether lists leave so few transactions that to look at their logs takes less than
// to read the list of an event, which may name every block of the section.
func few(lists [][]byte) bool {
	for _, l := range lists {
		if len(l) <= fewBytes {
			return true
		}
	}
	return false
}

// height looks at the canonical block of a height: at some of its transactions, or at all.
func (w *walk) height(number uint64, txs []uint32) error {
	if err := w.pace(); err != nil {
		return err
	}
	m, ok, err := w.rows.Canonical(number)
	switch {
	case unknown(err) || err == nil && (!ok || m.Hole):
		return w.end(Hole, number)
	case err != nil:
		return err
	}
	return w.block(m.Place, txs)
}

// pace comes before every step. Its error is that of the context.
func (w *walk) pace() error {
	if w.limits.Pace != nil {
		w.limits.Pace()
	}
	return w.ctx.Err()
}

// unknown tells whether an error means that a block's logs have to be asked of a node.
func unknown(err error) bool {
	return errors.Is(err, nodegate.Damaged) || errors.Is(err, nodegate.NotFound)
}

// block looks at transactions of a block. What was found in a block that can't be read to its
// end is dropped.
func (w *walk) block(at store.Place, txs []uint32) error {
	size, count := len(w.out), w.count
	err := w.receipts(at, txs)
	if unknown(err) {
		err = w.end(Hole, at.Number)
	}
	if errors.Is(err, errStop) && w.stop == Hole {
		w.out, w.count = w.out[:size], count
	}
	return err
}

func (w *walk) receipts(at store.Place, txs []uint32) error {
	h, err := w.rows.Outline(at)
	if err != nil {
		return err
	}
	if h.Kept || h.Partial || h.Receipts != h.Txs {
		return w.end(Hole, at.Number)
	}
	w.place = at
	w.head.Hash, w.head.Number, w.head.Time = at.Hash, at.Number, h.Time
	if txs == nil {
		var stop error
		err := w.rows.Receipts(at, func(i int, row store.Receipt) bool {
			stop = w.receipt(i, &row)
			return stop == nil
		})
		return errors.Join(err, stop)
	}
	for _, tx := range txs {
		if int(tx) >= h.Txs {
			break // of a block that this one replaced
		}
		if err := w.rows.UseReceipt(at, int(tx), func(row *store.Receipt) error { return w.receipt(int(tx), row) }); err != nil {
			return err
		}
	}
	return nil
}

// receipt looks at the logs of a transaction.
func (w *walk) receipt(tx int, row *store.Receipt) error {
	logs := form.LogsOf(row.Data)
	at := form.Place{Index: uint64(tx), Log: row.FirstLog}
	for hashed := false; logs.Next(); at.Log++ {
		if !w.filter.matches(&logs.Log) {
			continue
		}
		if !hashed {
			hash, err := w.rows.TxHash(w.place, tx)
			if err != nil {
				return err
			}
			at.Transaction, hashed = hash, true
		}
		if len(w.out)+2*len(logs.Data) >= limit(w.limits.Bytes) { // some have megabytes
			return w.end(Full, w.place.Number)
		}
		if err := w.hold(logBytes + 2*len(logs.Data)); err != nil {
			return err
		}
		if w.count > 0 {
			w.out = append(w.out, ',')
		}
		w.out = form.AppendLog(w.out, &w.head, &at, &logs.Log)
		w.count++
		if w.count >= limit(w.limits.Logs) || len(w.out) >= limit(w.limits.Bytes) {
			return w.end(Full, w.place.Number)
		}
	}
	if !logs.OK() {
		return w.end(Hole, w.place.Number)
	}
	return nil
}

// The figures of reserving: a log takes less than logBytes beside its data, and what is less
// than freeBytes is not counted.
const (
	logBytes  = 1 << 10
	freeBytes = 64 << 10
)

// hold makes room for so many more bytes. A buffer that is too small is replaced by one of
// twice its size, and both are there while one is copied to the other.
func (w *walk) hold(more int) error {
	need := len(w.out) + more
	if w.limits.Hold == nil || need <= freeBytes || need <= cap(w.out) && need <= w.held {
		return nil
	}
	size := max(2*len(w.out), need, 2*freeBytes)
	if err := w.limits.Hold(int64(size)); err != nil {
		return err
	}
	w.held += size
	w.out = append(make([]byte, 0, size), w.out...)
	return nil
}

func limit(n int) int {
	if n == 0 {
		return math.MaxInt
	}
	return n
}
