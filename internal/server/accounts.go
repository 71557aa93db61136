package server

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/alert"
	"github.com/nodegate/nodegate/internal/accounts/auth"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/filter"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/rpc/nonce"
	"github.com/nodegate/nodegate/internal/store/redisstore"
)

// accounts is the control plane of a running server: the account store, and what
// every request passes.
type accounts struct {
	*common
	control *Control
	fresh   bool // the store had no account when it was opened

	auth     *auth.Authenticator
	limiter  *ratelimit.Limiter
	usage    *usage.Recorder
	requests *requestlog.Log
	redis    *redisstore.Store // nil on one server
	notice   context.CancelFunc
	alerts   *alert.Watch

	answers   *redisstore.Answers   // of remote nodes, for all servers; nil on one
	questions *redisstore.Questions // about requests; nil on one server
}

// open opens the store, notes whether it has no account yet, and builds what
// every request passes: the authenticator, the rate limiter, the usage recorder.
func (a *accounts) open(ctx context.Context) error {
	var err error
	if a.control, err = OpenControl(ctx, a.cfg, a.log); err != nil {
		return err
	}
	a.control.Store.Observed(a.metrics.AccountStore(func() bool { return a.auth != nil && auth.Reaches(a.auth) }))
	if a.fresh, err = a.control.empty(ctx); err != nil {
		return err
	}
	if a.cfg.Redis.URL != "" {
		if a.redis, err = redisstore.Open(ctx, string(a.cfg.Redis.URL), a.log); err != nil {
			return err
		}
		a.redis.Observe(a.metrics.Redis(func() bool { return a.redis.Reaches(context.Background()) }))
		a.answers = a.redis.Answers()
	}
	if err := a.openLimiter(ctx); err != nil {
		return err
	}
	a.openRequestLog()
	a.usage = usage.New(usage.Config{Store: a.control.Store, Every: a.cfg.Usage.Flush, Log: a.log})
	a.metrics.Backlog(a.usage.Backlog)
	a.auth, err = auth.Open(ctx, auth.Config{
		Store: a.control.Store, Vault: a.control.vault, Plans: a.control.Plans, DefaultPlan: a.cfg.DefaultPlan,
		Follow: a.cfg.Accounts.Follow, Guesses: a.cfg.Limits.FailedKeysPerIP, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.control.signIns = a.metrics.SignIn
	a.metrics.Follow(a.auth.LookUps, a.auth.Keys)
	a.followNotices()
	return a.openAlerts()
}

// openRequestLog begins to keep the latest requests, and lets the servers ask each other
// for theirs.
func (a *accounts) openRequestLog() {
	c := requestlog.Config{Bytes: int64(cacheMemory(a.cfg, memoryLimit(), a.cfg.Memory.RequestLog))}
	if a.redis != nil {
		a.questions = a.redis.Questions("requests")
		c.Ask = a.questions.Ask
	}
	a.requests = requestlog.New(c)
}

// openAlerts tells accounts when their credits of the day run low, and lets links be mailed.
func (a *accounts) openAlerts() error {
	c := alert.Config{
		Store: a.control.Store, Plans: a.control.Plans, DefaultPlan: a.cfg.DefaultPlan, Every: a.cfg.Mail.Check,
		URL: a.cfg.Dashboard.URL, Log: a.log,
	}
	if a.cfg.Mail.SMTP != "" {
		sender, err := mailer.NewSMTP(mailer.Config{URL: string(a.cfg.Mail.SMTP), From: a.cfg.Mail.From})
		if err != nil {
			return err
		}
		c.Send = sender.Send
		if knowsURL(a.cfg) {
			a.control.Accounts.SetMail(sender.Send, dashboardURL(a.cfg))
		} else {
			a.log.Warn("links are not mailed, because the public URL of the dashboard is not known: set dashboard.url")
		}
	}
	a.alerts = alert.Start(c)
	return nil
}

// setPlans gives every account what its plan allows by a new configuration.
func (a *accounts) setPlans(cfg *config.Config) {
	plans := plansOf(cfg)
	a.control.Accounts.SetPlans(plans, cfg.DefaultPlan)
	a.auth.SetPlans(plans, cfg.DefaultPlan)
	a.alerts.SetPlans(plans, cfg.DefaultPlan)
}

// openLimiter begins with what was spent of the day before this start.
func (a *accounts) openLimiter(ctx context.Context) error {
	spent, err := a.control.Store.Spent(ctx, nodegate.ByDay.Start(time.Now()))
	if err != nil {
		return err
	}
	c := ratelimit.Config{Log: a.log, Spent: spent}
	if a.redis != nil {
		c.Shared = a.redis
	}
	a.limiter = ratelimit.New(c)
	return nil
}

const (
	// noticeTime bounds the telling of other servers; they find out by themselves too.
	noticeTime = time.Second
	// blockWithin bounds one call to Redis for a block, which may have megabytes.
	blockWithin = 250 * time.Millisecond
	// syncTime bounds how long whoever changed something waits for it to hold here.
	syncTime = 2 * time.Second
)

// followNotices makes a change on one server known to all of them at once. On this
// one it holds when the change returns.
func (a *accounts) followNotices() {
	ctx, cancel := context.WithCancel(context.Background())
	a.notice = cancel
	expired := &expiries{common: a.common, ends: &a.auth.Ends, expire: a.control.Accounts.ExpireKey}
	go expired.run(ctx)
	a.control.changed = func() { a.syncKeys(ctx) }
	if r := a.redis; r != nil {
		go r.Listen(ctx, func(int64) { a.auth.Poke() })
		go a.questions.Answer(ctx, a.requests.Answer)
		a.control.changed = func() {
			a.auth.Poke()
			a.publish(ctx)
			a.syncKeys(ctx)
		}
	}
}

// syncKeys waits until the authenticator knows what was saved. When the store is too slow for
// it, the authenticator goes on trying and the log tells of a store that is gone.
func (a *accounts) syncKeys(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	_ = a.auth.Sync(ctx)
}

// publish tells the other servers. Without it they read the change sequence a little
// later.
func (a *accounts) publish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	_ = a.redis.Publish(ctx, 0)
}

// close flushes usage, gives leases back and closes the stores, in this order.
func (a *accounts) close(ctx context.Context) error {
	var errs []error
	if a.notice != nil {
		a.notice()
	}
	if a.alerts != nil {
		a.alerts.Close()
	}
	if a.auth != nil {
		a.auth.Close()
	}
	a.requests.Close()
	if a.usage != nil {
		errs = append(errs, a.usage.Close(ctx))
	}
	if a.limiter != nil {
		errs = append(errs, a.limiter.Close(ctx))
	}
	if a.redis != nil {
		a.redis.Close()
	}
	return errors.Join(errs...)
}

// shared is what the networks of all servers have together. Without Redis each server
// keeps its own filters and nonces, and the rest is nothing.
func (a *accounts) shared() shared {
	if a.redis == nil {
		return shared{filters: &filter.Memory{}, nonces: &nonce.Memory{}}
	}
	filters := redisstore.FilterBounds{Life: int(filter.Life.Seconds()), Places: filter.MaxPlaces, Pending: filter.MaxPending}
	nonces := redisstore.NonceBounds{Life: int(nonce.Life.Seconds()), Most: nonce.MaxNonces}
	blocks := redisstore.BlockBounds{
		Within: blockWithin, Lease: ledger.ShareLease, Life: ledger.ShareLife, Slots: ledger.ShareBlocks, Bytes: ledger.ShareBytes,
	}
	return shared{
		heads: a.redis, cache: a.answers, filters: a.redis.Filters(filters), nonces: a.redis.Nonces(nonces), blocks: a.redis.Blocks(blocks),
	}
}
