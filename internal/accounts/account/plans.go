package account

import (
	"slices"
	"strings"

	"github.com/nodegate/nodegate"
)

// planTable are the configured plans.
type planTable struct {
	byName   map[string]nodegate.Plan
	standard string // the plan of accounts that have no other
}

// PlanOf is what an account may use. One whose plan is not configured any more has the
// default plan, as its requests do: see internal/accounts/auth.
func (t *planTable) PlanOf(a *nodegate.Account) nodegate.Plan {
	if plan, ok := t.byName[a.Plan]; ok {
		return plan
	}
	return t.byName[t.standard]
}

func (t *planTable) check(name string) error {
	if _, ok := t.byName[name]; ok {
		return nil
	}
	var known []string
	for p := range t.byName {
		known = append(known, p)
	}
	slices.Sort(known)
	return invalid("there is no such plan; configured are " + strings.Join(known, ", "))
}
