package account

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// Statement is what an account has used of its plan.
type Statement struct {
	Plan   nodegate.Plan
	Month  time.Time // its first day
	Resets time.Time // when the credits of the day start over

	Stored int64 // bytes in the storage gateway now
	Moved  int64 // bytes through the storage gateway in the month

	Today    int64               // credits
	Credits  int64               // of the month
	Requests int64               // of the month
	Days     []nodegate.DayUsage // of the month, with any usage, oldest first
}

// statements tell accounts what they have used.
type statements struct {
	store interface {
		nodegate.AccountStore
		nodegate.UsageReader
	}
	plans  *planTable
	stored func(accountID string) int64 // bytes in the storage gateway; nil without one
}

// Statement is an account's at a time. Usage of the last seconds may be missing: each
// server writes it down a little later.
//
// Returns NotFound.
func (s *statements) Statement(ctx context.Context, accountID string, at time.Time) (*Statement, error) {
	a, err := s.store.Account(ctx, accountID)
	if err != nil {
		return nil, err
	}
	today := nodegate.ByDay.Start(at)
	st := &Statement{Plan: s.plans.PlanOf(a), Month: today.AddDate(0, 0, 1-today.Day()), Resets: today.AddDate(0, 0, 1)}
	figures, err := s.store.Figures(ctx, a.ID, st.Month)
	if err != nil {
		return nil, err
	}
	st.Moved = figures.Moved
	if s.stored != nil {
		st.Stored = s.stored(a.ID)
	}
	if st.Days, err = s.store.UsageByDay(ctx, a.ID, st.Month, st.Resets); err != nil {
		return nil, err
	}
	for _, d := range st.Days {
		st.Credits += d.Credits
		st.Requests += d.Requests
		if d.Day.Equal(today) {
			st.Today = d.Credits
		}
	}
	return st, nil
}
