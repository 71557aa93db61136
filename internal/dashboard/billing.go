package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/web"
)

func billingRoutes() []route {
	return []route{
		{pattern: "GET /billing", who: members, serve: billingPage},
		{pattern: "POST /billing/card", who: members, serve: putCard, audited: true},
		{pattern: "POST /billing/card/begin", who: members, serve: beginCard},
		{pattern: "POST /billing/card/remove", who: members, serve: removeCard, audited: true},
		{pattern: "POST /billing/plan", who: members, serve: choosePlan, audited: true},
	}
}

// billingData is the page of the card, the plan and the month. A card's number and its
// security code are never sent back.
type billingData struct {
	Statement   *account.Statement
	Meters      []meterView
	Plans       []nodegate.Plan // to compare; one alone is not compared
	Choice      bool            // there is a plan that a member can move to
	PlanProblem string
	Card        *nodegate.Card
	CardValid   bool
	Stripe      bool   // the processor is Stripe, not the test processor
	Mails       bool   // tell of used-up credits
	Month, Year string // of expiry, as typed: a declined card keeps them
	Problem     string
}

func billingPage(v *visit) error { return showBilling(v, http.StatusOK, billingData{}) }

func showBilling(v *visit, status int, d billingData) error {
	now := time.Now()
	s, err := v.cfg.Accounts.Statement(v.req.Context(), v.account.ID, now)
	if err != nil {
		return err
	}
	standing, err := v.cfg.Reports.Standing(v.req.Context(), v.account.ID, s.Plan, now)
	if err != nil {
		return err
	}
	d.Meters, d.Plans = meters(&standing), v.cfg.Accounts.Plans()
	d.Choice = slices.ContainsFunc(d.Plans, func(p nodegate.Plan) bool { return p.SelfService && p.Name != s.Plan.Name })
	d.Statement, d.Card, d.CardValid, d.Stripe, d.Mails = s, v.account.Card, v.account.Card.Valid(now), v.cfg.Stripe, v.cfg.Mails
	return v.showStatus(status, "billing", d)
}

// putCard takes what the test processor's form has, or the set-up that Stripe's form
// finished.
func putCard(v *visit) error {
	form := v.req.PostForm
	entry := nodegate.CardEntry{AccountID: v.account.ID, SetupID: form.Get("setup")}
	if !v.cfg.Stripe {
		entry.Number, entry.CVC = form.Get("number"), form.Get("cvc")
		entry.ExpMonth, entry.ExpYear = wholeNumber(form.Get("month")), wholeNumber(form.Get("year"))
	}
	handOver(v)
	if _, err := v.cfg.Accounts.PutCard(v.req.Context(), v.actor(), entry); err != nil {
		return billingAgain(v, err)
	}
	return v.seeOther("/billing?done=card")
}

// wholeNumber is 0, which no card has, for anything else.
func wholeNumber(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0
	}
	return n
}

// billingAgain shows the page with what is wrong about a card; anything that its holder
// can't mend is an error page.
func billingAgain(v *visit, err error) error {
	switch e := nodegate.AsError(err); e.Code {
	case nodegate.InvalidInput, nodegate.CardDeclined:
		form := v.req.PostForm
		return showBilling(v, http.StatusUnprocessableEntity, billingData{Problem: sentence(e.Msg), Month: form.Get("month"), Year: form.Get("year")})
	}
	return err
}

// choosePlan moves the account to a plan that its member has chosen. Why that can't be stands on
// the page, beside the plans.
func choosePlan(v *visit) error {
	handOver(v)
	err := v.cfg.Accounts.ChoosePlan(v.req.Context(), v.actor(), v.account.ID, v.req.PostFormValue("plan"))
	if err == nil {
		return v.seeOther("/billing?done=plan")
	}
	switch e := nodegate.AsError(err); e.Code {
	case nodegate.InvalidInput, nodegate.CardRequired, nodegate.Conflict, nodegate.RateLimited:
		return showBilling(v, web.Status(e.Code), billingData{PlanProblem: sentence(e.Msg)})
	}
	return err
}

func removeCard(v *visit) error {
	handOver(v)
	if err := v.cfg.Accounts.RemoveCard(v.req.Context(), v.actor(), v.account.ID); err != nil {
		return err
	}
	return v.seeOther("/billing?done=card-removed")
}

// stripePolicy is the policy of the one page with Stripe's form in it: its script, its
// frames and its API. The card's number goes from Stripe's frame to Stripe.
const stripePolicy = "default-src 'none'; style-src 'self'; script-src 'self' https://js.stripe.com https://*.js.stripe.com; " +
	"frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com; connect-src 'self' https://api.stripe.com; " +
	"img-src 'self' https://*.stripe.com; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// beginCard shows Stripe's form. It is the answer to a POST because it makes something
// at Stripe. The test processor has its form on the page itself.
func beginCard(v *visit) error {
	if !v.cfg.Stripe {
		return v.seeOther("/billing")
	}
	handOver(v)
	setup, err := v.cfg.Accounts.BeginCard(v.req.Context(), v.account.ID)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Security-Policy", stripePolicy)
	return v.show("billing-stripe", setup)
}
