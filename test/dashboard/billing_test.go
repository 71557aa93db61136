package dashboard_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/dashboard"
	"github.com/nodegate/nodegate/test/harness"
)

// devnetOnly starts faster.
func devnetOnly(c *config.Config) {
	c.Networks, c.DefaultNetwork = c.Networks[:1], c.Networks[0].Name
}

func nextYear() string { return strconv.Itoa(time.Now().Year() + 1) }

func cardForm(number string) url.Values {
	return url.Values{"number": {number}, "month": {"12"}, "year": {nextYear()}, "cvc": {"937"}}
}

// wants checks a page's status and that it has some texts.
func wants(t *testing.T, what string, p dashboard.Page, status int, texts ...string) {
	t.Helper()
	if p.Status != status {
		t.Errorf("%s: status %d, want %d\n%s", what, p.Status, status, p.Body)
	}
	for _, s := range texts {
		if !strings.Contains(p.Body, s) {
			t.Errorf("%s: the page has no %q:\n%s", what, s, p.Body)
		}
	}
}

// TestCard puts a card on, replaces it and removes it, and looks for the numbers
// everywhere afterwards.
func TestCard(t *testing.T) {
	s, err := harness.Launch(t.TempDir(), devnetOnly)
	if err != nil {
		t.Fatal(err)
	}
	v := dashboard.Visit(t, s)
	v.SignUp("ann@example.com")
	var seen strings.Builder
	look := func(what string, p dashboard.Page, status int, texts ...string) {
		t.Helper()
		seen.WriteString(strings.NewReplacer("4242 4242 4242 4242", "", "5555 5555 5555 4444", "", "4000 0000 0000 0002", "").Replace(p.Body))
		wants(t, what, p, status, texts...)
	}
	look("at first", v.Get("/billing"), 200, "No card yet", "This is a test processor", "4242 4242 4242 4242")
	look("a real card", v.Post("/billing/card", cardForm("4012888888881881")), 422, "only the public test cards", "No card yet")
	look("declined", v.Post("/billing/card", cardForm("4000000000000002")), 422, "declined")
	look("a card", v.Post("/billing/card", cardForm("4242424242424242")), 303)
	look("with it", v.Get("/billing?done=card"), 200, "Card added.", "<strong>visa</strong> ending in 4242, expires 12/"+nextYear(), ">valid<")
	look("a bad replacement", v.Post("/billing/card", cardForm("4012888888881881")), 422, "ending in 4242")
	look("another card", v.Post("/billing/card", cardForm("5555-5555-5555-4444")), 303)
	look("with that", v.Get("/billing"), 200, "<strong>mastercard</strong> ending in 4444")
	look("removing", v.Post("/billing/card/remove", nil), 303)
	look("without", v.Get("/billing?done=card-removed"), 200, "Card removed.", "No card yet")
	look("removing none", v.Post("/billing/card/remove", nil), 303)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for place, text := range map[string]string{"the pages": seen.String(), "the log": s.Logs.String(), "the data folder": content(t, s.Dir)} {
		for _, number := range []string{"4012888888881881", "4000000000000002", "5555555555554444", "5555-5555-5555-4444", "4242424242424242"} {
			if strings.Contains(text, number) {
				t.Errorf("%s: has the number %s", place, number)
			}
		}
	}
	if !strings.Contains(content(t, s.Dir), "ann@example.com") {
		t.Error("the search in the data folder finds nothing at all")
	}
}

// content is everything that a folder's files hold.
func content(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		b.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestChoosePlan: a member moves to a plan that the configuration opens to members. The limits hold
// at once, and the page says why another change has to wait.
func TestChoosePlan(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) {
		devnetOnly(c)
		c.Plans["pro"] = config.Plan{SelfService: true, NeedsCard: true, CreditsPerDay: 77_000_000}
		c.Plans["small"] = config.Plan{SelfService: true, CreditsPerDay: 1_000_000}
		c.Plans["custom"] = config.Plan{}
	})
	v := dashboard.Visit(t, s)
	v.SignUp("ann@example.com")
	choose := func(plan string) dashboard.Page { return v.Post("/billing/plan", url.Values{"plan": {plan}}) }
	p := v.Get("/billing")
	wants(t, "without a card", p, 200, "Plan: free", "requires a card", `name="plan" value="small"`, "Only the operator of this service can move you back to free")
	for _, plan := range []string{"pro", "custom", "unlimited", "free"} {
		if strings.Contains(p.Body, `name="plan" value="`+plan+`"`) {
			t.Errorf("the page offers the plan %s", plan)
		}
	}
	wants(t, "a plan for card holders", choose("pro"), 402, "requires a valid billing card", "Plan: free")
	wants(t, "an operator's plan", choose("custom"), 422, "ask the operator", "Plan: free")
	wants(t, "no plan", choose(""), 422, "ask the operator")
	wants(t, "a card", v.Post("/billing/card", cardForm("4242424242424242")), 303)
	wants(t, "with a card", choose("pro"), 303)
	wants(t, "the new plan", v.Get("/billing?done=plan"), 200, "Plan changed.", "Plan: pro", "of 77,000,000")
	wants(t, "again", choose("small"), 429, "once an hour", "Plan: pro")
}

// TestMonth shows an account's own figures against its plan, and an expired card.
func TestMonth(t *testing.T) {
	s := harness.Start(t, devnetOnly)
	v := dashboard.Visit(t, s)
	v.SignUp("ann@example.com")
	store := s.Server.Control().Store
	a, err := store.AccountByEmail(t.Context(), "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	a.Card = &nodegate.Card{Brand: "visa", LastFour: "4242", ExpMonth: 1, ExpYear: 2020, Processor: "test"}
	if err := store.Save(t.Context(), &nodegate.Change{Account: a, Audit: nodegate.AuditEntry{Action: "test"}}); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	row := func(account string, credits int64) nodegate.Usage {
		return nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: account, KeyID: "k", Method: "eth_call", Outcome: "ok"}, At: now, Requests: 7, Credits: credits}
	}
	err = store.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "test", Number: 1, Rows: []nodegate.Usage{row(a.ID, 10_000_000), row("a-other", 987_654)},
		Figures: []nodegate.Figures{{AccountID: a.ID, Month: now, Moved: 5 << 30}}})
	if err != nil {
		t.Fatal(err)
	}
	p := v.Get("/billing")
	wants(t, "the month", p, 200, "expires 01/2020", ">expired<", "Plan: free", "20,000,000", "up to 40,000 at once", "50 % of 20,000,000", "10 % of 50.0 GiB",
		"0 % of 5.0 GiB", "10,000,000 credits in 7 requests", now.Format("<td>2006-01-02</td>"), "contact the operator")
	if strings.Contains(p.Body, "987,654") {
		t.Error("the page has somebody else's usage")
	}
}
