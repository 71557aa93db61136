package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// What one account or client address may have at once, unless configured otherwise.
const (
	defaultRequests = 64
	defaultHeavy    = 4
	defaultCompress = 1 << 30
)

// smallUpload is the size of a request that can't take long. It stays in the
// goroutine of its connection, which is the cheapest.
const smallUpload = 64 << 10

// heavyWait is how long a heavy request waits for others of its account to end.
const heavyWait = 2 * time.Second

// shares keep one account from taking the whole server: by the number of its requests,
// of its heavy ones, and of its turns on a core. All keys of an account count together.
type shares struct {
	requests, heavy, work *fairshare.Pool
	lists                 *fairshare.Pool // of pin requests: a database does most of their work, which takes no turns
	most, mostHeavy       int
	streams               chan struct{} // a place for each file that is sent, or pin that is read, at low priority
	patience              time.Duration // how long such a request waits for its place
	spent                 *tokenbucket.Set[string]
}

func newShares(cfg Config) shares {
	s := shares{most: cmp.Or(cfg.Requests, defaultRequests), mostHeavy: cmp.Or(cfg.Heavy, defaultHeavy), spent: &tokenbucket.Set[string]{}}
	s.requests, s.heavy = fairshare.New(0, s.most), fairshare.New(0, s.mostHeavy)
	// One core is always left to everything else, such as JSON-RPC.
	slots := max(1, background.Cores()-1)
	s.work, s.lists = fairshare.New(slots, slots), fairshare.New(1, 1)
	s.streams, s.patience = make(chan struct{}, lowStreams), streamWait
	return s
}

// follow shows how many requests have a slot and how many wait.
func (s *shares) follow(m *obs.Metrics) {
	m.Queue("storage_turns", s.work.Used, s.work.Waiting)
	m.Queue("storage_heavy", s.heavy.Used, s.heavy.Waiting)
	m.Queue("storage_pin_lists", s.lists.Used, s.lists.Waiting)
}

// place is what a request has of its account's share.
type place struct {
	shares *shares
	owner  string
	heavy  bool // it has a place among the heavy ones
	large  bool // it had one
}

// enter begins a request of an account or an address. Its work below takes turns with
// that of others.
//
// Returns AccountBusy beyond a bound.
func (s *shares) enter(ctx context.Context, owner string, heavy bool) (context.Context, *place, error) {
	if !s.requests.Try(owner) {
		return nil, nil, errBusy(fmt.Sprintf("too many requests at once: at most %d (storage.max_requests). Wait for one to end", s.most))
	}
	p := &place{shares: s, owner: owner}
	if heavy {
		if err := p.becomeHeavy(ctx); err != nil {
			p.leave()
			return nil, nil, err
		}
	}
	return fairshare.With(ctx, s.work, owner), p, nil
}

// becomeHeavy takes a place among the heavy requests as well.
//
// Returns AccountBusy beyond the bound.
func (p *place) becomeHeavy(ctx context.Context) error {
	if err := p.shares.enterHeavy(ctx, p.owner); err != nil {
		return err
	}
	p.heavy, p.large = true, true
	return nil
}

// worked ends the heavy part of a request. What is left waits for the disk, and the more
// requests wait together, the fewer syncs it takes.
func (p *place) worked() {
	if p.heavy {
		p.shares.heavy.Release(p.owner)
		p.heavy = false
	}
}

// leave ends the request.
func (p *place) leave() {
	p.worked()
	p.shares.requests.Release(p.owner)
}

// allowance is how much work in large requests an account may do at normal priority, in
// seconds of a core. One that does more does all of it at low priority and in turns: many
// requests that take a moment each hold up others as one does that takes long. What it does
// in turns counts too, and is remembered for some seconds: who keeps sending long requests
// must not begin each of them at normal priority.
var allowance = tokenbucket.Rate{PerSecond: 0.1, Burst: 0.05, Debt: 0.5}

// atLeast is what a large request counts, for its work that takes no turns.
const atLeast = 200 * time.Microsecond

// apart runs the work of a large request in a goroutine of its own. What takes long gets
// low priority there, so that it doesn't hold up small requests.
func (p *place) apart(ctx context.Context, work func(context.Context) error) error {
	return p.counted(ctx, atLeast, work)
}

// counted is apart for work that counts what it takes beside its turns. Requests that may be
// as small as any other, and take turns for all else, count nothing.
func (p *place) counted(ctx context.Context, beside time.Duration, work func(context.Context) error) (err error) {
	run := background.Apart
	if p.shares.spent.Spend(p.owner, 0, allowance) > 0 {
		fairshare.TakeTurns(ctx)
		run = background.Low
	}
	run(func(t *background.Thread) { err = work(fairshare.Alone(ctx, t.Lower, t.Rest)) })
	p.shares.spent.Spend(p.owner, (beside + fairshare.Spent(ctx)).Seconds(), allowance)
	return err
}

// InShare does work for an account that takes as long as a listing of all it has, and that
// somebody else than a request to the gateway asks for: among the account's heavy requests,
// in its turns and its memory.
//
// Returns AccountBusy when too many of them are in progress.
func (g *Gateway) InShare(ctx context.Context, accountID string, work func(context.Context) error) error {
	hold := g.cfg.Memory.Hold(accountID)
	defer hold.Release()
	ctx, p, err := g.shares.enter(budget.WithHold(ctx, &hold), accountID, true)
	if err != nil {
		return err
	}
	defer p.leave()
	return p.apart(ctx, work)
}

// listApart does what takes as long as a list of pin requests, for a request that is small
// otherwise: one at a time in the process, and at low priority from the start.
func (s *shares) listApart(ctx context.Context, owner string, work func(context.Context) error) (err error) {
	if err := s.lists.Acquire(ctx, owner); err != nil {
		return err
	}
	defer s.lists.Release(owner)
	fairshare.TakeTurns(ctx)
	background.Low(func(t *background.Thread) { err = work(fairshare.Alone(ctx, t.Lower, t.Rest)) })
	s.spent.Spend(owner, (atLeast + fairshare.Spent(ctx)).Seconds(), allowance)
	return err
}

// lowStreams is how many files are sent, and pins read, at low priority at once. A slow client
// keeps the thread of its file, and other long work needs some too.
const lowStreams = 16

// inPlace does work that is small most of the time and may take as long as its client: to send
// a file, or to read what a pin keeps. It stays in its goroutine and takes turns, unless the
// account has used up its allowance.
func (p *place) inPlace(ctx context.Context, work func(context.Context) error) error {
	if p.shares.spent.Spend(p.owner, 0, allowance) > 0 {
		if p.shares.enterStream(ctx) {
			defer func() { <-p.shares.streams }()
			return p.apart(ctx, work)
		}
		fairshare.TakeTurns(ctx)
	}
	err := work(ctx)
	p.shares.spent.Spend(p.owner, (atLeast + fairshare.Spent(ctx)).Seconds(), allowance)
	return err
}

// streamWait is how long a request waits for a place among those of low priority. Short ones
// are over by then. Slow clients keep theirs, and then others go on without.
const streamWait = 50 * time.Millisecond

// enterStream reports whether there was a place among the files sent at low priority.
func (s *shares) enterStream(ctx context.Context) bool {
	select {
	case s.streams <- struct{}{}:
		return true
	default:
	}
	over := time.NewTimer(s.patience)
	defer over.Stop()
	select {
	case s.streams <- struct{}{}:
		return true
	case <-over.C:
	case <-ctx.Done():
	}
	return false
}

// enterHeavy waits a while for one of the account's heavy requests to end.
func (s *shares) enterHeavy(ctx context.Context, owner string) error {
	if s.heavy.Try(owner) {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, heavyWait)
	defer cancel()
	if s.heavy.Acquire(wait, owner) == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errBusy(fmt.Sprintf("too many listings, archives, exports and pins at once: at most %d (storage.max_heavy). Wait for one to end", s.mostHeavy))
}

func errBusy(msg string) error {
	return &nodegate.Error{Op: "storage", Code: nodegate.AccountBusy, Msg: msg, RetryAfter: time.Second}
}

// checkRoom refuses what takes more of the disk before anything of it is read, while
// the disk is almost full.
func (c *call) checkRoom() error {
	if room := c.gateway.cfg.Room; room != nil && c.command.stores {
		return room()
	}
	return nil
}

// addressOwner is whose requests those of an address are.
func addressOwner(from netip.Addr) string { return "address " + nodegate.AddrGroup(from).String() }
