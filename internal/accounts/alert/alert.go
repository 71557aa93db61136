package alert

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
)

// marks are the shares of a day's credits that are told, in percent, highest first.
var marks = [...]int{100, 90, 75}

// Store is what is read and noted.
type Store interface {
	nodegate.AlertStore
	Account(ctx context.Context, id string) (*nodegate.Account, error)
	Spent(ctx context.Context, day time.Time) (*nodegate.Spent, error)
}

// Config is what a Watch works with.
type Config struct {
	Store       Store
	Plans       map[string]nodegate.Plan // at the start; see SetPlans
	DefaultPlan string
	Every       time.Duration                              // between looks
	Send        func(context.Context, mailer.Letter) error // nil writes to the log instead
	URL         string                                     // of the dashboard, for the letter; "" leaves it out
	Log         *slog.Logger
}

// Watch looks at what was spent and sends the alerts.
type Watch struct {
	cfg   Config
	plans atomic.Pointer[plans]

	day   time.Time
	known map[string]*progress // by account, of the day; only accounts past a mark

	stop    context.CancelFunc
	running sync.WaitGroup
}

// plans are the configured ones.
type plans struct {
	byName   map[string]nodegate.Plan
	standard string
	least    float64 // credits below which no plan has an alert
}

// progress is what this server knows of an account's alerts of the day.
type progress struct {
	done  int // the highest mark that was sent, by whomever
	tries int // that failed since
	next  time.Time
}

const (
	lookTime  = 30 * time.Second // for reading what was spent
	storeTime = 5 * time.Second  // for a step with one account
	// lease is longer than one attempt takes, so that no two servers are at it.
	lease = mailer.SendTime + 2*storeTime
	// maxLetters bounds one look; the rest waits for the next.
	maxLetters = 500
	// The pause after a failure doubles from the first to the longest.
	firstPause, longestPause = time.Minute, 30 * time.Minute
)

// Start begins to look. Close ends it.
func Start(cfg Config) *Watch {
	w := newWatch(cfg)
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.running.Go(func() { w.run(ctx) })
	return w
}

func newWatch(cfg Config) *Watch {
	w := &Watch{cfg: cfg, known: map[string]*progress{}}
	w.SetPlans(cfg.Plans, cfg.DefaultPlan)
	return w
}

// SetPlans replaces the plans, from the next look on. The map must not be changed
// afterwards.
func (w *Watch) SetPlans(byName map[string]nodegate.Plan, standard string) {
	p := &plans{byName, standard, math.Inf(1)}
	for _, plan := range byName {
		if plan.CreditsPerDay > 0 {
			p.least = min(p.least, float64(plan.CreditsPerDay)*float64(marks[len(marks)-1])/100)
		}
	}
	w.plans.Store(p)
}

// Close ends the looking. An alert that is being sent is given up; another server, or
// the next start, sends it.
func (w *Watch) Close() {
	w.stop()
	w.running.Wait()
}

func (w *Watch) run(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.look(ctx, time.Now()); err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("can't notify accounts about their credits: retrying", "err", err)
		}
	}
}

// look sends what is due. It ends at the first failure that others would share.
func (w *Watch) look(ctx context.Context, now time.Time) error {
	if day := nodegate.ByDay.Start(now); !day.Equal(w.day) {
		w.day = day
		clear(w.known)
	}
	limited, cancel := context.WithTimeout(ctx, lookTime)
	spent, err := w.cfg.Store.Spent(limited, w.day)
	cancel()
	if err != nil {
		return err
	}
	letters, begin, least := 0, time.Now(), w.plans.Load().least
	for _, id := range slices.Sorted(maps.Keys(spent.Accounts)) {
		if float64(spent.Accounts[id]) < least || w.waits(id, now) {
			continue
		}
		// Leases run from the present: a look with many letters takes a while.
		sent, err := w.consider(ctx, id, spent.Accounts[id], now.Add(time.Since(begin)))
		if err != nil {
			return err
		}
		if sent {
			letters++
		}
		if letters == maxLetters {
			return nil
		}
	}
	return nil
}

// waits tells whether an account's alert failed lately.
func (w *Watch) waits(id string, now time.Time) bool {
	p := w.known[id]
	return p != nil && now.Before(p.next)
}

// consider sends an account's alert where it has one that nobody sent.
func (w *Watch) consider(ctx context.Context, id string, credits int64, now time.Time) (sent bool, err error) {
	limited, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	a, err := w.cfg.Store.Account(limited, id)
	if errors.Is(err, nodegate.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	limit := w.limitOf(a)
	mark := reached(credits, limit)
	p := w.known[id]
	if mark == 0 || p != nil && mark <= p.done {
		return false, nil
	}
	if p == nil {
		p = &progress{}
		w.known[id] = p
	}
	alert := nodegate.Alert{AccountID: id, Day: w.day, Percent: mark}
	claim, err := w.cfg.Store.ClaimAlert(limited, alert, now, lease)
	switch {
	case err != nil || claim == nodegate.AlertTaken:
		return false, err
	case claim == nodegate.AlertDone:
		p.done = mark
		return false, nil
	}
	if err := w.tell(ctx, a, alert, figures{credits, limit}); err != nil && !errors.Is(err, nodegate.InvalidInput) {
		p.next = now.Add(pause(p.tries))
		p.tries++
		return true, err
	}
	return true, w.told(ctx, alert, p)
}

// limitOf is an account's credits for a day; 0 is no limit.
func (w *Watch) limitOf(a *nodegate.Account) int64 {
	p := w.plans.Load()
	if plan, ok := p.byName[a.Plan]; ok {
		return plan.CreditsPerDay
	}
	return p.byName[p.standard].CreditsPerDay // as requests are treated: see internal/accounts/auth
}

// reached is the highest mark that the credits have passed, or 0.
func reached(credits, limit int64) int {
	for _, m := range marks {
		if limit > 0 && float64(credits)*100 >= float64(limit)*float64(m) {
			return m
		}
	}
	return 0
}
