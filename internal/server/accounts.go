package server

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/alert"
	"github.com/nodegate/nodegate/internal/accounts/auth"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/store/redisstore"
)

// accounts is what a running server has beyond its control side.
type accounts struct {
	door    *auth.Authenticator
	meter   *ratelimit.Limiter
	usage   *usage.Recorder
	journal *requestlog.Log
	redis   *redisstore.Store // nil on one server
	notice  context.CancelFunc
	alerts  *alert.Watch

	answers *redisstore.Answers // of remote nodes, for all servers; nil on one
}

// openAccounts opens the store, notes whether it has no account yet, and builds what
// every request passes: the door, the meter, the recorder.
func (s *Server) openAccounts(ctx context.Context) error {
	var err error
	if s.control, err = OpenControl(ctx, s.cfg, s.log); err != nil {
		return err
	}
	if s.fresh, err = s.control.empty(ctx); err != nil {
		return err
	}
	if s.cfg.Redis.URL != "" {
		if s.accounts.redis, err = redisstore.Open(ctx, string(s.cfg.Redis.URL), s.log); err != nil {
			return err
		}
		s.accounts.answers = s.accounts.redis.Answers()
	}
	if err := s.openMeter(ctx); err != nil {
		return err
	}
	s.accounts.journal = requestlog.New(requestlog.Config{Bytes: int64(cacheMemory(s.cfg, memoryLimit(), s.cfg.Memory.Journal))})
	s.accounts.usage = usage.New(usage.Config{Store: s.control.Store, Every: s.cfg.Usage.Flush, Log: s.log})
	s.accounts.door, err = auth.Open(ctx, auth.Config{
		Store: s.control.Store, Vault: s.control.vault, Plans: s.control.Plans, DefaultPlan: s.cfg.DefaultPlan,
		Follow: s.cfg.Accounts.Follow, Guesses: s.cfg.Limits.FailedKeysPerIP, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.control.signIns = s.metrics.SignIn
	s.metrics.Follow(s.accounts.door.LookUps, s.accounts.door.Keys)
	s.followNotices()
	return s.openAlerts()
}

// openAlerts tells accounts when their credits of the day run low.
func (s *Server) openAlerts() error {
	c := alert.Config{
		Store: s.control.Store, Plans: s.control.Plans, DefaultPlan: s.cfg.DefaultPlan, Every: s.cfg.Mail.Check,
		URL: s.cfg.Dashboard.URL, Log: s.log,
	}
	if s.cfg.Mail.SMTP != "" {
		sender, err := mailer.NewSMTP(mailer.Config{URL: string(s.cfg.Mail.SMTP), From: s.cfg.Mail.From})
		if err != nil {
			return err
		}
		c.Send = sender.Send
	}
	s.accounts.alerts = alert.Start(c)
	return nil
}

// openMeter begins with what was spent of the day before this start.
func (s *Server) openMeter(ctx context.Context) error {
	spent, err := s.control.Store.Spent(ctx, nodegate.ByDay.Start(time.Now()))
	if err != nil {
		return err
	}
	c := ratelimit.Config{Log: s.log, Spent: spent}
	if s.accounts.redis != nil {
		c.Shared = s.accounts.redis
	}
	s.accounts.meter = ratelimit.New(c)
	return nil
}

const (
	// noticeTime bounds the telling of other servers; they find out by themselves too.
	noticeTime = time.Second
	// syncTime bounds how long whoever changed something waits for it to hold here.
	syncTime = 2 * time.Second
)

// followNotices makes a change on one server known to all of them at once. On this
// one it holds when the change returns.
func (s *Server) followNotices() {
	ctx, cancel := context.WithCancel(context.Background())
	s.accounts.notice = cancel
	s.control.changed = func() { s.syncDoor(ctx) }
	if r := s.accounts.redis; r != nil {
		go r.Listen(ctx, func(int64) { s.accounts.door.Poke() })
		s.control.changed = func() {
			s.accounts.door.Poke()
			s.publish(ctx)
			s.syncDoor(ctx)
		}
	}
}

// syncDoor waits until the door knows what was saved. When the store is too slow for
// it, the door goes on trying and the log tells of a store that is gone.
func (s *Server) syncDoor(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	_ = s.accounts.door.Sync(ctx)
}

// publish tells the other servers. Without it they read the change sequence a little
// later.
func (s *Server) publish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	_ = s.accounts.redis.Publish(ctx, 0)
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
	if a.door != nil {
		a.door.Close()
	}
	a.journal.Close()
	if a.usage != nil {
		errs = append(errs, a.usage.Close(ctx))
	}
	if a.meter != nil {
		errs = append(errs, a.meter.Close(ctx))
	}
	if a.redis != nil {
		a.redis.Close()
	}
	return errors.Join(errs...)
}

// trustedProxies were checked when the configuration was read.
func (s *Server) trustedProxies() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range s.cfg.TrustedProxies {
		if p, err := netip.ParsePrefix(text); err == nil {
			list = append(list, p.Masked())
		} else if a, err := netip.ParseAddr(text); err == nil {
			list = append(list, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
		}
	}
	return list
}
