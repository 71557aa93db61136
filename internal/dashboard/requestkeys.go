package dashboard

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// countedKey is a key in a select box, with what it did in the last hour.
type countedKey struct {
	*nodegate.Key
	Hour   report.Sums
	Chosen bool
}

// countedKeys are keys that have requests to show, on this server or another one, or else
// work: those with the most failures first. The one with the id is among them. The second
// value is the last hour of all keys.
func countedKeys(v *visit, id string) (list []countedKey, all report.Sums, err error) {
	reports, err := reportsOf(v)
	if err != nil {
		return nil, all, err
	}
	hour, err := reports.KeysOfHour(v.req.Context(), v.account.ID, time.Now())
	if err != nil {
		return nil, all, err
	}
	for _, sums := range hour {
		all.Requests, all.Errors = all.Requests+sums.Requests, all.Errors+sums.Errors
	}
	for key, kept := range v.cfg.RequestLog.Counts(v.account.ID) {
		hour[key] = atLeast(hour[key], kept)
	}
	keys, err := v.listKeys(nodegate.KeyQuery{IDs: busiest(hour, id), Limit: mostChoices})
	if err != nil {
		return nil, all, err
	}
	live, err := v.liveKeys(id, mostChoices-len(keys))
	for _, k := range live {
		if indexOfKey(keys, k.ID) < 0 {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		list = append(list, countedKey{Key: k, Hour: hour[k.ID]})
	}
	slices.SortStableFunc(list, func(a, b countedKey) int {
		return cmp.Or(compareSums(a.Hour, b.Hour), a.Created.Compare(b.Created))
	})
	return list, all, err
}

// atLeast adds what the store doesn't know yet: it counts all requests, a few seconds later,
// and the request log counts at once, up to what it keeps.
func atLeast(sums report.Sums, kept requestlog.Count) report.Sums {
	sums.Requests, sums.Errors = max(sums.Requests, int64(kept.Kept)), max(sums.Errors, int64(kept.Failed))
	return sums
}

// busiest are the ids of the keys with the most failures, with the one that the address
// names if it has requests at all.
func busiest(hour map[string]report.Sums, named string) []string {
	ids := slices.SortedFunc(maps.Keys(hour), func(a, b string) int {
		return cmp.Or(compareSums(hour[a], hour[b]), cmp.Compare(a, b))
	})
	if at := slices.Index(ids, named); at >= mostChoices {
		ids[mostChoices-1] = named
	}
	return append([]string{}, ids[:min(len(ids), mostChoices)]...) // never nil, which would be all keys
}

// compareSums puts what has most to show first.
func compareSums(a, b report.Sums) int {
	return cmp.Or(cmp.Compare(b.Errors, a.Errors), cmp.Compare(b.Requests, a.Requests))
}
