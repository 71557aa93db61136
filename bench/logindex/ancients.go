package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
)

// goalOfAncients is how much the ledger's blocks and receipts may take, of Geth's ancients.
const goalOfAncients = 1.0

// weigh compares what blocks and receipts take of the disk: in the ledger, and as Geth keeps
// old ones. Both leave out what only finds them, and hashes of transactions: Geth computes them,
// and the ledger has them beside the transactions. They can't be compressed.
func weigh(l *ledger, dir string, genesis *core.Genesis, blocks []*types.Block, receipts []types.Receipts) error {
	theirs, err := ancients(dir, genesis, blocks, receipts)
	if err != nil {
		return err
	}
	ours, index := l.settled()
	hashes := int64(0)
	for _, b := range blocks {
		hashes += int64(len(b.Transactions()) * len(common.Hash{}))
	}
	ours -= hashes
	verdict := "met"
	if float64(ours) > goalOfAncients*float64(theirs) {
		verdict = "MISSED"
	}
	fmt.Printf("blocks and receipts: ledger %.2f MB, Geth's ancients %.2f MB: %.2f times, goal at most %.1f: %s; apart from them, the ledger's indexes: %.2f MB, and hashes of transactions: %.2f MB\n",
		mb(ours), mb(theirs), float64(ours)/float64(theirs), goalOfAncients, verdict, mb(index), mb(hashes))
	return nil
}

// settled is what the ledger takes when its database has removed what it doesn't need any more,
// which it does in the background.
func (l *ledger) settled() (data, index int64) {
	for range 20 {
		was := data + index
		if data, index = l.Bytes(); data+index == was {
			break
		}
		time.Sleep(time.Second)
	}
	return data, index
}

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }

// ancients writes blocks into the tables where Geth moves old ones, and returns what those
// take: hashes, headers, bodies and receipts, each compressed by itself.
func ancients(dir string, genesis *core.Genesis, blocks []*types.Block, receipts []types.Receipts) (int64, error) {
	db, err := rawdb.Open(memorydb.New(), rawdb.OpenOptions{Ancient: dir})
	if err != nil {
		return 0, err
	}
	blocks = append([]*types.Block{genesis.ToBlock()}, blocks...)
	receipts = append([]types.Receipts{nil}, receipts...)
	_, err = rawdb.WriteAncientBlocks(db, blocks, types.EncodeBlockReceiptLists(receipts))
	if err := errors.Join(err, db.SyncAncient(), db.Close()); err != nil {
		return 0, err
	}
	return sizeOf(dir)
}

// sizeOf is what the files of a folder have together.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
