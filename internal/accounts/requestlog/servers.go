package requestlog

import (
	"context"
	"encoding/json"
	"time"
)

// question asks another server for what it keeps.
type question struct {
	Account, Key string
	Filter       Filter
}

// Everywhere is Latest over all servers. The second value is how many of them did not
// answer in time: what they keep is missing.
func (j *Log) Everywhere(ctx context.Context, accountID, keyID string, f Filter) (p *Page, silent int) {
	p = j.Latest(accountID, keyID, f)
	if j == nil || j.ask == nil {
		return p, 0
	}
	asked, err := json.Marshal(question{accountID, keyID, f})
	if err != nil {
		return p, 1
	}
	answers, silent, err := j.ask(ctx, asked)
	if err != nil {
		return p, max(silent, 1)
	}
	for _, a := range answers {
		var other Page
		if json.Unmarshal(a, &other) != nil {
			silent++
			continue
		}
		p.join(&other)
	}
	p.finish(f.Limit)
	return p, silent
}

// Answer replies to the question of another server's Everywhere. What is no question has
// no answer.
func (j *Log) Answer(asked []byte) []byte {
	var q question
	if json.Unmarshal(asked, &q) != nil || q.Account == "" {
		return nil
	}
	answer, err := json.Marshal(j.Latest(q.Account, q.Key, q.Filter))
	if err != nil {
		return nil
	}
	return answer
}

// join adds what another server keeps.
func (p *Page) join(other *Page) {
	p.Entries = append(p.Entries, other.Entries...)
	p.Passed, p.Kept, p.Failed = p.Passed+other.Passed, p.Kept+other.Kept, p.Failed+other.Failed
	p.Oldest = earlier(p.Oldest, other.Oldest)
	for _, of := range []struct{ into, from *[]string }{{&p.Networks, &other.Networks}, {&p.Methods, &other.Methods}, {&p.Outcomes, &other.Outcomes}} {
		for _, name := range *of.from {
			*of.into = with(*of.into, name)
		}
	}
}

// earlier is the first of two times of which either may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
