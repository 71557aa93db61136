package requestlog

import (
	"cmp"
	"slices"
	"time"
)

// Failed is a Filter's Outcome that stands for every one but "ok".
const Failed = "failed"

// Filter selects entries. An empty value lets all pass.
type Filter struct {
	Outcome string // "ok", Failed, or a Code's name
	Method  string
	Network string
	Limit   int // of the entries returned; 0 is all
}

// Page are the latest requests of a key.
type Page struct {
	Entries []Entry // that the filter lets pass, newest first
	Passed  int     // how many the filter lets pass
	Kept    int     // how many are kept of the key
	Failed  int     // how many of those failed
	Oldest  time.Time

	// Those of all entries that are kept, in order: what a filter can name.
	Networks, Methods, Outcomes []string
}

// Latest returns the latest requests of an account's key. The key of another account
// has none.
func (j *Log) Latest(accountID, keyID string, f Filter) *Page {
	p := &Page{}
	if j == nil {
		return p
	}
	all := j.shardOf(keyID).entries(accountID, keyID, time.Now().Add(-Kept).UnixNano())
	slices.SortStableFunc(all, func(a, b Entry) int { return b.At.Compare(a.At) })
	p.Kept = len(all)
	for i := range all {
		p.note(&all[i])
		if !f.passes(&all[i]) {
			continue
		}
		p.Passed++
		if f.Limit == 0 || len(p.Entries) < f.Limit {
			p.Entries = append(p.Entries, all[i])
		}
	}
	for _, list := range []*[]string{&p.Networks, &p.Methods, &p.Outcomes} {
		slices.Sort(*list)
	}
	return p
}

// note counts an entry.
func (p *Page) note(e *Entry) {
	if e.Failed() {
		p.Failed++
	}
	p.Oldest = e.At
	for _, of := range []struct {
		list *[]string
		name string
	}{{&p.Networks, e.Network}, {&p.Methods, e.Method}, {&p.Outcomes, e.Outcome}} {
		if !slices.Contains(*of.list, of.name) {
			*of.list = append(*of.list, of.name)
		}
	}
}

func (f *Filter) passes(e *Entry) bool {
	outcome := f.Outcome == "" || f.Outcome == e.Outcome || f.Outcome == Failed && e.Failed()
	return outcome && cmp.Or(f.Method, e.Method) == e.Method && cmp.Or(f.Network, e.Network) == e.Network
}

// Count is how many requests of a key are kept, and how many of them failed.
type Count struct{ Kept, Failed int }

// Counts returns the counts of all keys of an account that have any, by the key's id:
// where a failed request can be found.
func (j *Log) Counts(accountID string) map[string]Count {
	counts := map[string]Count{}
	if j == nil {
		return counts
	}
	after := time.Now().Add(-Kept).UnixNano()
	for i := range j.shards {
		j.shards[i].count(accountID, after, counts)
	}
	return counts
}

func (s *shard) count(accountID string, after int64, into map[string]Count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.keys {
		if k.grant.AccountID != accountID {
			continue
		}
		failed := k.failed.since(after)
		if all := k.ok.since(after) + failed; all > 0 {
			into[id] = Count{all, failed}
		}
	}
}

// since counts the records from a time on.
func (r *ring) since(after int64) (n int) {
	for n < r.count && r.at(r.count-1-n).at >= after {
		n++
	}
	return n
}

// entries copies what is kept of a key.
func (s *shard) entries(accountID, keyID string, after int64) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[keyID]
	if k == nil || k.grant.AccountID != accountID {
		return nil
	}
	if k.params && !keepsParams(k.grant) {
		s.grow(k, -k.dropParams())
	}
	var list []Entry
	for _, r := range []*ring{&k.ok, &k.failed} {
		for i := range r.count {
			if rec := r.at(r.count - 1 - i); rec.at >= after {
				list = append(list, rec.entry())
			}
		}
	}
	return list
}

func (r *record) entry() Entry {
	e := Entry{
		At: time.Unix(0, r.at).UTC(), Network: r.names.network, Method: r.names.method, Outcome: r.names.outcome, Node: r.names.node,
		Cache: r.cache, Level: r.level, Took: time.Duration(r.took) * time.Microsecond, Credits: int64(r.credits),
	}
	if t := r.texts; t != nil {
		e.Error, e.Params, e.Cut = string(t.fault), slices.Clone(t.params), t.cut
	}
	return e
}
