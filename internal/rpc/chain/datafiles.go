package chain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/ethdb"
	gethpebble "github.com/ethereum/go-ethereum/ethdb/pebble"

	"github.com/nodegate/nodegate/internal/rpc/chain/txjournal"
)

// checkParts sees, before anything is opened for writing, that a used folder has all its
// parts and all blocks that were once on disk. go-ethereum and its database would take
// a folder with a missing part for an emptier one, and remove what no longer fits.
func checkParts(dir string) error {
	m, err := readMarker(dir)
	if err != nil {
		return err
	}
	if m.journal && !exists(dir, journalName) {
		return missing(filepath.Join(dir, journalName), "To continue without it and lose the transactions that wait to be mined, remove the line that begins with \"journal\" from "+filepath.Join(dir, markerName))
	}
	database := filepath.Join(dir, nodeName, "chaindata")
	format, _ := filepath.Glob(filepath.Join(database, "marker.format-version.*")) // the pattern is good
	if desc, err := pebble.Peek(database, vfs.Default); err != nil || !desc.Exists || len(format) == 0 {
		return missing("a part of the chain database "+database, "")
	}
	if err := checkAncients(filepath.Join(database, "ancient", "chain")); err != nil {
		return err
	}
	if !m.journal {
		return nil
	}
	return checkBlocks(dir, database)
}

func missing(what, otherwise string) error {
	return badData("chain.open", strings.TrimSpace(what+" is missing: restore the whole folder from a backup; nothing was changed. "+otherwise), nil)
}

// checkAncients sees that every table of the store of old blocks has its files. One with
// a missing file would be emptied, and the others with it.
func checkAncients(dir string) error {
	indexes, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		return err
	}
	tables := map[string]string{} // kind of the index by table
	for _, path := range indexes {
		name, kind, _ := strings.Cut(filepath.Base(path), ".")
		if was := tables[name]; was == "" {
			tables[name] = ""
		}
		if kind == "cidx" || kind == "ridx" {
			tables[name] = kind
		}
	}
	for name, kind := range tables {
		if kind == "" {
			return missing("the index of "+filepath.Join(dir, name), "")
		}
		if !exists(dir, name+".meta") {
			return missing(filepath.Join(dir, name+".meta"), "")
		}
		if data := newestData(dir, name, kind); !exists(dir, data) {
			return missing(filepath.Join(dir, data), "")
		}
	}
	return nil
}

// indexEntry is the size of an entry of a table's index: the number of a file in two
// bytes, and an offset in four.
const indexEntry = 6

// newestData is the file that the last entry of a table's index points into.
func newestData(dir, name, kind string) string {
	index, err := os.ReadFile(filepath.Join(dir, name+"."+kind))
	number := uint16(0)
	if whole := len(index) / indexEntry; err == nil && whole > 1 {
		number = binary.BigEndian.Uint16(index[(whole-1)*indexEntry:])
	}
	return fmt.Sprintf("%s.%04d.%cdat", name, number, kind[0])
}

// checkBlocks compares the database with what the journal knows. It opens the database
// for reading only: one that has lost blocks stays as it is, and can be looked at.
func checkBlocks(dir, database string) error {
	state, err := txjournal.Read(filepath.Join(dir, journalName))
	if err != nil {
		return journalError(dir, err)
	}
	db, err := gethpebble.New(database, 16, 16, "", true)
	if err != nil {
		return nil // in use or damaged: who opens it for writing says so
	}
	number, _ := rawdb.ReadHeaderNumber(db, rawdb.ReadHeadBlockHash(db))
	lost := lostBlocks(dir, state, number)
	if lost == nil {
		lost = checkGaps(dir, rawdb.NewDatabase(db), number, frozenBlocks(filepath.Join(database, "ancient", "chain")))
	}
	return errors.Join(lost, db.Close())
}

// newestBlocks is how many blocks are looked at: more than all logs together can hold.
// What is in tables is checked by the database itself.
const newestBlocks = 20_000

// checkGaps sees that the newest blocks follow each other down to the genesis or to the
// store of old blocks: without one of several logs the newest block may well be there,
// and go-ethereum would begin again from the genesis.
func checkGaps(dir string, db ethdb.Reader, head, frozen uint64) error {
	least := max(frozen, 1)
	if head > newestBlocks {
		least = max(least, head-newestBlocks)
	}
	there := func(number uint64) bool {
		hash := rawdb.ReadCanonicalHash(db, number)
		return hash != (common.Hash{}) && rawdb.ReadHeaderRLP(db, hash, number) != nil
	}
	if !there(0) {
		return missing("the genesis of the chain in "+dir, "")
	}
	for number := least; number <= head; number++ {
		if !there(number) {
			return missing(fmt.Sprintf("block %d of the chain in %s", number, dir), "")
		}
	}
	return nil
}

// frozenBlocks counts the blocks in the store of old blocks. Its indexes have an entry
// more than there are items.
func frozenBlocks(dir string) uint64 {
	info, err := os.Stat(filepath.Join(dir, "hashes.ridx"))
	if err != nil || info.Size() < indexEntry {
		return 0
	}
	return uint64(info.Size()/indexEntry) - 1
}

// lostBlocks is an error when a chain ends below what was on disk. While blocks are
// taken back it may end anywhere above the one that becomes the head.
func lostBlocks(dir string, s txjournal.State, head uint64) error {
	least := s.Head
	if s.Rewind != nil {
		least = s.Rewind
	}
	if least == nil || head >= least.Number {
		return nil
	}
	return badData("chain.open", fmt.Sprintf("the chain database has lost blocks: it ends at %d, and block %d (%s) was on disk: restore the whole folder %s from a backup. To accept that blocks %d to %d are lost, remove %s and the line that begins with \"journal\" from %s",
		head, least.Number, common.Hash(least.Hash), dir, head+1, least.Number, filepath.Join(dir, journalName), filepath.Join(dir, markerName)), nil)
}

func journalError(dir string, err error) error {
	return badData("chain.open", fmt.Sprintf("the file %s can't be used: restore the whole folder from a backup. To continue without it and lose the transactions that wait to be mined, remove it and the line that begins with \"journal\" from %s",
		filepath.Join(dir, journalName), filepath.Join(dir, markerName)), err)
}

// openJournal opens the journal and takes what it kept. A folder of an earlier version
// gets one.
func (e *engine) openJournal(cfg Config) error {
	if cfg.Dir == "" {
		return nil
	}
	j, state, err := txjournal.Open(filepath.Join(cfg.Dir, journalName))
	if err != nil {
		return journalError(cfg.Dir, err)
	}
	e.journal = j
	bc := e.eth.BlockChain()
	head := bc.CurrentBlock()
	if err := lostBlocks(cfg.Dir, state, head.Number.Uint64()); err != nil {
		return err
	}
	if state.Rewind != nil && head.Hash() == state.Rewind.Hash {
		state.Forget()
	}
	e.kept = state.Txs
	if err := j.Head(markOf(head)); err != nil {
		return journalError(cfg.Dir, err)
	}
	m, err := readMarker(cfg.Dir)
	if err != nil || m.journal {
		return err
	}
	m.journal = true
	return markImported(cfg.Dir, m)
}
