package dashboard

import (
	"net/url"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/journal"
)

func requestsRoutes() []route {
	return []route{{pattern: "GET /requests", who: members, serve: (*visit).requestsPage}}
}

// requestsShown is how many requests a page shows.
const requestsShown = 100

// requestsData is the page of a key's latest requests.
type requestsData struct {
	*journal.Page
	Keys       []keyChoice
	KeyID      string
	Filter     journal.Filter
	Counts     journal.Count
	KeepParams bool
	Only       string // the page with the failed ones, or with all
}

func (v *visit) requestsPage() error {
	form := v.req.URL.Query()
	keys, grant, err := v.chooseKey(form.Get("key"))
	if err != nil {
		return err
	}
	data := &requestsData{Keys: keys, Filter: journal.Filter{
		Outcome: form.Get("outcome"), Method: form.Get("method"), Network: form.Get("network"), Limit: requestsShown,
	}}
	if grant != nil {
		v.fillRequests(data, grant)
	}
	return v.show("requests", data)
}

// fillRequests reads what is kept of the key.
func (v *visit) fillRequests(data *requestsData, grant *nodegate.Grant) {
	data.KeyID = grant.KeyID
	data.Page = v.cfg.Journal.Latest(v.account.ID, grant.KeyID, data.Filter)
	data.Counts = v.cfg.Journal.Counts(v.account.ID)[grant.KeyID]
	data.KeepParams = grant.Policy().Settings.KeepParams
	only := url.Values{"key": {grant.KeyID}}
	if data.Filter.Outcome == "" {
		only.Set("outcome", journal.Failed)
	}
	data.Only = "/requests?" + only.Encode()
}
