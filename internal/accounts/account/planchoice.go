package account

import (
	"context"
	"fmt"
	"time"

	"github.com/nodegate/nodegate"
)

// planRest is how long a member keeps a plan that was chosen. A larger plan begins with a larger
// bucket of credits, and who could change as often as they like would get one each time.
const planRest = time.Hour

// ChoosePlan moves an account to a plan of its member's choice.
//
// Returns NotFound; InvalidInput for a plan that members can't choose; CardRequired; Conflict for the
// plan that the account has; RateLimited for a second choice within an hour.
func (s *accounts) ChoosePlan(ctx context.Context, actor nodegate.Actor, accountID, plan string) error {
	return s.saver.changeAccount(ctx, actor, accountID, func(a *nodegate.Account) (nodegate.AuditEntry, error) {
		before := s.plans.PlanOf(a).Name
		if err := s.plans.choosable(a, plan, now()); err != nil {
			return nodegate.AuditEntry{}, err
		}
		a.Plan, a.PlanChosen = plan, now()
		return nodegate.AuditEntry{Action: "account.plan", Detail: before + " to " + plan}, nil
	})
}

// choosable tells why a member can't choose a plan; nil: they can.
func (t *planTable) choosable(a *nodegate.Account, name string, at time.Time) error {
	plan, ok := t.now.Load().byName[name]
	free := a.PlanChosen.Add(planRest)
	switch {
	case !ok || !plan.SelfService:
		return planError(nodegate.InvalidInput, "this plan can't be chosen here; ask the operator of this service for it")
	case t.PlanOf(a).Name == name:
		return planError(nodegate.Conflict, "this account is already on the plan "+name)
	case plan.NeedsCard && !a.Card.Valid(at):
		return planError(nodegate.CardRequired, "the plan "+name+" requires a valid billing card; add one first")
	case at.Before(free):
		e := planError(nodegate.RateLimited, fmt.Sprintf("the plan can be changed once an hour; the next time at %s UTC", free.UTC().Format("15:04")))
		e.RetryAfter = free.Sub(at)
		return e
	}
	return nil
}

func planError(code nodegate.Code, msg string) *nodegate.Error {
	return &nodegate.Error{Op: "account.plan", Code: code, Msg: msg}
}
