package browser

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// Somebody near a limit sees it, finds out which key and method spend the credits, limits that
// key and lets it expire, and moves to a larger plan.
func TestLimits(t *testing.T) {
	onScreens(t, func(t *testing.T, ctx context.Context) {
		rows := busyDay(time.Now().UTC())
		service := harness.Start(t, func(c *config.Config) {
			larger := c.Plans["free"]
			larger.SelfService, larger.CreditsPerDay = true, 1<<40
			c.Plans["larger"] = larger
			tight := c.Plans["free"]
			tight.CreditsPerDay = usedToday(rows) * 100 / 95
			c.Plans["tight"] = tight
		})
		use(t, service, rows)
		first := service.Server.FirstKey().Key
		if err := service.Server.Control().Accounts.SetPlan(ctx, nodegate.Actor{Name: "test"}, first.AccountID, "tight"); err != nil {
			t.Fatal(err)
		}
		l := &limitsStory{story{T: t, ctx: ctx, service: service, base: localhost(service.RPC)}, usedToday(rows)}
		SignIn(t, ctx, service)
		l.warned()
		l.spending()
		l.custom()
		l.limitKey()
		l.choosePlan()
	})
}

type limitsStory struct {
	story
	used int64 // credits of today: few after midnight
}

// usedToday are the credits of rows since midnight in UTC.
func usedToday(rows []nodegate.Usage) (credits int64) {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for i := range rows {
		if !rows[i].At.Before(today) {
			credits += rows[i].Credits
		}
	}
	return max(credits, 1)
}

func (l *limitsStory) warned() {
	l.open("/", `.notice.banner`)
	l.contains(`.notice.banner`, "credits")
	fitsScreen(l.T, l.ctx, "the overview near the limit")
}

// spending goes from the charts to the key that spends the most, and to what it calls.
func (l *limitsStory) spending() {
	l.open("/usage?range=24h", `.chart`)
	l.press(`nav[aria-label="Charts stacked by"] a[href*="stack=method"]`)
	l.do(chromedp.WaitVisible(`nav[aria-label="Charts stacked by"] a[href*="stack=method"][aria-current]`))
	l.contains(`.charts .legend`, "eth_call")
	l.press(`#groups nav a[href*="by=key"]`)
	l.do(chromedp.WaitVisible(`#groups nav a[href*="by=key"][aria-current]`))
	if rows := Ask(l, l.ctx, chromedp.Evaluate[int](`document.querySelectorAll("#groups tbody tr").length`)); rows != 3 {
		l.Errorf("%d keys, want 3", rows)
	}
	fitsScreen(l.T, l.ctx, "the usage by key")
	l.press(`#groups tbody a`)
	l.do(chromedp.WaitVisible(`main a.chip`))
	l.press(`#groups nav a[href*="by=method"]`)
	l.do(chromedp.WaitVisible(`#groups nav a[href*="by=method"][aria-current]`))
	l.contains(`#groups`, "eth_getBlockReceipts")
	l.press(`main a.chip`)
}

// custom chooses days of its own: two days have what the last 24 hours have.
func (l *limitsStory) custom() {
	all := l.text(`#groups tbody tr:first-child td[data-label="Requests"]`)
	today := time.Now().UTC()
	l.do(chromedp.Click(`.pop[data-here] > summary, .head .pop > summary`), chromedp.WaitVisible(`.pop-menu input[name="from"]`),
		chromedp.SetValue(`.pop-menu input[name="from"]`, today.AddDate(0, 0, -1).Format(time.DateOnly)), chromedp.SetValue(`.pop-menu input[name="to"]`, today.Format(time.DateOnly)))
	l.press(`.pop-menu button.primary`)
	if got := l.text(`#groups tbody tr:first-child td[data-label="Requests"]`); got != all {
		l.Errorf("the two days have %s requests of the first method, the last 24 hours %s", got, all)
	}
	fitsScreen(l.T, l.ctx, "a range of days")
}

// limitKey refuses a limit that isn't a number and a day that is over, both on one page.
func (l *limitsStory) limitKey() {
	l.open("/keys/"+l.service.Server.FirstKey().Key.ID+"/settings", `#credits_per_day`)
	last := time.Now().UTC().AddDate(0, 0, 3)
	l.do(chromedp.SetValue(`#credits_per_day`, "a lot"), chromedp.SetValue(`#expires`, "2020-01-01"))
	l.press(`main form button.primary`)
	if wrong := Ask(l, l.ctx, chromedp.Evaluate[string](`[...document.querySelectorAll("[aria-invalid]")].map(e => e.id).join()`)); wrong != "expires,credits_per_day" {
		l.Errorf("marked are %q", wrong)
	}
	fitsScreen(l.T, l.ctx, "settings with mistakes")
	l.do(chromedp.SetValue(`#credits_per_day`, strconv.FormatInt(l.used, 10)), chromedp.SetValue(`#expires`, last.Format(time.DateOnly)))
	l.press(`main form button.primary`)
	l.says("Key settings saved.")
	l.open("/keys", `table`)
	if row := l.text(`tbody`); !strings.Contains(row, "of its limit") || !strings.Contains(row, "expires "+last.AddDate(0, 0, 1).Format(time.DateOnly)) {
		l.Errorf("the list of keys: %s", row)
	}
	fitsScreen(l.T, l.ctx, "the keys")
}

func (l *limitsStory) choosePlan() {
	l.open("/billing", `form[action="/billing/plan"]`)
	fitsScreen(l.T, l.ctx, "the plans")
	l.press(`form[action="/billing/plan"] button`)
	l.says("Plan changed.")
	l.contains(`#plan-title`, "larger")
	if Ask(l, l.ctx, chromedp.Evaluate[bool](`document.querySelector(".notice.banner") !== null`)) {
		l.Error("the banner is still there")
	}
}
