package pinning

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// Config is what requests are kept and worked on with.
type Config struct {
	Store nodegate.PinRequestStore

	// PinOf finds an account's pin of a CID, and Pins hands them to each. Both are the
	// storage engine's.
	PinOf func(ctx context.Context, accountID, cid string) (nodegate.Pin, error)
	Pins  func(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error
	// Pin pins all content below a CID, within the account's limits.
	Pin func(ctx context.Context, accountID, cid, name string) error
	// Unpin takes a pin off. Returns NotFound.
	Unpin func(ctx context.Context, accountID, cid string) error

	// Apart does work for an account that takes long, in the account's share of the server and
	// where it holds up nobody else. Without it the work is done at once.
	Apart func(ctx context.Context, accountID string, work func(context.Context) error) error

	Log *slog.Logger

	// Tests set these.
	Lease time.Duration // how long a claim lives that nobody renews; 15 s if 0
	Wait  time.Duration // how long an answer waits for the result; 2 s if 0
	Retry time.Duration // until what could not be tried is tried again; 15 s if 0
}

// What is worked on at the same time, and what an account may have.
const (
	workers        = 16
	accountWorkers = 2
	maxRequests    = 50_000
	maxBytes       = 64 << 20
	maxWaiting     = 1000
	maxTime        = time.Hour // of one request
)

// Service keeps requests. It is safe for concurrent use.
type Service struct {
	cfg   Config
	slots *fairshare.Pool
	wake  chan struct{} // somebody should look for requests that wait
	life  context.Context
	stop  context.CancelFunc
	ended sync.WaitGroup

	swept tokenbucket.Set[string] // accounts whose requests were swept lately

	mu      sync.Mutex
	closed  bool
	running map[request]context.CancelFunc
}

// request names a request that is worked on here.
type request struct{ account, id string }

// New returns a service that works on nothing before Start.
func New(cfg Config) *Service {
	for d, standard := range map[*time.Duration]time.Duration{&cfg.Lease: 15 * time.Second, &cfg.Wait: 2 * time.Second, &cfg.Retry: 15 * time.Second} {
		if *d == 0 {
			*d = standard
		}
	}
	if cfg.Apart == nil {
		cfg.Apart = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	s := &Service{cfg: cfg, slots: fairshare.New(workers, accountWorkers), wake: make(chan struct{}, 1), running: map[request]context.CancelFunc{}}
	s.life, s.stop = context.WithCancel(context.Background())
	return s
}

// Ask is what a client asks for.
type Ask struct {
	CID, Name string
	Origins   []string
	Meta      map[string]string
}

// Add makes a request, and waits a moment for its result.
//
// Returns QuotaReached and AccountBusy beyond what an account may have.
func (s *Service) Add(ctx context.Context, accountID string, a Ask) (*nodegate.PinRequest, error) {
	return s.add(ctx, a.request(accountID))
}

func (a Ask) request(accountID string) *nodegate.PinRequest {
	return &nodegate.PinRequest{AccountID: accountID, ID: newID(), CID: a.CID, Name: a.Name, Origins: a.Origins, Meta: a.Meta, Status: nodegate.PinQueued}
}

// Replace makes a request that takes the place of another one. The other one stays until
// the new one is pinned, so that a failure costs nothing.
//
// Returns NotFound, and what Add returns.
func (s *Service) Replace(ctx context.Context, accountID, id string, a Ask) (*nodegate.PinRequest, error) {
	if _, err := s.Get(ctx, accountID, id); err != nil {
		return nil, err
	}
	r := a.request(accountID)
	r.Replaces = id
	return s.add(ctx, r)
}

func (s *Service) add(ctx context.Context, r *nodegate.PinRequest) (*nodegate.PinRequest, error) {
	if err := s.prepare(ctx, r.AccountID, r.CID); err != nil {
		return nil, err
	}
	mine := s.slots.Try(r.AccountID)
	if mine {
		r.Status, r.Leased = nodegate.PinPinning, time.Now().Add(s.cfg.Lease)
	}
	if err := s.save(ctx, r); err != nil {
		if mine {
			s.slots.Release(r.AccountID)
		}
		return nil, err
	}
	if mine {
		s.await(ctx, s.begin(r))
	}
	return s.Get(ctx, r.AccountID, r.ID)
}

// save writes a request. An account that has all it may is first rid of requests whose
// pins are gone.
func (s *Service) save(ctx context.Context, r *nodegate.PinRequest) error {
	bounds := nodegate.PinRequestBounds{Requests: maxRequests, Bytes: maxBytes, Waiting: maxWaiting}
	err := s.cfg.Store.AddPinRequest(ctx, r, time.Now(), bounds)
	if !errors.Is(err, nodegate.QuotaReached) {
		return err
	}
	if swept, sweepErr := s.sweep(ctx, r.AccountID); sweepErr != nil || swept == 0 {
		return err
	}
	return s.cfg.Store.AddPinRequest(ctx, r, time.Now(), bounds)
}

// prepare makes the requests for a CID agree with its pin before another one comes. A pin
// that was made by another command is written down as a request: it stays as long as
// whoever made it wants, whatever becomes of other requests. Where the pin was taken off,
// so are the requests that it ended.
func (s *Service) prepare(ctx context.Context, accountID, cid string) error {
	pin, live, err := s.pinOf(ctx, accountID, cid)
	if err != nil {
		return err
	}
	if !live {
		_, err := s.forget(ctx, nodegate.PinRequestQuery{AccountID: accountID, CIDs: []string{cid}}, gone)
		return err
	}
	wanted, err := s.wanted(ctx, accountID, cid)
	if err != nil || wanted {
		return err
	}
	return s.save(ctx, found(&pin))
}

func gone(context.Context, string) (bool, error) { return false, nil }

// await waits for a result, but not for long.
func (s *Service) await(ctx context.Context, done <-chan struct{}) {
	timer := time.NewTimer(s.cfg.Wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Get finds a request of an account.
//
// Returns NotFound, also when its pin was taken off.
func (s *Service) Get(ctx context.Context, accountID, id string) (*nodegate.PinRequest, error) {
	r, err := s.cfg.Store.PinRequest(ctx, accountID, id)
	if errors.Is(err, nodegate.NotFound) {
		r, err = s.found(ctx, accountID, id)
	}
	if err != nil {
		return nil, err
	}
	if r.Status == nodegate.PinPinned {
		_, live, err := s.pinOf(ctx, accountID, r.CID)
		if err != nil {
			return nil, err
		}
		if !live {
			return nil, errNoRequest()
		}
	}
	return shown(r), nil
}

// found looks for a pin that no request was made for.
func (s *Service) found(ctx context.Context, accountID, id string) (*nodegate.PinRequest, error) {
	cid, ok := cidOf(accountID, id)
	if !ok {
		return nil, errNoRequest()
	}
	pin, live, err := s.pinOf(ctx, accountID, cid)
	if err != nil {
		return nil, err
	}
	wanted, err := s.wanted(ctx, accountID, cid)
	if err == nil && (!live || wanted) {
		err = errNoRequest()
	}
	return found(&pin), err
}

func errNoRequest() error {
	return &nodegate.Error{Op: "pinning", Code: nodegate.NotFound, Msg: "the account has no pin request with this id: GET /pins lists its requests"}
}

// pinOf finds an account's pin of all below a CID, and tells whether there is one.
func (s *Service) pinOf(ctx context.Context, accountID, cid string) (pin nodegate.Pin, live bool, err error) {
	pin, err = s.cfg.PinOf(ctx, accountID, cid)
	if errors.Is(err, nodegate.NotFound) {
		return pin, false, nil
	}
	return pin, err == nil && pin.Recursive, err
}

// wanted tells whether a request for a CID is pinned or waits.
func (s *Service) wanted(ctx context.Context, accountID, cid string) (wanted bool, err error) {
	q := nodegate.PinRequestQuery{AccountID: accountID, CIDs: []string{cid}, Statuses: []nodegate.PinRequestStatus{nodegate.PinQueued, nodegate.PinPinning, nodegate.PinPinned}, Limit: 1}
	err = s.cfg.Store.PinRequests(ctx, q, func(*nodegate.PinRequest) error {
		wanted = true
		return nil
	})
	return wanted, err
}

// Remove ends a request. Its pin goes too unless other requests need it.
//
// Returns NotFound.
func (s *Service) Remove(ctx context.Context, accountID, id string) error {
	r, err := s.Get(ctx, accountID, id)
	if err != nil {
		return err
	}
	if err := s.cfg.Store.DeletePinRequest(ctx, accountID, id); err != nil && !errors.Is(err, nodegate.NotFound) {
		return err
	}
	s.cancel(request{accountID, id})
	if r.Status != nodegate.PinPinned {
		return nil // a worker that has pinned meanwhile takes that back
	}
	return s.release(ctx, accountID, r.CID)
}

// release takes a pin off that no request needs. Should one have come meanwhile, on
// whichever server, it is pinned again.
func (s *Service) release(ctx context.Context, accountID, cid string) error {
	wanted, err := s.wanted(ctx, accountID, cid)
	if err != nil || wanted {
		return err
	}
	if err := s.cfg.Unpin(ctx, accountID, cid); err != nil && !errors.Is(err, nodegate.NotFound) {
		return err
	}
	again, err := s.cfg.Store.RequeuePinRequests(ctx, accountID, cid)
	if again > 0 {
		s.look()
	}
	return err
}

// sweeps is how often the requests of an account are swept: to look at all of them takes long.
var sweeps = tokenbucket.Rate{PerSecond: 1. / 60, Burst: 1}

// sweep deletes requests of an account whose pins were taken off, and returns how many those
// were. It does so once a minute at most, where it holds up nobody.
func (s *Service) sweep(ctx context.Context, accountID string) (swept int, err error) {
	if _, ok := s.swept.Take(accountID, 1, sweeps); !ok {
		return 0, nil
	}
	err = s.cfg.Apart(ctx, accountID, func(ctx context.Context) error {
		swept, err = s.forget(ctx, nodegate.PinRequestQuery{AccountID: accountID}, func(ctx context.Context, cid string) (bool, error) {
			_, live, err := s.pinOf(ctx, accountID, cid)
			return live, err
		})
		return err
	})
	return swept, err
}

// maxSwept is how many requests are deleted at once. What is left is found the next time.
const maxSwept = 1000

// forget deletes requests that ended with their pins. The newest are left: what they
// ask for may have been pinned a moment ago, while another request for it was removed.
func (s *Service) forget(ctx context.Context, q nodegate.PinRequestQuery, live func(ctx context.Context, cid string) (bool, error)) (int, error) {
	q.Before, q.Statuses, q.Brief = time.Now().Add(-s.cfg.Lease), []nodegate.PinRequestStatus{nodegate.PinPinned}, true
	pinned, err := readWhole(ctx, s.cfg.Store, q)
	gone := 0
	for _, r := range pinned {
		if err != nil || q.CIDs == nil && gone == maxSwept {
			break
		}
		begun, there := time.Now(), false
		there, err = live(ctx, r.cid)
		fairshare.Count(ctx, time.Since(begun)) // no turn: a database may have to answer
		if err != nil || there {
			continue
		}
		gone++
		if err = s.cfg.Store.DeletePinRequest(ctx, q.AccountID, r.id); errors.Is(err, nodegate.NotFound) {
			err = nil // another request found it, too
		}
	}
	return gone, err
}

// stored is what names a request in the store.
type stored struct{ id, cid string }

// storedBytes is what one takes in memory, about.
const storedBytes = 192

// readWhole reads all requests of a query before anything else is asked of the store.
func readWhole(ctx context.Context, store nodegate.PinRequestStore, q nodegate.PinRequestQuery) (list []stored, err error) {
	hold := budget.From(ctx)
	err = eachRequest(ctx, store, q, func(r *nodegate.PinRequest) error {
		list = append(list, stored{r.ID, r.CID})
		return hold.Grow(storedBytes)
	})
	return list, err
}
