package dashboard

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// addUsage counts requests of an account now.
func (d *booth) addUsage(t *testing.T, number int64, account, network, outcome string, requests int64) {
	t.Helper()
	row := nodegate.Usage{
		UsageKey: nodegate.UsageKey{AccountID: account, KeyID: "k", Network: network, Method: "eth_chainId", Outcome: outcome},
		At:       nodegate.ByMinute.Start(time.Now()), Requests: requests, Credits: 5 * requests,
	}
	if err := d.store.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "test", Number: number, Rows: []nodegate.Usage{row}}); err != nil {
		t.Fatal(err)
	}
}

// TestStatusPage is public where it is on: which networks answer, and shares by day. It
// tells no numbers.
func TestStatusPage(t *testing.T) {
	off := newBooth(t, nil)
	if got := off.ask(http.MethodGet, "/status", "", nil); got.Code != http.StatusNotFound {
		t.Errorf("turned off: %d", got.Code)
	}
	d := newBooth(t, func(c *Config) {
		c.Status = func() []NetworkUp { return []NetworkUp{{"devnet", true}, {"mainnet", false}, {"quiet", true}} }
	})
	d.addUsage(t, 1, "a", "devnet", nodegate.OutcomeOK, 4_321)
	d.addUsage(t, 2, "b", "devnet", nodegate.Reverted.String(), 1_000) // the sender's own
	d.addUsage(t, 3, "a", "mainnet", nodegate.OutcomeOK, 900)
	d.addUsage(t, 4, "b", "mainnet", nodegate.NoNode.String(), 60)
	d.addUsage(t, 5, "b", "mainnet", nodegate.Timeout.String(), 40)
	got := d.ask(http.MethodGet, "/status", "", nil)
	body := got.Body.String()
	if got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, body)
	}
	for _, want := range []string{"Some networks are unavailable", "100 % of requests", "90 % of requests", "No requests in the last 30 days", `class="bad"`, `class="good"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	for _, secret := range []string{"4,321", "5,321", "4321", "5321", "1,000", "960"} {
		if strings.Contains(body, secret) {
			t.Errorf("the page tells %s", secret)
		}
	}
	if n := strings.Count(body, "<li class"); n != 2*statusDays {
		t.Errorf("%d days", n)
	}
	d.addUsage(t, 6, "a", "quiet", nodegate.OutcomeOK, 1)
	if again := d.ask(http.MethodGet, "/status", "", nil); !strings.Contains(again.Body.String(), "No requests in the last 30 days") {
		t.Error("the page is worked out for everybody who opens it")
	}
}

// TestStatusWithoutStore: the page tells how networks are while the store fails, which is
// asked once for everybody who opens the page.
func TestStatusWithoutStore(t *testing.T) {
	d := newBooth(t, func(c *Config) {
		c.Status = func() []NetworkUp { return []NetworkUp{{"devnet", true}, {"mainnet", false}} }
	})
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got := d.ask(http.MethodGet, "/status", "", nil)
		for _, want := range []string{"Some networks are unavailable", ">operational<", ">unavailable<", "The history isn’t available right now."} {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("the page (%d) lacks %q:\n%s", got.Code, want, got.Body)
			}
		}
		if got.Code != http.StatusOK {
			t.Errorf("%d", got.Code)
		}
	}
	if n := strings.Count(d.log.String(), "the history for the status page"); n != 1 {
		t.Errorf("the store was asked %d times: %s", n, d.log)
	}
}

// TestTrafficPage adds up all accounts, by network, and operators' Overview has the health.
func TestTrafficPage(t *testing.T) {
	d := newBooth(t, func(c *Config) {
		c.Operator.Networks = func(context.Context) []NetworkState {
			return []NetworkState{
				{Name: "devnet", Embedded: true}, {Name: "mainnet", Problem: "no node available", Nodes: []NodeState{{Name: "one", Healthy: true}, {Name: "two", Why: "it is behind"}, {Name: "three", Cordoned: true}}},
			}
		}
	})
	_, operator := d.person(t, "operator@example.com", true)
	_, member := d.person(t, "member@example.com", false)
	d.addUsage(t, 1, "a", "devnet", nodegate.OutcomeOK, 700)
	d.addUsage(t, 2, "b", "devnet", nodegate.NoNode.String(), 30)
	d.addUsage(t, 3, "c", "mainnet", nodegate.OutcomeOK, 5)
	for _, span := range []string{"", "?range=15m", "?range=30d"} {
		got := d.ask(http.MethodGet, "/operator/traffic"+span, operator, nil)
		for _, want := range []string{">735<", ">30<", ">730<", "no node", "3,675 credits", "embedded node", ">two<"} {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%q (%d) lacks %q:\n%s", span, got.Code, want, got.Body)
			}
		}
	}
	if got := d.ask(http.MethodGet, "/operator/traffic?range=ever", operator, nil); got.Code != http.StatusUnprocessableEntity {
		t.Errorf("an unknown range: %d", got.Code)
	}
	body := d.ask(http.MethodGet, "/", operator, nil).Body.String()
	for _, want := range []string{"Service health", "1 of 2 networks up", "1 of 3 nodes used", "mainnet: no node available", "mainnet, node two: it is behind"} {
		if !strings.Contains(body, want) {
			t.Errorf("the Overview lacks %q:\n%s", want, body)
		}
	}
	if body := d.ask(http.MethodGet, "/", member, nil).Body.String(); strings.Contains(body, "Service health") {
		t.Error("members see the health of the service")
	}
}
