package dashboard

import (
	"slices"

	"github.com/nodegate/nodegate"
)

// mostChoices is how many keys a page offers beside the one that its address names. An
// account may have thousands: reading and showing them all takes longer than all else on
// the page.
const mostChoices = 100

// keyChoice is a key in a select box.
type keyChoice struct {
	ID, Name string
	Chosen   bool
}

// chooseKey lists the account's latest live keys and picks the one that is asked for, or
// the first. Without a key there is no grant.
func (v *visit) chooseKey(id string) (choices []keyChoice, grant *nodegate.Grant, err error) {
	keys, err := v.liveKeys(id, mostChoices)
	if err != nil || id == "" && len(keys) == 0 {
		return nil, nil, err
	}
	at := 0
	if id != "" {
		at = indexOfKey(keys, id)
	}
	if at < 0 {
		return nil, nil, &nodegate.Error{Op: "dashboard.key", Code: nodegate.NotFound, Msg: "there is no such key"}
	}
	for i, k := range keys {
		choices = append(choices, keyChoice{ID: k.ID, Name: k.Name, Chosen: i == at})
	}
	grant, err = v.cfg.Grant(v.req.Context(), v.account.ID, keys[at].ID)
	return choices, grant, err
}

// liveKeys are so many live keys that were created last, oldest first. The one with the id
// is among them if it is live.
func (v *visit) liveKeys(id string, limit int) ([]*nodegate.Key, error) {
	keys, err := v.listKeys(nodegate.KeyQuery{Live: true, Limit: limit})
	slices.Reverse(keys)
	if err != nil || id == "" || indexOfKey(keys, id) >= 0 {
		return keys, err
	}
	named, err := v.listKeys(nodegate.KeyQuery{Live: true, IDs: []string{id}, Limit: 1})
	return append(named, keys...), err // it is older than the others
}

// listKeys lists keys of who is signed in and nobody else.
func (v *visit) listKeys(q nodegate.KeyQuery) ([]*nodegate.Key, error) {
	q.AccountID = v.account.ID
	return v.cfg.Accounts.ListKeys(v.req.Context(), q)
}

func indexOfKey(keys []*nodegate.Key, id string) int {
	return slices.IndexFunc(keys, func(k *nodegate.Key) bool { return k.ID == id })
}

var errNoKey = &nodegate.Error{Op: "dashboard.key", Code: nodegate.InvalidInput, Msg: "create an API key first: requests sent here count toward it"}
