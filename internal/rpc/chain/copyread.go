package chain

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/ethdb"
	gethpebble "github.com/ethereum/go-ethereum/ethdb/pebble"

	"github.com/nodegate/nodegate"
)

// CopyReader reads what Copy wrote.
type CopyReader struct {
	r   *bufio.Reader
	buf []byte
}

// NewCopyReader reads a copy from a stream.
func NewCopyReader(r io.Reader) *CopyReader { return &CopyReader{r: bufio.NewReader(r)} }

// What a copy may ask for: a name, and a piece of a file or some pairs of the database.
const (
	maxCopyName  = 1 << 10
	maxCopyPiece = 1 << 30
)

// Next returns the next piece and the name of its file, in the chain's folder. Pieces of a
// file follow each other. They are valid until the next call. The end of a whole copy is
// io.EOF.
//
// Returns Damaged for a copy that ends too early.
func (c *CopyReader) Next() (name string, data []byte, err error) {
	text, err := c.part(maxCopyName)
	if err != nil {
		return "", nil, endedEarly(err)
	}
	name = string(text)
	if data, err = c.part(maxCopyPiece); err != nil {
		return "", nil, endedEarly(err)
	}
	if name == "" {
		return "", nil, io.EOF
	}
	return name, data, nil
}

func endedEarly(err error) error {
	return &nodegate.Error{Op: "chain.copy", Code: nodegate.Damaged, Msg: "the copy of a network ended too early: see the server's log for the reason, and try again", Err: err}
}

// part reads a length and as many bytes.
func (c *CopyReader) part(most uint64) ([]byte, error) {
	n, err := binary.ReadUvarint(c.r)
	if err != nil {
		return nil, err
	}
	if n > most {
		return nil, fmt.Errorf("a part of %d bytes", n)
	}
	if uint64(cap(c.buf)) < n {
		c.buf = make([]byte, n)
	}
	c.buf = c.buf[:n]
	_, err = io.ReadFull(c.r, c.buf)
	return c.buf, err
}

// RestoreKeyValues makes the database of a chain from a copy's KeyValues, in a folder that
// has none.
func RestoreKeyValues(dir string, r io.Reader) (err error) {
	path := filepath.Join(dir, nodeName, "chaindata")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	db, err := gethpebble.New(path, 16, 16, "", false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	batch := db.NewBatch()
	pairs := &CopyReader{r: bufio.NewReaderSize(r, 64<<10)}
	for {
		key, err := pairs.part(maxCopyName)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := pairs.putValue(batch, key); err != nil {
			return err
		}
	}
	return errors.Join(batch.Write(), db.SyncKeyValue())
}

// putValue reads the value of a key and notes both.
func (c *CopyReader) putValue(batch ethdb.Batch, key []byte) error {
	key = append([]byte(nil), key...) // the value is read into its place
	value, err := c.part(maxCopyPiece)
	if err != nil {
		return fmt.Errorf("a key without its value: %w", err)
	}
	if err := batch.Put(key, value); err != nil {
		return err
	}
	if batch.ValueSize() < ethdb.IdealBatchSize {
		return nil
	}
	if err := batch.Write(); err != nil {
		return err
	}
	batch.Reset()
	return nil
}
