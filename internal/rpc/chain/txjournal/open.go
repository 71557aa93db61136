package txjournal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// State is what a journal held when it was opened.
type State struct {
	Head   *Mark // the newest block that was on disk, or nil
	Rewind *Mark // where the chain was being set back to, or nil
	Txs    []Tx  // the transactions, in the order in which they came
	Before int   // so many of them came before Rewind
}

// Tx is a transaction as its sender encoded it.
type Tx struct {
	Hash Hash
	Raw  []byte
}

// Open opens the journal, and creates it where there is none. A record that was not
// whole when the power failed ends it.
//
// Returns ErrDamaged, and changes nothing, when records that were on disk are lost.
func Open(path string) (*Journal, State, error) {
	j := &Journal{path: path, next: new(batch), known: map[Hash]struct{}{}, limit: compactAbove}
	var s State
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, s, j.replace(nil, nil)
	}
	if err != nil {
		return nil, s, err
	}
	if j.size, err = scan(data, func(at int64, r record) error { return j.recall(&s, at, r) }); err != nil {
		return nil, s, err
	}
	return j, s, j.reopen()
}

// Read returns what a journal holds and changes nothing.
//
// Returns ErrDamaged as Open does.
func Read(path string) (s State, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	j := &Journal{known: map[Hash]struct{}{}}
	_, err = scan(data, func(at int64, r record) error { return j.recall(&s, at, r) })
	return s, err
}

// reopen goes on behind the last whole record.
func (j *Journal) reopen() error {
	f, err := os.OpenFile(j.path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(j.size), f.Sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file, j.synced = f, j.size
	return nil
}

// recall takes one record into the state.
func (j *Journal) recall(s *State, at int64, r record) error {
	switch r.kind {
	case kindTx:
		if len(r.payload) < len(Hash{}) {
			return fmt.Errorf("%w: a transaction of %d bytes", ErrDamaged, len(r.payload))
		}
		tx := Tx{Hash: Hash(r.payload), Raw: r.payload[len(Hash{}):]}
		s.Txs = append(s.Txs, tx)
		j.txs = append(j.txs, entry{tx.Hash, at, r.size})
		j.known[tx.Hash] = struct{}{}
		return nil
	case kindHead, kindRewind:
		m, err := r.mark()
		if err != nil {
			return err
		}
		s.note(r.kind, m)
		return nil
	}
	return fmt.Errorf("%w: a record of the unknown kind %d; was it written by a newer version?", ErrDamaged, r.kind)
}

func (s *State) note(kind byte, m Mark) {
	if kind == kindRewind {
		s.Rewind, s.Before = &m, len(s.Txs)
		return
	}
	if s.Rewind != nil {
		s.Forget()
	}
	s.Head = &m
}

// Forget takes the rewind as done.
func (s *State) Forget() {
	s.Txs, s.Head = s.Txs[s.Before:], s.Rewind
	s.Rewind, s.Before = nil, 0
}

// writeFile leaves the whole file under its name, or what was there before. The folder
// is not synced yet.
func writeFile(path string, data []byte) (*os.File, error) {
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path+".new"))
	}
	return f, nil
}
