package main

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/filtermaps"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
)

// fakeChain shows the logs to go-ethereum's indexer as a chain.
type fakeChain struct {
	mu    sync.Mutex
	logs  *chainLogs
	spent time.Duration // making logs
}

func hashOf(number uint64) (h common.Hash) {
	h[0] = 1
	binary.BigEndian.PutUint64(h[24:], number)
	return h
}

func (*fakeChain) GetHeader(_ common.Hash, number uint64) *types.Header {
	return &types.Header{ParentHash: hashOf(number - 1)}
}

func (*fakeChain) GetCanonicalHash(number uint64) common.Hash { return hashOf(number) }

func (c *fakeChain) GetReceiptsByHash(hash common.Hash) types.Receipts {
	return c.GetRawReceipts(hash, binary.BigEndian.Uint64(hash[24:]))
}

func (c *fakeChain) GetRawReceipts(_ common.Hash, number uint64) types.Receipts {
	c.mu.Lock()
	defer c.mu.Unlock()
	start := time.Now()
	list := c.logs.block(number)
	c.spent += time.Since(start)
	return list
}

// maps is the index that Geth has had since 1.16.
type maps struct {
	db *pebble.Database
	fm *filtermaps.FilterMaps
}

func openMaps(dir string) (*maps, error) {
	db, err := pebble.New(dir, 2*cacheBytes>>20, 256, "", false) // half of it is the cache
	return &maps{db: db}, err
}

// build indexes the whole chain at once, which is the fastest that the indexer can do.
func (m *maps) build(logs *chainLogs, count uint64) (spent time.Duration, err error) {
	chain := &fakeChain{logs: logs}
	view := filtermaps.NewChainView(chain, count-1, hashOf(count-1))
	start := time.Now()
	if m.fm, err = filtermaps.NewFilterMaps(m.db, view, 0, count-1, filtermaps.DefaultParams, filtermaps.Config{}); err != nil {
		return 0, err
	}
	m.fm.Start()
	m.fm.SetTarget(view, 0, count-1)
	m.fm.WaitIdle()
	if err := m.db.Compact(nil, nil); err != nil {
		return 0, err
	}
	return time.Since(start) - chain.spent, nil
}

// bytes counts tables only, as for the others: logs of the database are reused.
func (m *maps) bytes() (size int64) {
	time.Sleep(time.Second) // tables that were merged are removed later
	names, err := filepath.Glob(filepath.Join(m.db.Path(), "*.sst"))
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return size
}

// indexOnly finds matches without reading their logs, which the chain here has to make.
type indexOnly struct{ filtermaps.MatcherBackend }

func (indexOnly) GetLogByLvIndex(context.Context, uint64) (*types.Log, error) {
	return new(types.Log), nil
}

func (m *maps) search(q query, from, to uint64) (int, error) {
	backend := m.fm.NewMatcherBackend()
	defer backend.Close()
	var addresses []common.Address
	if q.address != nil {
		addresses = append(addresses, *q.address)
	}
	topics := make([][]common.Hash, len(q.topics))
	for i, t := range q.topics {
		if t != nil {
			topics[i] = []common.Hash{*t}
		}
	}
	logs, err := filtermaps.GetPotentialMatches(context.Background(), indexOnly{backend}, from, to, addresses, topics)
	return len(logs), err
}

func (m *maps) Close() error {
	if m.fm != nil {
		m.fm.Stop()
	}
	return m.db.Close()
}
