package store

import (
	"bytes"
	"errors"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A copy of the format before this one is rewritten and not fetched again: its older blocks
// may have cost many calls. There each part of a block had another kind of rows, and the lists
// of holes were among those of logs. A batch converts a few heights, so that a crash in between
// leaves the rest for the next start.
const formatApart = 2

// The kinds of rows that only that format has. Heads had the kind of blocks, and no part.
const (
	apartSenders = 'f'
	apartHashes  = 'k'
	apartReceipt = 'r'
	apartTx      = 't'
)

// apart says which part each kind has become.
var apart = [...]struct {
	kind byte
	part part
}{{keyBlock, partHead}, {apartSenders, partSenders}, {apartHashes, partHashes}, {apartTx, partTx}, {apartReceipt, partReceipt}}

// convertHeights is how many heights one batch converts: some have a megabyte.
const convertHeights = 16

// converter brings a copy to this format.
type converter struct {
	cfg *Config
	db  source
}

func (c *converter) convert() error {
	c.cfg.Log.Info("converting the ledger's database to a new format: nodes answer until that is done", "folder", c.cfg.Dir)
	begun := time.Now()
	err := c.holes()
	for next, more := uint64(0), true; more && err == nil; {
		if err = c.goesOn(); err == nil {
			next, more, err = c.some(next)
		}
	}
	if err == nil {
		err = c.db.pebble.Set([]byte{keyIdentity}, c.cfg.identity(), pebble.Sync)
	}
	if err = errors.Join(err, c.db.health.final()); err != nil { // Pebble reports a failed commit to its log only
		return err
	}
	c.cfg.Log.Info("the ledger's database is converted", "folder", c.cfg.Dir, "took", time.Since(begun).Round(time.Millisecond))
	return nil
}

// errStopped is why a conversion isn't done.
var errStopped = errors.New("the conversion of the ledger's database was stopped: the next start continues it")

// goesOn returns why the conversion has to pause.
func (c *converter) goesOn() error {
	select {
	case <-c.cfg.Stop:
		return errStopped
	default:
		return c.cfg.Guard.Check()
	}
}

// change is what one batch converts.
func (c *converter) change() *change { return &change{db: c.db, batch: c.db.pebble.NewBatch()} }

// apply writes a batch, or nothing after an error.
func (c *change) apply(err error) error {
	if err = errors.Join(err, c.err); err != nil {
		return errors.Join(err, c.batch.Close())
	}
	return c.batch.Commit(pebble.NoSync)
}

// holes takes the lists of holes from among those of logs.
func (c *converter) holes() error {
	b := c.change()
	it, err := c.db.rows.NewIter(&pebble.IterOptions{LowerBound: []byte{keyLogs}, UpperBound: []byte{keyLogs + 1}})
	if err != nil {
		return b.apply(err)
	}
	for more := it.First(); more && len(it.Key()) >= len(holesKey(0)); { // a section's holes come before its other lists
		section := numberOf(it.Key())
		if len(it.Key()) == len(holesKey(0)) {
			value, err := it.ValueAndErr()
			if err != nil {
				break // the iterator has it
			}
			b.set(holesKey(section), value)
			b.del(bytes.Clone(it.Key()))
		}
		more = it.SeekGE(heightKey(keyLogs, section+1))
	}
	return b.apply(it.Close())
}

// some converts the lowest heights from one on that are still apart. More is false if
// there were none.
func (c *converter) some(from uint64) (next uint64, more bool, err error) {
	from, more, err = c.db.lowestApart(from)
	if err != nil || !more {
		return 0, false, err
	}
	to := from + min(convertHeights, math.MaxUint64-from)
	b := c.change()
	for _, a := range apart {
		if err = b.join(a.kind, a.part, from, to); err != nil {
			return 0, false, b.apply(err)
		}
	}
	return to, true, b.apply(nil)
}

// join puts the rows of a kind to their blocks.
func (c *change) join(kind byte, p part, from, to uint64) error {
	err := c.db.scan(heightKey(kind, from), heightKey(kind, to), func(key, value []byte) error {
		number, branch, ok := placeOf(key)
		if !ok {
			return errRow
		}
		if _, joined := partOf(key); joined {
			return nil
		}
		c.set(append(partKey(p, number, branch), key[10:]...), value)
		if kind == keyBlock {
			c.del(bytes.Clone(key))
		}
		return nil
	})
	if kind != keyBlock {
		c.delRange(heightKey(kind, from), heightKey(kind, to))
	}
	return err
}

// lowestApart is the lowest height from one on whose rows are apart.
func (d source) lowestApart(from uint64) (number uint64, ok bool, err error) {
	it, err := d.rows.NewIter(&pebble.IterOptions{LowerBound: heightKey(keyBlock, from), UpperBound: []byte{keyBlock + 1}})
	if err != nil {
		return 0, false, err
	}
	for more := it.First(); more && !ok; {
		n, branch, whole := placeOf(it.Key())
		if _, joined := partOf(it.Key()); whole && joined {
			more = it.SeekGE(afterBlock(n, branch))
			continue
		}
		number, ok = n, true
	}
	return number, ok, it.Close()
}
