package dashboard

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

func requestsRoutes() []route {
	return []route{{pattern: "GET /requests", who: members, serve: requestsPage}}
}

// requestsPerPage bounds what a page shows; a key has at most requestsKept.
const requestsPerPage, requestsKept = 50, 500

// requestsData is the page of a key's latest requests.
type requestsData struct {
	*requestlog.Page
	Keys   []countedKey
	Key    *nodegate.Key
	Filter requestlog.Filter
	Hour   report.Sums // of the key, which may be more than what is kept
	Only   string      // the page with the failed ones, or with all

	Number       int    // of the page, from 1
	First, Last  int    // of the entries on the page, from 1
	Newer, Older string // the pages beside this one; "" is none
}

// countedKey is a key in a select box, with what it did in the last hour.
type countedKey struct {
	*nodegate.Key
	kept   requestlog.Count
	Hour   report.Sums
	Chosen bool
}

func requestsPage(v *visit) error {
	form := v.req.URL.Query()
	data := &requestsData{Filter: requestlog.Filter{
		Outcome: form.Get("outcome"), Method: form.Get("method"), Network: form.Get("network"),
	}}
	var err error
	if data.Keys, err = countedKeys(v, form.Get("key")); err != nil {
		return err
	}
	if err := data.choose(form.Get("key")); err != nil {
		return err
	}
	if data.Key != nil {
		fillRequests(v, data)
	}
	return v.show("requests", data)
}

// countedKeys are keys that have requests to show, or else work: those with the most
// failures first. The one with the id is among them.
func countedKeys(v *visit, id string) (list []countedKey, err error) {
	counts := v.cfg.RequestLog.Counts(v.account.ID)
	keys, err := v.listKeys(nodegate.KeyQuery{IDs: busiest(counts, id), Limit: mostChoices})
	if err != nil {
		return nil, err
	}
	live, err := v.liveKeys(id, mostChoices-len(keys))
	for _, k := range live {
		if indexOfKey(keys, k.ID) < 0 {
			keys = append(keys, k)
		}
	}
	if err != nil {
		return nil, err
	}
	hour, err := v.cfg.Reports.KeysOfHour(v.req.Context(), v.account.ID, time.Now())
	for _, k := range keys {
		list = append(list, countedKey{Key: k, kept: counts[k.ID], Hour: atLeast(hour[k.ID], counts[k.ID])})
	}
	slices.SortStableFunc(list, func(a, b countedKey) int {
		return cmp.Or(compareCounts(a.kept, b.kept), a.Created.Compare(b.Created))
	})
	return list, err
}

// atLeast adds what the store doesn't know yet: it counts all requests, a few seconds later,
// and the request log counts at once, up to what it keeps.
func atLeast(sums report.Sums, kept requestlog.Count) report.Sums {
	sums.Requests, sums.Errors = max(sums.Requests, int64(kept.Kept)), max(sums.Errors, int64(kept.Failed))
	return sums
}

// busiest are the ids of the keys with the most failures, with the one that the address
// names if it has requests at all.
func busiest(counts map[string]requestlog.Count, named string) []string {
	ids := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(compareCounts(counts[a], counts[b]), cmp.Compare(a, b))
	})
	if at := slices.Index(ids, named); at >= mostChoices {
		ids[mostChoices-1] = named
	}
	return append([]string{}, ids[:min(len(ids), mostChoices)]...) // never nil, which would be all keys
}

// compareCounts puts what has most to show first.
func compareCounts(a, b requestlog.Count) int {
	return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Kept, a.Kept))
}

// choose picks a key of the list: the one that is asked for, or the first.
func (d *requestsData) choose(id string) error {
	for i := range d.Keys {
		if k := &d.Keys[i]; k.ID == id || id == "" {
			k.Chosen, d.Key, d.Hour = true, k.Key, k.Hour
			return nil
		}
	}
	if id != "" {
		return &nodegate.Error{Op: "dashboard.requests", Code: nodegate.NotFound, Msg: "there is no such key, or it is revoked and has no requests of the last hour"}
	}
	return nil
}

// turn leaves the entries of one page, the last one where there are fewer pages.
func (d *requestsData) turn() {
	d.Number = min(d.Number, max(1, (d.Passed+requestsPerPage-1)/requestsPerPage))
	before := (d.Number - 1) * requestsPerPage
	d.Entries = d.Entries[before:]
	d.First, d.Last = before+1, before+len(d.Entries)
	if d.Number > 1 {
		d.Newer = d.address(d.Number - 1)
	}
	if d.Last < d.Passed {
		d.Older = d.address(d.Number + 1)
	}
}

func (d *requestsData) address(page int) string {
	query := url.Values{"key": {d.Key.ID}, "page": {strconv.Itoa(page)}}
	for name, value := range map[string]string{"outcome": d.Filter.Outcome, "method": d.Filter.Method, "network": d.Filter.Network} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "/requests?" + query.Encode()
}

// fillRequests reads what is kept of the key.
func fillRequests(v *visit, data *requestsData) {
	number, _ := strconv.Atoi(v.req.URL.Query().Get("page"))
	data.Number = min(max(1, number), requestsKept/requestsPerPage)
	data.Filter.Limit = data.Number * requestsPerPage
	data.Page = v.cfg.RequestLog.Latest(v.account.ID, data.Key.ID, data.Filter)
	data.turn()
	only := url.Values{"key": {data.Key.ID}}
	if data.Filter.Outcome == "" {
		only.Set("outcome", requestlog.Failed)
	}
	data.Only = "/requests?" + only.Encode()
}
