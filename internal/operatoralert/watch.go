package operatoralert

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Problem is something that is wrong now.
type Problem struct {
	Kind    string // node_down, disk_low and so on
	Subject string // the node, network or listener that has it; "" is the service
	Summary string // one sentence
}

// id is the same for a problem for as long as it lasts, on all servers.
func (p *Problem) id() string { return p.Kind + ":" + p.Subject }

// Config is what a Watch works with.
type Config struct {
	Check func(now time.Time) []Problem // what is wrong now
	Every time.Duration                 // between checks
	After time.Duration                 // how long a problem, or its absence, has to last
	// Lease gives the lease of a name to one of several servers, for a while. Only its holder
	// reports the problem of that name. Nil is for a server by itself.
	Lease    func(ctx context.Context, name string, until time.Duration) (bool, error)
	Channels []Channel
	Server   string // its name, for the messages
	Log      *slog.Logger
}

// Watch looks for problems and reports them.
type Watch struct {
	cfg   Config
	known map[string]*state // of the goroutine that checks
	out   *outbox

	stop    context.CancelFunc
	running sync.WaitGroup
}

// state is what is known about a problem.
type state struct {
	Problem
	since    time.Time // it was first seen
	seen     time.Time // and last
	reported bool
}

const (
	leaseTime = 5 * time.Second // to get one lease
	// leaseChecks is how many checks a lease lasts: long enough that a server that sees the end
	// of a problem a little later than another doesn't report it again.
	leaseChecks = 6
)

// Start begins to look. Close ends it.
func Start(cfg Config) *Watch {
	w := &Watch{cfg: cfg, known: map[string]*state{}, out: newOutbox(cfg.Channels, cfg.Log)}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.running.Go(func() { w.run(ctx) })
	w.out.start(ctx, &w.running)
	return w
}

// Close ends the checks. Messages that were not delivered yet are dropped. A nil Watch has
// nothing to end.
func (w *Watch) Close() {
	if w == nil {
		return
	}
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
		case now := <-tick.C:
			w.check(ctx, now)
		}
	}
}

// check looks once.
func (w *Watch) check(ctx context.Context, now time.Time) {
	for _, p := range w.cfg.Check(now) {
		s := w.known[p.id()]
		if s == nil {
			s = &state{since: now}
			w.known[p.id()] = s
		}
		s.Problem, s.seen = p, now
	}
	leases := leases{lease: w.cfg.Lease, until: leaseChecks * w.cfg.Every}
	for _, id := range slices.Sorted(maps.Keys(w.known)) {
		w.consider(ctx, &leases, w.known[id], now)
	}
}

// consider reports a problem that has lasted, and the end of one that was reported.
func (w *Watch) consider(ctx context.Context, leases *leases, s *state, now time.Time) {
	switch gone := now.Sub(s.seen); {
	case gone == 0 && now.Sub(s.since) >= w.cfg.After:
		if mine := leases.take(ctx, s.id()); mine && !s.reported {
			s.reported = true
			w.report(s, firing, now)
		}
	case gone > 0 && !s.reported:
		delete(w.known, s.id())
	case gone >= w.cfg.After && s.reported:
		w.report(s, Resolved, now)
		delete(w.known, s.id())
	case s.reported:
		leases.take(ctx, s.id()) // it may come back, and others may still see it
	}
}

// leases are those of one check.
type leases struct {
	lease func(ctx context.Context, name string, until time.Duration) (bool, error)
	until time.Duration
	away  bool // the store of leases doesn't answer
}

// take decides whether this server reports a problem. Without leases each server does.
func (l *leases) take(ctx context.Context, id string) bool {
	if l.lease == nil || l.away { // one wait for a store that is away is enough
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	mine, err := l.lease(ctx, "alert:"+id, l.until)
	l.away = err != nil
	return mine || err != nil
}

func (w *Watch) report(s *state, status string, now time.Time) {
	level := slog.LevelWarn
	if status == Resolved {
		level = slog.LevelInfo
	}
	w.cfg.Log.Log(context.Background(), level, "operator alert", "status", status, "kind", s.Kind, "subject", s.Subject, "summary", s.Summary)
	text := "[" + status + "] " + s.Summary
	if w.cfg.Server != "" {
		text += " (" + w.cfg.Server + ")"
	}
	w.out.put(Message{
		Status: status, Kind: s.Kind, Subject: s.Subject, Summary: s.Summary, Text: text, Server: w.cfg.Server,
		Since: s.since.UTC().Truncate(time.Second), At: now.UTC().Truncate(time.Second),
	})
}
