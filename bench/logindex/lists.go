package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
)

// openPebble opens a database with the settings of the ledger's.
func openPebble(dir string) (*pebble.DB, error) {
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	o := &pebble.Options{Cache: cache, MemTableSize: 8 << 20, MaxOpenFiles: 128, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}}
	for i := range o.Levels {
		o.Levels[i].BlockSize = 32 << 10
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
	return pebble.Open(dir, o)
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(f string, a ...any) {
	panic(f)
}

// lists is the ledger's own index: lists that blocks append to.
type lists struct{ db *pebble.DB }

func openLists(dir string) (*lists, error) {
	db, err := openPebble(dir)
	return &lists{db}, err
}

func listKey(section uint64, key logindex.Key) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'l'}, section), key[:]...)
}

// build writes one batch for each block, as the ledger does, and counts the time without
// making the logs.
func (l *lists) build(logs *chainLogs, count uint64) (spent time.Duration, err error) {
	var block logindex.Block
	for n := range count {
		rows, err := rows(logs.block(n))
		if err != nil {
			return 0, err
		}
		start := time.Now()
		batch := l.db.NewBatch()
		for i, row := range rows {
			if !block.Add(i, row) {
				return 0, errors.New("a row can't be read")
			}
		}
		block.Each(n, func(key logindex.Key, entry []byte) {
			err = errors.Join(err, batch.Merge(listKey(logindex.Section(n), key), entry, nil))
		})
		if err = errors.Join(err, batch.Commit(pebble.NoSync)); err != nil {
			return 0, err
		}
		spent += time.Since(start)
	}
	start := time.Now()
	err = compact(l.db)
	return spent + time.Since(start), err
}

// compact waits until tables are merged as far as they will be.
func compact(db *pebble.DB) error {
	return errors.Join(db.Flush(), db.Compact(context.Background(), []byte{0}, []byte{255}, true))
}

func (l *lists) bytes() int64 { return int64(l.db.Metrics().Total().TablesSize) }

func (l *lists) Close() error { return l.db.Close() }

// search returns how many transactions have to be looked at; a block whose transactions are
// not listed counts as one.
func (l *lists) search(q query, from, to uint64) (found int, err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var search logindex.Search
	for section := logindex.Section(from); section <= logindex.Section(to); section++ {
		var raw [][]byte
		for _, key := range q.keys() {
			var list []byte
			if it.SeekPrefixGE(listKey(section, key)) {
				value, err := it.ValueAndErr()
				if err != nil {
					return 0, err
				}
				list = bytes.Clone(value)
			}
			raw = append(raw, list)
			if len(list) == 0 {
				break
			}
		}
		list, ok := search.Section(raw, nil)
		if !ok {
			return 0, errors.New("a list can't be read")
		}
		for _, p := range list {
			if n := section*logindex.SectionBlocks + uint64(p.Block); n >= from && n <= to {
				found += max(1, len(p.Txs))
			}
		}
	}
	return found, it.Error()
}

// query is an address and topics, each of which may be left out.
type query struct {
	name    string
	address *common.Address
	topics  []*common.Hash
}

func (q *query) keys() (list []logindex.Key) {
	if q.address != nil {
		list = append(list, logindex.AddressKey(q.address[:]))
	}
	for i, t := range q.topics {
		if t != nil {
			list = append(list, logindex.TopicKey(i, t[:]))
		}
	}
	return list
}
