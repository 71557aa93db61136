package requestlog

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// Failed is a Filter's Outcome that stands for every one but "ok".
const Failed = "failed"

// Filter selects entries. An empty value lets all pass.
type Filter struct {
	Outcome string // "ok", Failed, or a Code's name
	Method  string
	Network string
	Search  string // a part of the method, the node, the id or the error, in either case
	ID      string // the whole id
	Place   *int   // of the call in its batch; nil is all

	Number   int           // the JSON-RPC error code
	AtLeast  time.Duration // that it took
	From, To time.Time     // when it began: from From on and before To

	Limit int  // of the entries returned; 0 is all
	Brief bool // without parameters and responses
}

// allows tells whether a filter lets names pass. What else it looks at is in passes.
func (f *Filter) allows(n *names) bool {
	outcome := f.Outcome == "" || f.Outcome == n.outcome || f.Outcome == Failed && nodegate.Failed(n.outcome)
	return outcome && cmp.Or(f.Method, n.method) == n.method && cmp.Or(f.Network, n.network) == n.network
}

// passes is the part of a filter that depends on the single request.
func (f *Filter) passes(r *record) bool {
	switch {
	case f.Number != 0 && int32(f.Number) != r.number,
		f.AtLeast > 0 && time.Duration(r.took)*time.Microsecond < f.AtLeast,
		!f.From.IsZero() && r.at < f.From.UnixNano(),
		!f.To.IsZero() && r.at >= f.To.UnixNano(),
		f.Place != nil && *f.Place != int(r.place),
		f.ID != "" && f.ID != r.shownID():
		return false
	}
	return f.Search == "" || r.mentions(strings.ToLower(f.Search))
}

// mentions tells whether a text in lower case is a part of what a request shows.
func (r *record) mentions(text string) bool {
	for _, of := range []string{r.names.method, r.names.node, r.names.outcome} {
		if strings.Contains(strings.ToLower(of), text) {
			return true
		}
	}
	if strings.Contains(strings.ToLower(r.shownID()), text[:min(len(text), maxID)]) { // a longer id was cut
		return true
	}
	return r.texts != nil && bytes.Contains(bytes.ToLower(r.texts.fault), []byte(text))
}
