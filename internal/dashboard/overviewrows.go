package dashboard

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
)

// networkRow is a network on the Overview.
type networkRow struct {
	Name, Kind string
	Head       int64
	Up         bool
}

// headWait bounds how long the page waits for heads. Nodes answer from memory.
const headWait = 100 * time.Millisecond

func networkRows(v *visit) (rows []networkRow) {
	ctx, cancel := context.WithTimeout(v.req.Context(), headWait)
	defer cancel()
	for _, n := range v.cfg.Networks() {
		row := networkRow{Name: n.Name, Kind: kindOf(n)}
		if n.Node != nil {
			head, err := n.Node.Head(ctx)
			row.Head, row.Up = int64(head.Number), err == nil
		}
		rows = append(rows, row)
	}
	return rows
}

// keyCredits is what a key used today.
type keyCredits struct {
	Name, Path string // no path for the others together
	Credits    int64
}

// mostUsers is how many keys the Overview names.
const mostUsers = 3

// keysByCredits are the keys that used the most of today's credits. Nothing is said where there
// is one only.
func keysByCredits(v *visit) (list []keyCredits, err error) {
	reports, err := reportsOf(v)
	if err != nil {
		return nil, err
	}
	today, err := reports.KeysToday(v.req.Context(), v.account.ID, time.Now())
	if err != nil || len(today) < 2 {
		return nil, err
	}
	ids := make([]string, 0, len(today))
	for id := range today {
		if id != "" { // counted without a key: one of the others
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(today[b].Credits, today[a].Credits), cmp.Compare(a, b))
	})
	top := ids[:min(len(ids), mostUsers)]
	keys, err := v.listKeys(nodegate.KeyQuery{IDs: top, Limit: len(top)})
	if err != nil {
		return nil, err
	}
	for _, id := range top {
		name := "(no name)"
		if at := indexOfKey(keys, id); at >= 0 {
			name = cmp.Or(keys[at].Name, name)
		}
		list = append(list, keyCredits{Name: name, Path: "/usage?key=" + id, Credits: today[id].Credits})
	}
	rest := keyCredits{Name: "others", Credits: today[""].Credits}
	for _, id := range ids[len(top):] {
		rest.Credits += today[id].Credits
	}
	if rest.Credits > 0 {
		list = append(list, rest)
	}
	return list, nil
}
