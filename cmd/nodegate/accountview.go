package main

import (
	"fmt"
	"time"

	"github.com/nodegate/nodegate"
)

// accountView is an account in JSON.
type accountView struct {
	ID          string    `json:"id"`
	Email       string    `json:"email"`
	Plan        string    `json:"plan"`
	Operator    bool      `json:"operator"`
	Development bool      `json:"development"`
	Verified    bool      `json:"verified"`
	Suspended   bool      `json:"suspended"`
	Password    bool      `json:"has_password"`
	Card        *cardView `json:"card"`
	Created     time.Time `json:"created"`
}

type cardView struct {
	Brand     string `json:"brand"`
	LastFour  string `json:"last_four"`
	ExpMonth  int    `json:"exp_month"`
	ExpYear   int    `json:"exp_year"`
	Valid     bool   `json:"valid"`
	Processor string `json:"processor"`
}

// planView are a plan's limits in JSON; 0 is no limit.
type planView struct {
	CreditsPerSecond int64 `json:"credits_per_second"`
	Burst            int64 `json:"burst"`
	CreditsPerDay    int64 `json:"credits_per_day"`
}

func viewAccount(a *nodegate.Account) accountView {
	v := accountView{ID: a.ID, Email: a.Email, Plan: a.Plan, Operator: a.Operator, Development: a.Development, Verified: !a.Unverified, Suspended: !a.Suspended.IsZero(), Password: a.Password != "", Created: a.Created}
	if c := a.Card; c != nil {
		v.Card = &cardView{c.Brand, c.LastFour, c.ExpMonth, c.ExpYear, c.Valid(time.Now()), c.Processor}
	}
	return v
}

// viewPlan is nil for a plan that is not configured any more.
func viewPlan(plans map[string]nodegate.Plan, name string) *planView {
	p, ok := plans[name]
	if !ok {
		return nil
	}
	return &planView{p.CreditsPerSecond, p.Burst, p.CreditsPerDay}
}

// describePlan says what a plan allows, after its name.
func describePlan(p nodegate.Plan) string {
	switch {
	case p.Name == "":
		return ", which is not configured any more: the default plan's limits apply"
	case p.CreditsPerSecond == 0 && p.CreditsPerDay == 0:
		return ", without limits"
	}
	return fmt.Sprintf(", %s credits a second, %s a day", limit(p.CreditsPerSecond), limit(p.CreditsPerDay))
}

func limit(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

func describeCard(c *nodegate.Card) string {
	if c == nil {
		return "none"
	}
	state := "valid"
	if !c.Valid(time.Now()) {
		state = "expired"
	}
	return fmt.Sprintf("%s %s, expires %02d/%d, %s", c.Brand, c.LastFour, c.ExpMonth, c.ExpYear, state)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
