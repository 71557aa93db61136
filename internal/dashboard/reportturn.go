package dashboard

import (
	"context"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// Reports may read millions of rows, and few can do so at the same time. So an account makes
// those of one page at a time, and its other pages wait for their turn.

// mostWaiting is how long a page waits for its turn.
const mostWaiting = 5 * time.Second

// reportTurns are the turns of accounts. The zero reportTurns is ready.
type reportTurns struct {
	mu       sync.Mutex
	accounts map[string]*reportTurn
	wait     time.Duration // 0 is mostWaiting
}

// reportTurn is one account's.
type reportTurn struct {
	taken chan struct{} // holds an element while a page makes reports
	pages int           // that have it or wait for it
}

// take waits for an account's turn. Whoever gets it calls end.
//
// Returns AccountBusy.
func (r *reportTurns) take(ctx context.Context, account string) (end func(), err error) {
	turn := r.join(account)
	wait := r.wait
	if wait == 0 {
		wait = mostWaiting
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case turn.taken <- struct{}{}:
		return func() { <-turn.taken; r.leave(account, turn) }, nil
	case <-limited.Done():
		r.leave(account, turn)
		return nil, &nodegate.Error{
			Op: "dashboard.reports", Code: nodegate.AccountBusy, RetryAfter: wait, Err: limited.Err(),
			Msg: "another page of this account is still reading its usage: wait for it, then reload this page",
		}
	}
}

func (r *reportTurns) join(account string) *reportTurn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accounts == nil {
		r.accounts = map[string]*reportTurn{}
	}
	turn := r.accounts[account]
	if turn == nil {
		turn = &reportTurn{taken: make(chan struct{}, 1)}
		r.accounts[account] = turn
	}
	turn.pages++
	return turn
}

func (r *reportTurns) leave(account string, turn *reportTurn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if turn.pages--; turn.pages == 0 {
		delete(r.accounts, account)
	}
}

// reportsOf is for pages that read usage. The first call waits for the account's turn, which
// ends with the page's own work: see handOver. The wait is not charged.
func reportsOf(v *visit) (*report.Reports, error) {
	if v.endTurn != nil {
		return v.cfg.Reports, nil
	}
	begun := time.Now()
	end, err := v.turns.take(v.req.Context(), v.account.ID)
	v.waited += time.Since(begun)
	v.endTurn = end
	return v.cfg.Reports, err
}
