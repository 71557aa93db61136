package pool

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// Cause is why a node is not used, in words of our own. Status.Why says more, but may hold the
// node's address and text that the node chose, so it is only for those who operate the service.
type Cause string

// The causes. One that says that a node was ejected is followed by the last failure, as in
// "ejected after consecutive failures (unreachable)".
const (
	Unchecked    Cause = "not checked yet"
	Unreachable  Cause = "unreachable"
	Slow         Cause = "doesn't answer in time"
	RateLimited  Cause = "rate limited by the node"
	Denied       Cause = "refuses our credentials"
	Failing      Cause = "answers with errors"
	FalseAnswer  Cause = "gave a false answer"
	WrongChain   Cause = "serves another chain"
	OutOfCredits Cause = "out of credits"
	Syncing      Cause = "syncing"
	Behind       Cause = "behind the other nodes"
	Implausible  Cause = "reports an implausible head"
	Ejected      Cause = "ejected after consecutive failures"
	Cordoned     Cause = "cordoned"
)

// cause is why a node is not well; "" if it is. The node is locked.
func (ns *nodeSet) cause(n *node, lag uint64) Cause {
	switch {
	case n.cordoned.Load():
		return Cordoned
	case n.quota.spent():
		return OutOfCredits
	}
	switch ns.grade(n) {
	case well:
		return ""
	case unusable:
		return n.failure()
	case aside:
		if n.breaker.lied.Load() {
			return FalseAnswer
		}
		return Ejected + " (" + n.failure() + ")"
	}
	switch {
	case n.Syncing.Load():
		return Syncing
	case n.Doubted.Load():
		return Implausible
	case lag > ns.maxLag && n.Silent.Load() <= 1:
		return Behind
	}
	return n.failure()
}

// failure is what failed last.
func (n *node) failure() Cause {
	if n.failed == "" {
		return Unchecked
	}
	return n.failed
}

// causeOf is the cause behind an error of a node.
func causeOf(err error) Cause {
	var wrong foreign
	var call *client.CallError
	var fault *client.Fault
	var finding *verify.Finding
	switch {
	case errors.As(err, &wrong):
		return WrongChain
	case errors.As(err, &finding):
		return FalseAnswer
	case errors.As(err, &call):
		if contains(strings.ToLower(call.Message), limitWords) {
			return RateLimited
		}
		return Failing
	case errors.Is(err, context.DeadlineExceeded):
		return Slow
	case errors.As(err, &fault):
		return causeOfStatus(fault.Status)
	}
	return Failing
}

// causeOfStatus is the cause behind the HTTP status of an answer that can't be used; 0 is none.
func causeOfStatus(status int) Cause {
	switch status {
	case 0:
		return Unreachable
	case http.StatusTooManyRequests:
		return RateLimited
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied
	}
	return Failing
}
