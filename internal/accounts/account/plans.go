package account

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/nodegate/nodegate"
)

// planTable are the configured plans. A reload of the configuration replaces them.
type planTable struct{ now atomic.Pointer[planSet] }

type planSet struct {
	byName   map[string]nodegate.Plan
	standard string // the plan of accounts that have no other
}

// SetPlans replaces the plans. The map must not be changed afterwards.
func (t *planTable) SetPlans(plans map[string]nodegate.Plan, standard string) {
	t.now.Store(&planSet{plans, standard})
}

// PlanOf is what an account may use. One whose plan is not configured any more has the
// default plan, as its requests do: see internal/accounts/auth.
func (t *planTable) PlanOf(a *nodegate.Account) nodegate.Plan {
	s := t.now.Load()
	if plan, ok := s.byName[a.Plan]; ok {
		return plan
	}
	return s.byName[s.standard]
}

// PlanNames lists the plans by name.
func (t *planTable) PlanNames() []string { return slices.Sorted(maps.Keys(t.now.Load().byName)) }

// Plans lists the plans, those with the fewest daily credits first and those without a limit
// last.
func (t *planTable) Plans() []nodegate.Plan {
	most := func(limit int64) uint64 { return uint64(limit) - 1 } // no limit is the most
	return slices.SortedFunc(maps.Values(t.now.Load().byName), func(a, b nodegate.Plan) int {
		return cmp.Or(cmp.Compare(most(a.CreditsPerDay), most(b.CreditsPerDay)), cmp.Compare(most(a.CreditsPerSecond), most(b.CreditsPerSecond)), cmp.Compare(a.Name, b.Name))
	})
}

// StandardPlan is the plan of new accounts.
func (t *planTable) StandardPlan() string { return t.now.Load().standard }

func (t *planTable) check(name string) error {
	if _, ok := t.now.Load().byName[name]; ok {
		return nil
	}
	return invalid("there is no such plan; the configured plans are " + strings.Join(t.PlanNames(), ", "))
}
