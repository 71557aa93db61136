package dashboard

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// TestPalette: everybody finds their own pages and keys, and nobody else's.
func TestPalette(t *testing.T) {
	d, cookie, keys := crowded(t, 1, 2)
	d.cfg.Networks = func() []Network { return []Network{{Network: nodegate.Network{Name: "devnet"}}} }
	_, operator := d.person(t, "operator@example.com", true)
	paths := func(cookie string) (list []string) {
		got := d.ask(http.MethodGet, "/palette.json", cookie, nil)
		var places []place
		if err := json.Unmarshal(got.Body.Bytes(), &places); err != nil || got.Code != http.StatusOK || got.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%d %v %s", got.Code, err, got.Body)
		}
		for _, p := range places {
			if p.Name == "" || p.Kind == "" {
				t.Errorf("%+v has no name", p)
			}
			list = append(list, p.Path)
		}
		return list
	}
	mine, theirs := paths(cookie), paths(operator)
	for path, who := range map[string][2]bool{
		"/": {true, true}, "/requests": {true, true}, "/docs/eth_call": {true, true}, "/try?network=devnet": {true, true}, "/operator/audit": {false, true},
		"/keys/" + keys[1].ID: {true, false}, "/keys/" + keys[0].ID: {false, false}, "/usage?key=" + keys[2].ID: {true, false},
	} {
		if slices.Contains(mine, path) != who[0] || slices.Contains(theirs, path) != who[1] {
			t.Errorf("%s: a member has it: %v, the operator: %v", path, !who[0], !who[1])
		}
	}
	if got := d.ask(http.MethodGet, "/palette.json", "", nil); got.Code != http.StatusSeeOther || strings.Contains(got.Body.String(), keys[1].ID) {
		t.Errorf("a stranger: %d", got.Code)
	}
}
