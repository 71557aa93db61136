package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// stillNode is a node that stands at a block, or has none.
type stillNode struct {
	nodegate.Node
	head uint64
}

func (n stillNode) Head(context.Context) (nodegate.Head, error) {
	if n.head == 0 {
		return nodegate.Head{}, &nodegate.Error{Op: "test", Code: nodegate.NoNode, Msg: "no node"}
	}
	return nodegate.Head{Number: n.head}, nil
}

func twoNetworks() []Network {
	return []Network{
		{Network: nodegate.Network{Name: "devnet", Node: stillNode{head: 1234567}}, Embedded: true}, {Network: nodegate.Network{Name: "far", Node: stillNode{}}},
	}
}

// TestFront: beside the forms for strangers stand the networks, which are in the public
// documentation too. How they are is shown only where the status page is on.
func TestFront(t *testing.T) {
	for _, status := range []bool{false, true} {
		d := newBooth(t, func(c *Config) {
			c.Networks = twoNetworks
			if status {
				c.Status = func() []NetworkUp { return []NetworkUp{{"devnet", true}, {"far", false}} }
			}
		})
		for _, path := range []string{"/login", "/signup", "/login/reset"} {
			body := d.ask(http.MethodGet, path, "", nil).Body.String()
			for text, want := range map[string]bool{
				`class="auth-about"`: true, ">devnet<": true, ">far<": true, "/devnet/v3/KEY": true, `href="/docs"`: true, "1,234,567": false,
				">operational<": status, ">unavailable<": status, `href="/status"`: status,
			} {
				if strings.Contains(body, text) != want {
					t.Errorf("%s, with a status page %v: %q is there: %v", path, status, text, !want)
				}
			}
		}
	}
}

// TestFrontIsShort: of many networks a few stand beside the form, and none is no list.
func TestFrontIsShort(t *testing.T) {
	var many []Network
	for i := range 3 * mostFront {
		many = append(many, Network{Network: nodegate.Network{Name: fmt.Sprintf("net%d", i)}})
	}
	for _, list := range [][]Network{many, nil} {
		d := newBooth(t, func(c *Config) { c.Networks = func() []Network { return list } })
		body := d.ask(http.MethodGet, "/login", "", nil).Body.String()
		if got := strings.Count(body, "<li>"); got != min(len(list), mostFront) {
			t.Errorf("%d of %d networks are listed", got, len(list))
		}
	}
}

// TestTint: a network keeps its color, and there is a style for each.
func TestTint(t *testing.T) {
	style, err := staticFiles.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	for i := range tints {
		if !strings.Contains(string(style), fmt.Sprintf(".tint-%d {", i)) {
			t.Errorf("there is no color %d", i)
		}
	}
	if a, b := tint("devnet"), tint("devnet"); a != b || a >= tints || tint("") >= tints {
		t.Errorf("colors %d and %d", a, b)
	}
}

// TestOverviewNetworks: the Overview has each network with its newest block, or says that it
// has none.
func TestOverviewNetworks(t *testing.T) {
	d := newBooth(t, func(c *Config) { c.Networks = twoNetworks })
	_, member := d.person(t, "member@example.com", false)
	body := d.ask(http.MethodGet, "/", member, nil).Body.String()
	for _, want := range []string{">1,234,567<", ">available<", ">unavailable<", `href="/try?network=far"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the Overview lacks %q:\n%s", want, body)
		}
	}
}

// TestWhoUsesCredits: the Overview names the keys that used the most of today's credits; all
// lines together are what was used.
func TestWhoUsesCredits(t *testing.T) {
	today := nodegate.ByDay.Start(time.Now())
	d := newBooth(t, nil)
	a, member := d.person(t, "member@example.com", false)
	v := &visit{Dashboard: d.Dashboard, account: a, req: mustRequest(t)}
	if list, err := keysByCredits(v); err != nil || list != nil {
		t.Fatalf("without keys: %v, %v", list, err)
	}
	for i := range mostUsers + 2 {
		issued, err := d.cfg.Accounts.CreateKey(t.Context(), nodegate.Actor{Name: "test"}, a.ID, fmt.Sprintf("app %d", i), nodegate.KeySettings{})
		if err != nil {
			t.Fatal(err)
		}
		row := nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: a.ID, KeyID: issued.Key.ID, Network: "devnet", Method: "eth_chainId", Outcome: nodegate.OutcomeOK}, At: nodegate.ByMinute.Start(time.Now()), Requests: 1, Credits: int64(10 * (i + 1))}
		if err := d.store.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "test", Number: int64(i + 1), Rows: []nodegate.Usage{row}}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := keysByCredits(v)
	if err != nil {
		t.Fatal(err)
	}
	handOver(v) // the account's next page can make its reports
	body := d.ask(http.MethodGet, "/", member, nil).Body.String()
	if !today.Equal(nodegate.ByDay.Start(time.Now())) {
		t.Log("the day ended meanwhile, and its credits with it")
		return
	}
	got := ""
	for _, k := range list {
		got += fmt.Sprint(k.Name, " ", k.Credits, "; ")
	}
	if want := "app 4 50; app 3 40; app 2 30; others 30; "; got != want {
		t.Errorf("%s want %s", got, want)
	}
	if !strings.Contains(body, "Usage by key") || !strings.Contains(body, ">33.3 %<") {
		t.Errorf("the Overview lacks them:\n%s", body)
	}
}

func mustRequest(t *testing.T) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}
