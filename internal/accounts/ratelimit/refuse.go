package ratelimit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nodegate/nodegate"
)

// verdict is an answer to a request for credits. The larger one outweighs.
type verdict uint8

const (
	pass  verdict = iota
	later         // the bucket is empty
	spent         // the day's credits are
	never         // the bucket is too small
)

// refusal says which limit holds a request up. The zero refusal is none.
type refusal struct {
	verdict verdict
	limit   Limit
	seconds int64 // until it makes sense to try again
	day     int64 // that is spent
}

// worse returns the refusal that tells the client more.
func (r refusal) worse(o refusal) refusal {
	if o.verdict > r.verdict || o.verdict == r.verdict && o.seconds > r.seconds {
		return o
	}
	return r
}

// error puts the refusal into the contract's words.
func (r refusal) error(cost int64) error {
	const op = "ratelimit.admit"
	switch r.verdict {
	case later:
		return &nodegate.Error{
			Op: op, Code: nodegate.RateLimited, Msg: "rate limit exceeded", RetryAfter: time.Duration(r.seconds) * time.Second,
			Data: fmt.Appendf(nil, `{"rate":{"allowed_credits_per_second":%d,"backoff_seconds":%d}}`, r.limit.Rate, r.seconds),
		}
	case spent:
		resets := time.Unix((r.day+1)*secondsOfDay, 0).UTC().Format(time.RFC3339)
		return &nodegate.Error{
			Op: op, Code: nodegate.CreditsSpent, Msg: "daily credit limit reached",
			Data: json.RawMessage(fmt.Appendf(nil, `{"limit":%d,"resets_at":%q}`, r.limit.PerDay, resets)),
		}
	case never:
		return &nodegate.Error{
			Op: op, Code: nodegate.InvalidRequest,
			Msg: fmt.Sprintf("invalid request: it costs %d credits and the limit never allows more than %d at once", cost, r.limit.Burst),
		}
	}
	return nil
}
