package pool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// TestCauseOf: each error of a node has a cause that holds nothing of the error's text.
func TestCauseOf(t *testing.T) {
	secret := errors.New("dial tcp: lookup KEY.provider.example: no such host")
	status := func(n int) error { return &client.Fault{Sent: true, Status: n, Err: secret} }
	for _, c := range []struct {
		err  error
		want Cause
	}{
		{&client.Fault{Err: secret}, Unreachable},
		{&client.Fault{Sent: true, Err: secret}, Unreachable},
		{&client.Fault{Sent: true, Err: context.DeadlineExceeded}, Slow},
		{status(429), RateLimited},
		{status(401), Denied},
		{status(403), Denied},
		{status(502), Failing},
		{status(200), Failing},
		{&client.CallError{Code: -32000, Message: "KEY"}, Failing},
		{&client.CallError{Code: -32005, Message: "Rate limit of KEY exceeded"}, RateLimited},
		{&client.Fault{Sent: true, Err: &verify.Finding{What: "KEY"}}, FalseAnswer},
		{fmt.Errorf("%w", foreign("chain id 5 instead of 1")), WrongChain},
		{errNoBlock, Failing},
	} {
		if got := causeOf(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

// TestCausesAreDocumented: operators can look up each cause. That of a cordoned node is in no alert.
func TestCausesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Cause{
		Unchecked, Unreachable, Slow, RateLimited, Denied, Failing, FalseAnswer, WrongChain, OutOfCredits, Syncing, Behind, Implausible,
		Ejected, Ejected + " (" + Unreachable + ")",
	} {
		if !strings.Contains(string(page), "`"+string(c)+"`") {
			t.Errorf("docs/alerts.md lacks %q", c)
		}
	}
}

// TestCauses: the status of a node that is not used has a cause.
func TestCauses(t *testing.T) {
	for want, change := range map[Cause]func(n *node){
		"":           func(*node) {},
		Unchecked:    func(n *node) { n.Checked.Store(false) },
		WrongChain:   func(n *node) { n.Checked.Store(false); n.noteFailure(foreign("another")) },
		Unreachable:  func(n *node) { n.Silent.Store(2); n.noteFailure(&client.Fault{Err: errors.New("KEY")}) },
		Syncing:      func(n *node) { n.Syncing.Store(true) },
		Implausible:  func(n *node) { n.Doubted.Store(true) },
		Behind:       func(n *node) { n.Head.Store(1) },
		Cordoned:     func(n *node) { n.cordoned.Store(true) },
		OutOfCredits: func(n *node) { n.quota.until.Store(time.Now().Add(time.Hour).UnixNano()) },
		FalseAnswer:  func(n *node) { n.breaker.lied.Store(true); n.breaker.eject(time.Now()) },
		"ejected after consecutive failures (doesn't answer in time)": func(n *node) {
			n.noteFailure(context.DeadlineExceeded)
			n.breaker.eject(time.Now())
		},
	} {
		bubble(t, func(t *testing.T) {
			p, _ := openFakes(t, nil, newFake("a", 100), newFake("b", 100))
			settle()
			change(p.nodes.all()[0])
			got := p.Status()
			if got[0].Cause != want || got[0].Healthy != (want == "") || got[1].Cause != "" {
				t.Errorf("%q: %+v", want, got)
			}
		})
	}
}
