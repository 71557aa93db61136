package requestlog

import (
	"cmp"
	"slices"
	"time"
)

// Page are the latest requests of a key, or of all keys of an account.
type Page struct {
	Entries []Entry // that the filter lets pass, newest first
	Passed  int     // how many the filter lets pass
	Kept    int     // how many are kept in all
	Failed  int     // how many of those failed
	Oldest  time.Time

	// Those of all entries that are kept, in order: what a filter can name.
	Networks, Methods, Outcomes []string
}

// Latest returns the latest requests that this server keeps of an account's key, or of all
// its keys where keyID is empty. The key of another account has none.
func (j *Log) Latest(accountID, keyID string, f Filter) *Page {
	if j == nil {
		return &Page{}
	}
	c := newCollector(&f, time.Now().Add(-Kept).UnixNano())
	if keyID != "" {
		j.shardOf(keyID).read(accountID, keyID, c)
		return c.finish()
	}
	for i := range j.shards {
		s := &j.shards[i]
		for _, id := range s.keysOf(accountID) {
			s.read(accountID, id, c)
		}
	}
	return c.finish()
}

// keysOf lists the keys of an account that a shard has.
func (s *shard) keysOf(accountID string) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.keys {
		if k.grant.AccountID == accountID {
			ids = append(ids, id)
		}
	}
	return ids
}

// read hands what is kept of a key to a collector. Requests of other keys wait for the lock,
// so they wait for the copy of one key's records and for nothing else.
func (s *shard) read(accountID, keyID string, c *collector) {
	for _, r := range s.copyOf(accountID, keyID, c) {
		c.add(keyID, &r.record, r.failed)
	}
}

// taken is a copy of a record.
type taken struct {
	record
	failed bool
}

// copyOf copies what is kept of a key, the newest first. The room is the collector's.
func (s *shard) copyOf(accountID, keyID string, c *collector) []taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[keyID]
	if k == nil || k.grant.AccountID != accountID {
		return nil
	}
	s.dropUnwanted(k, wanted(k.grant))
	c.room = c.room[:0]
	for _, r := range []*ring{&k.ok, &k.failed} {
		for i := range r.count {
			if rec := r.at(r.count - 1 - i); rec.at >= c.after {
				c.room = append(c.room, taken{*rec, r == &k.failed})
				c.keepTexts(&c.room[len(c.room)-1].record)
			}
		}
	}
	return c.room
}

// keepTexts copies the texts that a page may show: their room is used again.
func (c *collector) keepTexts(r *record) {
	if r.texts == nil || c.filter.ID != "" && c.filter.ID != r.shownID() {
		r.texts = nil
		return
	}
	t := *r.texts
	t.fault = slices.Clone(t.fault)
	if c.filter.Brief {
		t.params, t.reply = nil, nil
	} else {
		t.params, t.reply = slices.Clone(t.params), slices.Clone(t.reply)
	}
	r.texts = &t
}

// collector makes a page of records. Only those that may be on it are copied: an account
// may have many keys.
type collector struct {
	filter *Filter
	after  int64
	oldest int64 // of all that were seen
	floor  int64 // so many newer ones are there already that older ones have no place
	page   Page
	seen   map[*names]bool // whether the filter lets such names pass
	room   []taken         // for the records of one key
}

func newCollector(f *Filter, after int64) *collector {
	return &collector{filter: f, after: after, seen: map[*names]bool{}}
}

func (c *collector) add(keyID string, r *record, failed bool) {
	passes, known := c.seen[r.names]
	if !known {
		passes = c.filter.allows(r.names)
		c.seen[r.names] = passes
		c.page.name(r.names)
	}
	c.page.Kept++
	if failed {
		c.page.Failed++
	}
	if c.oldest == 0 || r.at < c.oldest {
		c.oldest = r.at
	}
	if !passes || !c.filter.passes(r) {
		return
	}
	c.page.Passed++
	if r.at > c.floor {
		c.page.Entries = append(c.page.Entries, r.entry(keyID, c.filter.Brief))
		c.bound()
	}
}

// bound forgets entries that are too old for the page, some at a time.
func (c *collector) bound() {
	limit := c.filter.Limit
	if limit == 0 || len(c.page.Entries) < 2*limit+64 {
		return
	}
	newestFirst(c.page.Entries)
	c.page.Entries = slices.Delete(c.page.Entries, limit, len(c.page.Entries))
	c.floor = c.page.Entries[limit-1].At.UnixNano()
}

func (c *collector) finish() *Page {
	if c.oldest > 0 {
		c.page.Oldest = time.Unix(0, c.oldest).UTC()
	}
	c.page.finish(c.filter.Limit)
	return &c.page
}

// name notes what a filter can name.
func (p *Page) name(n *names) {
	p.Networks, p.Methods, p.Outcomes = with(p.Networks, n.network), with(p.Methods, n.method), with(p.Outcomes, n.outcome)
}

func with(list []string, name string) []string {
	if at, found := slices.BinarySearch(list, name); !found {
		return slices.Insert(list, at, name)
	}
	return list
}

// finish puts the entries into their order and leaves as many as fit.
func (p *Page) finish(limit int) {
	newestFirst(p.Entries)
	if limit > 0 && len(p.Entries) > limit {
		p.Entries = p.Entries[:limit]
	}
}

func newestFirst(list []Entry) {
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID), cmp.Compare(b.Place, a.Place))
	})
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

func (r *record) entry(keyID string, brief bool) Entry {
	e := Entry{
		KeyID: keyID, ID: r.shownID(), Place: int(r.place), Number: int(r.number),
		At: time.Unix(0, r.at).UTC(), Network: r.names.network, Method: r.names.method, Outcome: r.names.outcome, Node: r.names.node,
		Cache: r.cache, Level: r.level, Took: time.Duration(r.took) * time.Microsecond, Waited: time.Duration(r.waited) * time.Microsecond, Credits: int64(r.credits),
	}
	t := r.texts
	if t == nil {
		return e
	}
	e.Error = string(t.fault)
	if !brief {
		e.Params, e.Cut = slices.Clone(t.params), t.cut
		e.Reply, e.ReplyCut = slices.Clone(t.reply), t.replyCut
	}
	return e
}
