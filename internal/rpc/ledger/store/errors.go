package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// fail is the error of the database. Damaged is what a reader answers by asking a node.
func fail(op string, cause error) error {
	var known *nodegate.Error
	switch {
	case errors.As(cause, &known):
		return cause
	case disk.IsFull(cause):
		return disk.Full("ledger."+op, cause)
	case pebble.IsCorruptionError(cause):
		return damaged(op, cause)
	}
	return &nodegate.Error{Op: "ledger." + op, Code: nodegate.Internal, Msg: "the ledger's database failed", Err: cause}
}

// damaged is the error of rows that are not what was written.
func damaged(op string, cause error) error {
	return &nodegate.Error{Op: "ledger." + op, Code: nodegate.Damaged, Msg: "the ledger's copy of this block is damaged", Err: cause}
}

// errRow is a row that can't be decoded, or lacks.
var errRow = errors.New("a row is missing or malformed")

// missing is the error of a block that is not stored.
func missing(op string) error {
	return &nodegate.Error{Op: "ledger." + op, Code: nodegate.NotFound, Msg: "the ledger doesn't have this block"}
}

// unlinked is the error of a block that doesn't continue the stored chain.
func unlinked(op, msg string) error {
	return &nodegate.Error{Op: "ledger." + op, Code: nodegate.Conflict, Msg: msg}
}

// errClosed is the error of every use after Close.
var errClosed = &nodegate.Error{Op: "ledger.store", Code: nodegate.Internal, Msg: "the ledger's database is closed"}
