package pinning

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// Query selects requests of an account.
type Query struct {
	AccountID     string
	CIDs          []string // only these; nil is all
	Name          string   // "" is any
	Match         Match
	Statuses      []nodegate.PinRequestStatus
	Before, After time.Time // not included; zero is no bound
	Meta          map[string]string
	Limit         int
	// Grow reserves memory for what a list takes beside its results.
	Grow func(bytes int64) error
}

// Match is how names are compared.
type Match string

// The ways to compare names.
const (
	Exact          Match = "exact"
	ExactAnyCase   Match = "iexact"
	Partial        Match = "partial"
	PartialAnyCase Match = "ipartial"
)

// Page is an answer: the newest requests first.
type Page struct {
	Count   int // that match
	Results []*nodegate.PinRequest
}

// asked is what is known of a CID that there are requests for.
type asked struct {
	wanted bool // one of them is pinned or waits
	pinned bool
}

// askedBytes is what one takes in memory, about.
const askedBytes = 160

// List finds requests. It looks at all of the account's and keeps the newest, so that the
// memory is bounded whatever the account has.
func (s *Service) List(ctx context.Context, q Query) (Page, error) {
	selected := nodegate.PinRequestQuery{AccountID: q.AccountID, CIDs: q.CIDs}
	known, err := s.askedFor(ctx, selected, q.Grow)
	if err != nil {
		return Page{}, err
	}
	list := &newest{query: q}
	err = s.pins(ctx, q, func(p *nodegate.Pin) error {
		a := known[p.CID]
		if a != nil {
			a.pinned = true
		}
		if a == nil || !a.wanted {
			return list.take(found(p))
		}
		return nil
	})
	if err != nil {
		return Page{}, err
	}
	selected.After, selected.Before = q.After, q.Before
	err = eachRequest(ctx, s.cfg.Store, selected, func(r *nodegate.PinRequest) error {
		if a := known[r.CID]; r.Status != nodegate.PinPinned || a != nil && a.pinned {
			return list.take(r)
		}
		return nil
	})
	return Page{Count: list.seen, Results: list.sorted()}, err
}

func (s *Service) askedFor(ctx context.Context, q nodegate.PinRequestQuery, grow func(int64) error) (map[string]*asked, error) {
	known := map[string]*asked{}
	q.Brief = true
	err := eachRequest(ctx, s.cfg.Store, q, func(r *nodegate.PinRequest) error {
		a := known[r.CID]
		if a == nil {
			a = &asked{}
			known[r.CID] = a
			if err := grow(askedBytes); err != nil {
				return err
			}
		}
		a.wanted = a.wanted || r.Status != nodegate.PinFailed
		return nil
	})
	return known, err
}

// eachRequest hands requests to each. An account may have very many, so they take turns with
// the work of others.
func eachRequest(ctx context.Context, store nodegate.PinRequestStore, q nodegate.PinRequestQuery, each func(*nodegate.PinRequest) error) error {
	return store.PinRequests(ctx, q, func(r *nodegate.PinRequest) (err error) {
		if ended := fairshare.Do(ctx, func() { err = each(r) }); ended != nil {
			return ended
		}
		return err
	})
}

// pins hands the pins that a query could mean to each.
func (s *Service) pins(ctx context.Context, q Query, each func(*nodegate.Pin) error) error {
	if q.CIDs == nil {
		var ended, failed error
		err := s.cfg.Pins(ctx, q.AccountID, func(p nodegate.Pin) bool {
			if p.Recursive {
				ended = fairshare.Do(ctx, func() { failed = each(&p) })
			}
			return ended == nil && failed == nil
		})
		return errors.Join(failed, ended, err)
	}
	for _, cid := range q.CIDs {
		pin, live, err := s.pinOf(ctx, q.AccountID, cid)
		if err != nil {
			return err
		}
		if live {
			if err := each(&pin); err != nil {
				return err
			}
		}
	}
	return nil
}

// matches tells whether a request is one that is asked for.
func (q *Query) matches(r *nodegate.PinRequest) bool {
	switch {
	case !slices.Contains(q.Statuses, r.Status):
	case !q.Before.IsZero() && !r.Created.Before(q.Before):
	case !q.After.IsZero() && !r.Created.After(q.After):
	case q.Name != "" && !q.Match.named(r.Name, q.Name):
	default:
		for key, value := range q.Meta {
			if got, there := r.Meta[key]; !there || got != value {
				return false
			}
		}
		return true
	}
	return false
}

func (m Match) named(name, wanted string) bool {
	switch m {
	case ExactAnyCase:
		return strings.EqualFold(name, wanted)
	case Partial:
		return strings.Contains(name, wanted)
	case PartialAnyCase:
		return strings.Contains(strings.ToLower(name), strings.ToLower(wanted))
	default:
		return name == wanted
	}
}

// newest keeps the latest of many requests.
type newest struct {
	query    Query
	kept     []*nodegate.PinRequest
	seen     int
	bytes    int64 // of what is kept
	reserved int64
}

// take adds a request that matches. The oldest are dropped in bulk. An answer is as large
// again as what it is made of.
func (n *newest) take(r *nodegate.PinRequest) error {
	if shown(r); !n.query.matches(r) {
		return nil
	}
	n.seen++
	n.kept = append(n.kept, r)
	n.bytes += sizeOf(r)
	if len(n.kept) >= 2*n.query.Limit {
		n.kept, n.bytes = n.sorted(), 0
		for _, r := range n.kept {
			n.bytes += sizeOf(r)
		}
	}
	more := 2*n.bytes - n.reserved
	if more <= 0 {
		return nil
	}
	n.reserved += more
	return n.query.Grow(more)
}

// sizeOf is about what a request takes in memory.
func sizeOf(r *nodegate.PinRequest) int64 {
	const others = 400
	n := others + len(r.CID) + len(r.Name) + len(r.Details)
	for _, origin := range r.Origins {
		n += len(origin)
	}
	for key, value := range r.Meta {
		n += len(key) + len(value)
	}
	return int64(n)
}

func (n *newest) sorted() []*nodegate.PinRequest {
	slices.SortFunc(n.kept, func(a, b *nodegate.PinRequest) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return n.kept[:min(len(n.kept), n.query.Limit)]
}
