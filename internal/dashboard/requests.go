package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

func requestsRoutes() []route {
	return []route{{pattern: "GET /requests", who: members, serve: requestsPage}}
}

// requestsPerPage is how many requests a page shows, and requestsPages how far back it goes.
const requestsPerPage, requestsPages = 50, 20

// requestsData is the page of the latest requests.
type requestsData struct {
	*requestlog.Page
	Keys   []countedKey
	Key    *nodegate.Key // the only one that is shown; nil is all
	Form   requestsForm
	Rows   []requestRow
	Panel  *requestPanel // the request that is open; nil is none
	Gone   bool          // the one that the address names is kept no longer
	Hour   report.Sums   // of the key or of all, which may be more than what is kept
	Silent int           // servers that did not answer
	Live   bool

	Number       int    // of the page, from 1
	First, Last  int    // of the entries on the page, from 1
	Newer, Older string // the pages beside this one; "" is none
}

// requestRow is a request in the list.
type requestRow struct {
	requestlog.Entry
	KeyName string
	Path    string // the page with this one open
	Here    bool
}

// Tone is the color of its outcome.
func (r requestRow) Tone() string { return tone(r.Outcome) }

func requestsPage(v *visit) error {
	data := &requestsData{Form: readRequestsForm(v.req.URL.Query(), time.Now())}
	data.Live = data.Form.query.Has("live")
	keys, sums, err := countedKeys(v, data.Form.Key)
	if err != nil {
		return err
	}
	data.Keys, data.Hour = keys, sums
	if err := data.choose(); err != nil {
		return err
	}
	if len(data.Keys) > 0 {
		if err := fillRequests(v, data); err != nil {
			return err
		}
	}
	return v.show("requests", data)
}

// choose picks the key that is asked for.
func (d *requestsData) choose() error {
	if d.Form.Key == "" {
		return nil
	}
	at := slices.IndexFunc(d.Keys, func(k countedKey) bool { return k.ID == d.Form.Key })
	if at < 0 {
		return &nodegate.Error{Op: "dashboard.requests", Code: nodegate.NotFound, Msg: "there is no such key, or it is revoked and has no requests of the last hour"}
	}
	k := &d.Keys[at]
	k.Chosen, d.Key, d.Hour = true, k.Key, k.Hour
	return nil
}

// fillRequests reads what is kept, on this server and on the others.
func fillRequests(v *visit, d *requestsData) error {
	number, _ := strconv.Atoi(v.req.URL.Query().Get("page"))
	d.Number = min(max(1, number), requestsPages)
	f := d.Form.filter
	f.Limit, f.Brief = d.Number*requestsPerPage, true
	d.Page, d.Silent = v.cfg.RequestLog.Everywhere(v.req.Context(), v.account.ID, d.Form.Key, f)
	d.Hour = atLeast(d.Hour, requestlog.Count{Kept: d.Kept, Failed: d.Page.Failed})
	d.turn()
	open, err := d.openPanel(v)
	if err != nil {
		return err
	}
	names, err := d.keyNames(v, open)
	if err != nil {
		return err
	}
	for _, e := range d.Entries {
		d.Rows = append(d.Rows, requestRow{
			Entry: e, KeyName: names[e.KeyID], Path: d.Form.with("open", openID(&e)) + "#request", Here: open != nil && openID(&e) == openID(open),
		})
	}
	if open != nil {
		d.Panel, err = panelOf(v, open, names[open.KeyID])
		d.Panel.Close = d.Form.with("open", "")
	}
	return err
}

// openPanel finds the request that the address names; nil is none.
func (d *requestsData) openPanel(v *visit) (*requestlog.Entry, error) {
	id, place := splitOpen(d.Form.query.Get("open"))
	if id == "" {
		return nil, nil
	}
	page, silent := v.cfg.RequestLog.Everywhere(v.req.Context(), v.account.ID, d.Form.Key, requestlog.Filter{ID: id, Place: &place})
	d.Silent = max(d.Silent, silent)
	at := slices.IndexFunc(page.Entries, func(e requestlog.Entry) bool { return e.Place == place })
	if d.Gone = at < 0; d.Gone {
		return nil, nil
	}
	return &page.Entries[at], nil
}

// keyNames are the names of the keys of a page.
func (d *requestsData) keyNames(v *visit, open *requestlog.Entry) (map[string]string, error) {
	names := map[string]string{}
	for _, k := range d.Keys {
		names[k.ID] = k.Name
	}
	missing := []string{}
	list := d.Entries
	if open != nil {
		list = append(slices.Clip(list), *open)
	}
	for _, e := range list {
		if _, known := names[e.KeyID]; !known && !slices.Contains(missing, e.KeyID) {
			missing = append(missing, e.KeyID)
		}
	}
	if len(missing) == 0 {
		return names, nil
	}
	keys, err := v.listKeys(nodegate.KeyQuery{IDs: missing, Limit: len(missing)})
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return names, err
}

// turn leaves the entries of one page, the last one where there are fewer pages.
func (d *requestsData) turn() {
	d.Number = min(d.Number, max(1, (d.Passed+requestsPerPage-1)/requestsPerPage))
	before := min((d.Number-1)*requestsPerPage, len(d.Entries))
	d.Entries = d.Entries[before:]
	d.First, d.Last = before+1, before+len(d.Entries)
	if d.Number > 1 {
		d.Newer = d.Form.with("page", strconv.Itoa(d.Number-1))
	}
	if d.Last < d.Passed && d.Number < requestsPages {
		d.Older = d.Form.with("page", strconv.Itoa(d.Number+1))
	}
}

// requestsForm is what the page is narrowed to, as it was typed.
type requestsForm struct {
	Key, Outcome, Network, Method, Search, Last string
	Code, Slower, From, To                      string

	filter requestlog.Filter
	query  url.Values // what links keep
}

// requestsFields are the parts of the address that a link keeps.
var requestsFields = []string{"key", "outcome", "network", "method", "q", "last", "code", "slower", "from", "to", "live", "open"}

// lastChoices are the times that can be chosen. Nothing is kept for longer than an hour.
var lastChoices = map[string]time.Duration{"5m": 5 * time.Minute, "15m": 15 * time.Minute}

// formTime is how browsers send a time, with seconds or without.
var formTimes = []string{"2006-01-02T15:04:05", "2006-01-02T15:04"}

// readRequestsForm reads an address. What can't be read doesn't narrow the page, and is not
// shown as if it did.
func readRequestsForm(from url.Values, now time.Time) requestsForm {
	f := requestsForm{query: url.Values{}}
	for _, name := range requestsFields {
		if value := from.Get(name); value != "" {
			f.query.Set(name, value)
		}
	}
	get := f.query.Get
	f.Key, f.Outcome, f.Network, f.Method, f.Search = get("key"), get("outcome"), get("network"), get("method"), get("q")
	if len(f.Search) > maxQuery {
		f.Search = f.Search[:maxQuery]
	}
	f.filter = requestlog.Filter{Outcome: f.Outcome, Network: f.Network, Method: f.Method, Search: f.Search}
	if code, err := strconv.Atoi(get("code")); err == nil && code != 0 {
		f.Code, f.filter.Number = get("code"), code
	}
	if ms, err := strconv.Atoi(get("slower")); err == nil && ms > 0 && ms < 1e9 {
		f.Slower, f.filter.AtLeast = get("slower"), time.Duration(ms)*time.Millisecond
	}
	if d := lastChoices[get("last")]; d > 0 {
		f.Last, f.filter.From = get("last"), now.Add(-d)
	}
	if at := formTime(get("from")); at.After(f.filter.From) {
		f.From, f.filter.From = get("from"), at
	}
	if f.filter.To = formTime(get("to")); !f.filter.To.IsZero() {
		f.To = get("to")
	}
	return f
}

func formTime(text string) time.Time {
	for _, form := range formTimes {
		if at, err := time.Parse(form, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// More tells whether the filters that are folded away narrow the page.
func (f requestsForm) More() bool { return f.Code+f.Slower+f.From+f.To != "" }

// with is the page with one part of its address changed; "" takes it off. Another page of
// the list has nothing open.
func (f requestsForm) with(name, value string) string {
	query := url.Values{}
	for n, values := range f.query {
		if n != "open" || name != "page" {
			query[n] = values
		}
	}
	query.Del(name)
	if value != "" {
		query.Set(name, value)
	}
	return "/requests?" + query.Encode()
}

// LivePath turns the live view on or off.
func (d *requestsData) LivePath() string {
	if d.Live {
		return d.Form.with("live", "")
	}
	return d.Form.with("live", "1")
}

// OnlyPath is the page with the failed requests, or with all.
func (d *requestsData) OnlyPath() string {
	if d.Form.Outcome == "" {
		return d.Form.with("outcome", requestlog.Failed)
	}
	return d.Form.with("outcome", "")
}

// openID names a request in an address: its id, and its place in a batch.
func openID(e *requestlog.Entry) string { return cmp.Or(e.ID, "-") + "." + strconv.Itoa(e.Place) }

func splitOpen(text string) (id string, place int) {
	at := strings.LastIndexByte(text, '.')
	if at < 0 {
		return "", 0
	}
	place, err := strconv.Atoi(text[at+1:])
	if err != nil {
		return "", 0
	}
	return text[:at], place
}
