package browser

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/bench/visitor"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// An operator creates an account, gives it another plan and role, suspends it, revokes its
// key, makes a link for a forgotten password and deletes it; then looks at the service.
func TestOperator(t *testing.T) {
	onScreens(t, func(t *testing.T, ctx context.Context) {
		service := harness.Start(t, func(c *config.Config) {
			c.Dashboard.Status = true
			c.Plans["growth"] = c.Plans["free"]
		})
		o := &operatorStory{story{T: t, ctx: ctx, service: service, base: localhost(service.RPC)}, ""}
		SignIn(t, ctx, service)
		o.create()
		o.changePlan()
		o.changeRole()
		o.suspend()
		o.revoke()
		o.resetLink()
		o.deleteAccount()
		o.look()
	})
}

type operatorStory struct {
	story
	page string // of the account
}

const newcomer = "grace@example.com"

func (o *operatorStory) create() {
	o.open("/operator/accounts", `#create`)
	fitsScreen(o.T, o.ctx, "the accounts")
	o.do(chromedp.SendKeys(`#create input[name="email"]`, newcomer), chromedp.SendKeys(`#create input[name="password"]`, "a long password"))
	o.press(`#create button`)
	o.says("Account created.")
	o.open("/operator/accounts?q=grace", `tbody a`)
	o.press(`tbody a`)
	o.page = Ask(o, o.ctx, chromedp.Evaluate[string](`location.pathname`))
	fitsScreen(o.T, o.ctx, "an account")
	if _, err := visitor.SignIn(o.base, newcomer, "a long password"); err != nil {
		o.Error(err)
	}
}

func (o *operatorStory) changePlan() {
	o.do(chromedp.SetValue(`form[action$="/plan"] select`, "growth"))
	o.press(`form[action$="/plan"] button`)
	o.says("Plan changed.")
	if plan := Ask(o, o.ctx, chromedp.Evaluate[string](`document.querySelector("select[name=plan]").value`)); plan != "growth" {
		o.Errorf("the plan is %q", plan)
	}
}

func (o *operatorStory) changeRole() {
	for _, role := range []string{"operator", "member"} {
		o.do(chromedp.SetValue(`form[action$="/role"] select`, role))
		o.press(`form[action$="/role"] button`)
		o.says("Role changed.")
		o.contains(`.head p`, role)
	}
}

func (o *operatorStory) suspend() {
	o.press(`form[action$="/suspend"] button`)
	o.says("Account suspended.")
	if _, err := visitor.SignIn(o.base, newcomer, "a long password"); err == nil {
		o.Error("a suspended account can sign in")
	}
	o.press(`form[action$="/resume"] button`)
	o.says("Account resumed.")
}

func (o *operatorStory) revoke() {
	accounts := o.service.Server.Control().Accounts
	grace, err := accounts.Find(o.ctx, newcomer)
	if err != nil {
		o.Fatal(err)
	}
	if _, err := accounts.CreateKey(o.ctx, nodegate.Actor{Name: "test"}, grace.ID, "app", nodegate.KeySettings{}); err != nil {
		o.Fatal(err)
	}
	o.open(o.page, `form[action$="/revoke"]`)
	o.press(`form[action$="/revoke"] button`)
	o.says("Key revoked.")
	if Ask(o, o.ctx, chromedp.Evaluate[bool](`document.querySelector("form[action$='/revoke']") !== null`)) {
		o.Error("the key can be revoked again")
	}
}

func (o *operatorStory) resetLink() {
	o.press(`form[action$="/reset"] button`)
	o.contains(`.secret code`, "/login/link/")
	fitsScreen(o.T, o.ctx, "a reset link")
	o.press(`.secret a.button`)
}

func (o *operatorStory) deleteAccount() {
	o.do(chromedp.SendKeys(`form[action$="/delete"] input[name="email"]`, newcomer))
	o.press(`form[action$="/delete"] button`)
	o.says("Account deleted.")
	o.open("/operator/accounts?q=grace", `.empty`)
}

// look goes through what an operator watches. What was done is in the audit log.
func (o *operatorStory) look() {
	o.open("/operator", `main h1`)
	o.contains(`main`, "devnet")
	o.open("/operator/traffic", `main h1`)
	fitsScreen(o.T, o.ctx, "the traffic")
	o.open("/operator/audit", `table`)
	for _, action := range []string{"account.create", "free to growth", "account.suspend", "key.revoke", "account.delete"} {
		o.contains(`main`, action)
	}
	fitsScreen(o.T, o.ctx, "the audit log")
	o.open("/status", `.notice.state.good`)
	o.contains(`main`, "All networks are operational.")
	fitsScreen(o.T, o.ctx, "the status page")
}
