package blockstore

import (
	"context"
	"errors"
	"syscall"

	"github.com/ipfs/go-cid"
	"github.com/nodegate/nodegate"
)

// What is told to users, in the words of the contract.
const (
	msgQuota = "storage quota reached"
	msgFull  = "insufficient storage"
)

// fail is the error of something unforeseen: the cause is for the log.
func fail(op string, cause error) error {
	return &nodegate.Error{Op: "blockstore." + op, Code: nodegate.Internal, Msg: "the block store failed", Err: cause}
}

// writeError is the error of a write: a full disk is told apart, as it passes.
func writeError(op string, cause error) error {
	var known *nodegate.Error
	if errors.As(cause, &known) || errors.Is(cause, context.Canceled) {
		return cause
	}
	if isFull(cause) {
		return &nodegate.Error{Op: "blockstore." + op, Code: nodegate.InsufficientStorage, Msg: msgFull, Err: cause}
	}
	return fail(op, cause)
}

// isFull tells whether the disk, or the server's share of it, has no room.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func badFolder(msg string, cause error) error {
	return &nodegate.Error{Op: "blockstore.open", Code: nodegate.BadConfig, Msg: msg, Err: cause}
}

func quotaReached(op string) error {
	return &nodegate.Error{Op: "blockstore." + op, Code: nodegate.QuotaReached, Msg: msgQuota}
}

// errNoBlock is NotFound in the words that Kubo's clients know.
func errNoBlock(c cid.Cid) error {
	return &nodegate.Error{Op: "blockstore.get", Code: nodegate.NotFound, Msg: "ipld: could not find " + c.String()}
}

func errDamaged(c cid.Cid, cause error) error {
	return &nodegate.Error{Op: "blockstore.get", Code: nodegate.Damaged, Msg: "block " + c.String() + " is damaged: add its content again to repair it", Err: cause}
}

func errNoPin(op, text string) error {
	return &nodegate.Error{Op: "blockstore." + op, Code: nodegate.NotFound, Msg: text + " is not pinned"}
}

func invalidBlock(msg string) error {
	return &nodegate.Error{Op: "blockstore.put", Code: nodegate.InvalidInput, Msg: msg}
}

// errEnded is the error of a batch that is used after its end.
func errEnded() error {
	return &nodegate.Error{Op: "blockstore.batch", Code: nodegate.Internal, Msg: "the upload has ended already"}
}

func errClosed() error {
	return &nodegate.Error{Op: "blockstore", Code: nodegate.Busy, Msg: "the block store is closing: try again"}
}
