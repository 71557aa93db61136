package dashboard

import (
	"cmp"
	"encoding/json"
	"net/http"
)

func paletteRoutes() []route {
	return []route{{pattern: "GET /palette.json", who: members, serve: palette}}
}

// place is somewhere to go: an entry of the command palette.
type place struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Path string `json:"path"`
}

// palette lists where the account can go: pages, its latest keys, networks and methods.
func palette(v *visit) error {
	list := []place{{"Create API key", "Action", "/keys#name"}, {"Show failed requests", "Action", "/requests?outcome=failed"}, {"Watch requests live", "Action", "/requests?live=1"}}
	for _, g := range v.nav() {
		for _, m := range g.Items {
			list = append(list, place{m.Name, g.Name, m.Path})
		}
	}
	list = append(list, place{"Docs", "Build", "/docs"})
	keys, err := v.liveKeys("", mostChoices)
	if err != nil {
		return err
	}
	for _, k := range keys {
		name := cmp.Or(k.Name, "(no name)")
		list = append(list, place{name, "Key", "/keys/" + k.ID}, place{name, "Usage of key", "/usage?key=" + k.ID})
	}
	for _, n := range v.cfg.Networks() {
		list = append(list, place{n.Name, "Playground", "/try?network=" + n.Name}, place{n.Name, "Usage of network", "/usage?network=" + n.Name})
	}
	for _, m := range v.book.Methods {
		list = append(list, place{m.Name, "Method", "/docs/" + m.Name})
	}
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	v.send(http.StatusOK, "application/json", body)
	return nil
}
