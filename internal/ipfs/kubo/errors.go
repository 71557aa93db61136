package kubo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

// fault is what went wrong with one request to one node.
type fault struct {
	kind faultKind
	node int
	msg  string
	err  error
}

type faultKind uint8

const (
	faultAway    faultKind = iota // no answer, a broken one, or one that can't be
	faultDenied                   // the node does not accept our credentials
	faultFull                     // the node has no room
	faultFailed                   // the node works, and the command failed
	faultMissing                  // the node does not have the block
	faultSlow                     // the node ran out of the time that it was given
	faultWrong                    // the node's bytes are not the block's
)

func (f *fault) Error() string {
	text := fmt.Sprintf("storage node %d: %s", f.node, f.msg)
	if f.err != nil {
		text += ": " + f.err.Error()
	}
	return text
}

func (f *fault) Unwrap() error { return f.err }

// healthy tells whether the node itself is well after this.
func (f *fault) healthy() bool {
	return f.kind == faultFailed || f.kind == faultMissing || f.kind == faultSlow
}

// kindOf is the kind of an error of a node.
func kindOf(err error) faultKind {
	var f *fault
	if errors.As(err, &f) {
		return f.kind
	}
	return faultAway
}

// refusal classifies an answer that is not 200. Kubo tells failed commands from
// everything else by status 500 and a JSON object.
func refusal(node, status int, message string, isCommand bool) *fault {
	f := &fault{kind: faultAway, node: node, msg: message}
	if !isCommand {
		f.msg = fmt.Sprintf("answers %d %q", status, message)
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusPaymentRequired:
		f.kind = faultDenied
	case status == http.StatusInsufficientStorage || status == http.StatusRequestEntityTooLarge || strings.Contains(message, "no space left"):
		f.kind = faultFull
	case status != http.StatusInternalServerError || !isCommand:
	case strings.Contains(message, "could not find") || strings.Contains(message, "not found"):
		f.kind = faultMissing
	case strings.Contains(message, context.DeadlineExceeded.Error()):
		f.kind = faultSlow
	default:
		f.kind = faultFailed
	}
	return f
}

const retryAfter = 2 * time.Second

// errAway is the error of a command that no node could do.
func errAway(cause error) error {
	return &nodegate.Error{Op: "kubo", Code: nodegate.Busy, Msg: "no storage node answers: try again in a moment", RetryAfter: retryAfter, Err: cause}
}

// errPartly is the error of content that may be on a node that is away.
func errPartly(c cid.Cid, away, all int) error {
	return &nodegate.Error{
		Op: "kubo.get", Code: nodegate.Busy, RetryAfter: retryAfter,
		Msg: fmt.Sprintf("%s was not found, and %d of %d storage nodes don't answer: try again in a moment", c, away, all),
	}
}

// errCopies is the error of a write that too few nodes took. What the nodes said is
// for the log, unless all that is wrong is room.
func errCopies(want int, causes []error) error {
	if len(causes) == 0 {
		return errAway(nil)
	}
	cause := errors.Join(causes...)
	for _, err := range causes {
		var f *fault
		if !errors.As(err, &f) {
			continue
		}
		switch f.kind {
		case faultFull:
			return &nodegate.Error{Op: "kubo.write", Code: nodegate.InsufficientStorage, Msg: "insufficient storage", Err: cause}
		case faultFailed: // another try would end the same
			return &nodegate.Error{Op: "kubo.write", Code: nodegate.ExecutionFailed, Msg: f.msg, Err: cause}
		}
	}
	return &nodegate.Error{
		Op: "kubo.write", Code: nodegate.Busy, RetryAfter: retryAfter, Err: cause,
		Msg: fmt.Sprintf("too few storage nodes answer: each upload is kept on %d of them. Try again in a moment", want),
	}
}

// errBroken is the error of a stream that can't be sent again.
func errBroken(cause error) error {
	if kindOf(cause) == faultFull {
		return errCopies(0, []error{cause})
	}
	return &nodegate.Error{Op: "kubo.write", Code: nodegate.Busy, Msg: "a storage node disconnected during the upload: try again", RetryAfter: retryAfter, Err: cause}
}

// errWrong is the error of a block that no node has as it should be.
func errWrong(c cid.Cid) error {
	return &nodegate.Error{Op: "kubo.get", Code: nodegate.Damaged, Msg: "block " + c.String() + " is damaged on its storage node: the operator has to repair it there"}
}

func errNoBlock(c cid.Cid) error {
	return &nodegate.Error{Op: "kubo.get", Code: nodegate.NotFound, Msg: "ipld: could not find " + c.String()}
}

// errEnded is the error of a batch that is used after its end.
func errEnded() error {
	return &nodegate.Error{Op: "kubo.batch", Code: nodegate.Internal, Msg: "the upload has ended already"}
}

func errQuota() error {
	return &nodegate.Error{Op: "kubo.put", Code: nodegate.QuotaReached, Msg: "storage quota reached"}
}

func errBlock(msg string) error {
	return &nodegate.Error{Op: "kubo.put", Code: nodegate.InvalidInput, Msg: msg}
}

// errSlow is the error of a fetch from the network that found nothing in its time.
func errSlow(cause error) error {
	return &nodegate.Error{Op: "kubo.get", Code: nodegate.Timeout, Msg: context.DeadlineExceeded.Error(), Err: cause}
}
