package chain

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/ethdb"

	"github.com/nodegate/nodegate"
)

// Copying a chain that runs: everything is captured at one moment under the producer's
// lock, and written out afterwards while blocks are sealed as usual.
//
//   - The database is read through an iterator, which shows it as it was when the iterator
//     was made. Its files can't be copied: Pebble removes and reuses them at any time, and
//     go-ethereum doesn't let anybody at Pebble's own checkpoints.
//   - The files of old blocks and the journal are only appended to, so what they held at
//     that moment stays. A rewind that cuts old blocks off is noticed, and ends the copy.
//   - The small files are read at once.
//
// Blocks that go-ethereum moves to the old ones meanwhile are in both, as after a crash.

// KeyValues is the name under which a copy has the content of the database, as RestoreKeyValues
// reads it.
const KeyValues = "chaindata.kv"

// capture is a chain at one moment.
type capture struct {
	small    map[string][]byte // by name in the chain's folder
	prefixes []prefix
	journal  *os.File // nil where there is none
	pairs    ethdb.Iterator
	cuts     int64
}

// prefix is the part of a file that was there.
type prefix struct {
	name string // in the chain's folder, with slashes
	size int64
}

func (c *capture) close() {
	if c.pairs != nil {
		c.pairs.Release()
	}
	if c.journal != nil {
		_ = c.journal.Close() // it was only read
	}
}

// copies are the copies in progress: the database can't be closed before them.
type copies struct {
	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
	life   context.Context
	stop   context.CancelFunc
}

func newCopies() *copies {
	c := new(copies)
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

func (c *copies) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return &nodegate.Error{Op: "chain.copy", Code: nodegate.NoNode, Msg: "the network is closing"}
	}
	c.active.Add(1)
	return nil
}

// close ends all copies and waits for them.
func (c *copies) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.active.Wait()
}

// Copy writes all that a folder of this chain needs, for a CopyReader. Everything that was
// acknowledged before is in it.
//
// Returns Conflict when old blocks were taken back meanwhile, and InvalidInput for a chain
// in memory.
func Copy(ctx context.Context, n *Node, w io.Writer) error {
	p := n.engine.producer
	if p.dir == "" {
		return &nodegate.Error{Op: "chain.copy", Code: nodegate.InvalidInput, Msg: "a network in memory can't be copied"}
	}
	if err := n.copies.begin(); err != nil {
		return err
	}
	defer n.copies.active.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.copies.life, cancel)()
	c, err := captureChain(p)
	if err != nil {
		return err
	}
	defer c.close()
	to := bufio.NewWriter(w)
	err = c.write(ctx, p.dir, to)
	if p.cuts.Load() != c.cuts { // also the reason for an error
		return &nodegate.Error{Op: "chain.copy", Code: nodegate.Conflict, Msg: "old blocks of the chain were taken back during the copy: try again"}
	}
	if err != nil {
		return err
	}
	return errors.Join(writeFrame(to, "", nil), to.Flush())
}

// captureChain notes what is there. It takes as long as reading the small files.
func captureChain(p *producer) (c *capture, err error) {
	if p.mu.acquire(p.ended) != nil {
		return nil, p.failure()
	}
	defer p.mu.release()
	if err := p.failure(); err != nil {
		return nil, err
	}
	c = &capture{small: map[string][]byte{}, cuts: p.cuts.Load()}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	for _, name := range []string{markerName, settingsName} {
		text, err := os.ReadFile(filepath.Join(p.dir, name))
		if err == nil {
			c.small[name] = text
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	size := int64(0)
	if c.journal, size, err = p.journal.Prefix(); err != nil {
		return nil, err
	}
	c.prefixes = append(c.prefixes, prefix{journalName, size})
	db := p.eth.ChainDb()
	c.pairs = db.NewIterator(nil, nil)                                                        // before the old blocks: what moves in between is in both
	return c, db.ReadAncients(func(ethdb.AncientReaderOp) error { return c.ancients(p.dir) }) // nothing is appended meanwhile
}

// ancientDir is where the old blocks are.
func ancientDir() string { return filepath.Join(nodeName, "chaindata", "ancient", "chain") }

// ancients notes the files of old blocks. The order matters: a table counts as much of its
// index as its metadata says, and the index as much of the data as is behind it, so each
// may only be older than the next.
func (c *capture) ancients(dir string) error {
	for _, kind := range []func(name string) bool{isMeta, isIndex, isData} {
		list, err := os.ReadDir(filepath.Join(dir, ancientDir()))
		if err != nil {
			return err
		}
		for _, e := range list {
			if !e.Type().IsRegular() || !kind(e.Name()) {
				continue
			}
			if err := c.ancient(dir, filepath.Join(ancientDir(), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func isMeta(name string) bool  { return strings.HasSuffix(name, ".meta") }
func isIndex(name string) bool { return strings.HasSuffix(name, "idx") }
func isData(name string) bool  { return strings.HasSuffix(name, "dat") }

// ancient notes one file. Metadata is written over, and therefore read now.
func (c *capture) ancient(dir, name string) error {
	path := filepath.Join(dir, name)
	if isMeta(name) {
		text, err := os.ReadFile(path)
		c.small[filepath.ToSlash(name)] = text
		return err
	}
	info, err := os.Stat(path)
	if err == nil {
		c.prefixes = append(c.prefixes, prefix{filepath.ToSlash(name), info.Size()})
	}
	return err
}

// write sends what was captured.
func (c *capture) write(ctx context.Context, dir string, w *bufio.Writer) error {
	for name, text := range c.small {
		if err := writeFrame(w, name, text); err != nil {
			return err
		}
	}
	for _, f := range c.prefixes {
		if err := c.writePrefix(ctx, dir, f, w); err != nil {
			return err
		}
	}
	return c.writePairs(ctx, w)
}

// copyPiece is how much of a file is sent at once, and about how much of the database at
// most.
const copyPiece = 4 << 20

func (c *capture) writePrefix(ctx context.Context, dir string, p prefix, w *bufio.Writer) error {
	f := c.journal
	if p.name != journalName {
		var err error
		if f, err = os.Open(filepath.Join(dir, filepath.FromSlash(p.name))); err != nil {
			return err
		}
		defer f.Close()
	}
	if p.size == 0 {
		return writeFrame(w, p.name, nil)
	}
	buf := make([]byte, min(p.size, copyPiece))
	for at := int64(0); at < p.size; at += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		buf = buf[:min(p.size-at, int64(len(buf)))]
		if _, err := f.ReadAt(buf, at); err != nil {
			return err
		}
		if err := writeFrame(w, p.name, buf); err != nil {
			return err
		}
	}
	return nil
}

// A piece of the database ends after a key that decides it, so that a later copy has most
// pieces again although keys came in between.
const (
	leastPiece = 256 << 10
	cutMask    = 1<<12 - 1
)

func endsPiece(piece, key []byte) bool {
	return len(piece) >= copyPiece || len(piece) >= leastPiece && crc32.ChecksumIEEE(key)&cutMask == 0
}

// writePairs sends the database: each key and value behind its length.
func (c *capture) writePairs(ctx context.Context, w *bufio.Writer) error {
	piece := make([]byte, 0, leastPiece)
	for c.pairs.Next() {
		key, value := c.pairs.Key(), c.pairs.Value()
		piece = append(binary.AppendUvarint(piece, uint64(len(key))), key...)
		piece = append(binary.AppendUvarint(piece, uint64(len(value))), value...)
		if !endsPiece(piece, key) {
			continue
		}
		if err := errors.Join(ctx.Err(), writeFrame(w, KeyValues, piece)); err != nil {
			return err
		}
		piece = piece[:0]
	}
	return errors.Join(c.pairs.Error(), ctx.Err(), writeFrame(w, KeyValues, piece))
}

// writeFrame sends a piece of a file. The empty name ends a copy.
func writeFrame(w *bufio.Writer, name string, data []byte) error {
	head := binary.AppendUvarint(nil, uint64(len(name)))
	head = binary.AppendUvarint(append(head, name...), uint64(len(data)))
	_, err := w.Write(head)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}
