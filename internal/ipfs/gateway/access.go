package gateway

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/method/permit"
	"github.com/nodegate/nodegate/internal/tokenbucket"
	"github.com/nodegate/nodegate/internal/web"
)

// admit lets a key in with its secret, by Basic authentication and nothing else: no
// cookie is ever looked at, so a foreign page gains nothing.
func (g *Gateway) admit(w http.ResponseWriter, req *http.Request) (*nodegate.Grant, error) {
	key, secret, ok := req.BasicAuth()
	if !ok {
		return nil, &nodegate.Error{Op: "storage", Code: nodegate.KeyRequired, Msg: "API key required"}
	}
	return g.admitKey(w, req, key, secret)
}

// admitKey lets a key in with its secret, to the storage gateway and from where the key's
// settings allow.
func (g *Gateway) admitKey(w http.ResponseWriter, req *http.Request, key, secret string) (*nodegate.Grant, error) {
	grant, err := g.cfg.Auth.Authenticate(req.Context(), nodegate.Credentials{
		Key: key, Secret: secret, SecretRequired: true, From: web.ClientAddr(req, g.cfg.TrustedProxies),
	})
	if errors.Is(err, nodegate.KeyRequired) || errors.Is(err, nodegate.KeyInvalid) || errors.Is(err, nodegate.SecretInvalid) {
		return nil, &nodegate.Error{Op: "storage", Code: nodegate.SecretInvalid, Msg: "basic auth failure: invalid API key or API key secret"}
	}
	if err != nil {
		return nil, err
	}
	settings, origin := &grant.Policy().Settings, web.Origin(req.Header)
	if len(settings.Origins) > 0 {
		web.CORSOnly(w.Header(), origin, settings.AllowsOrigin(origin))
	}
	return grant, permit.Request{Service: nodegate.ServiceStorage, Origin: origin, Agent: req.UserAgent()}.Check(settings)
}

// mayUse checks what the account may do at all: it moves no more than its month's bytes, has
// a card, and asks no faster than its plan.
func (g *Gateway) mayUse(grant *nodegate.Grant, writes bool) error {
	if err := g.moved.allow(grant.AccountID, grant.Policy().Plan.MovedBytes); err != nil {
		return err
	}
	return g.rates.admit(grant, writes)
}

// rates holds accounts to their requests a second, on this server: a bucket of one
// second's worth that fills steadily.
type rates struct{ buckets tokenbucket.Set[rateKey] }

type rateKey struct {
	account string
	writes  bool
}

// admit is mayUse for a request whose bytes came before: they may be stored.
func (r *rates) admit(grant *nodegate.Grant, writes bool) error {
	p := grant.Policy()
	if !p.Card.Valid(time.Now()) {
		return &nodegate.Error{Op: "storage", Code: nodegate.CardRequired, Msg: "a billing card is required to use the storage gateway"}
	}
	limit := p.Plan.StorageReads
	if writes {
		limit = p.Plan.StorageWrites
	}
	if !r.allow(grant.AccountID, writes, limit) {
		return &nodegate.Error{Op: "storage", Code: nodegate.RateLimited, Msg: "rate limit exceeded", RetryAfter: time.Second}
	}
	return nil
}

func (r *rates) allow(account string, writes bool, limit int64) bool {
	if limit <= 0 {
		return true
	}
	_, ok := r.buckets.Take(rateKey{account, writes}, 1, tokenbucket.Rate{PerSecond: float64(limit), Burst: float64(limit)})
	return ok
}

// moved follows what accounts have moved in the month: what the store knew when the
// account was first seen, and what has come since.
type moved struct {
	figures func(accountID string, month time.Time) (int64, error)

	mu       sync.Mutex
	month    time.Time
	accounts map[string]*movedBytes
}

// movedBytes is one account's figure.
type movedBytes struct {
	bytes int64
	known bool      // bytes has what the store knew
	retry time.Time // when a store that did not answer is asked again
}

// retryFigures is how long a store that did not answer is left alone.
const retryFigures = 10 * time.Second

func monthOf(t time.Time) time.Time {
	return time.Date(t.UTC().Year(), t.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
}

// of is what an account has moved. The store is asked without the lock: it may be
// slow, and other accounts need not wait for it.
func (m *moved) of(accountID string) int64 {
	bytes, ask := m.look(accountID)
	if !ask {
		return bytes
	}
	month := monthOf(time.Now())
	stored, err := m.figures(accountID, month)
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.account(accountID)
	if err == nil && !a.known && month.Equal(m.month) {
		a.bytes, a.known = max(a.bytes, stored), true // some of ours may be in the store already
	}
	return a.bytes
}

// look is what is in memory, and whether this caller should ask the store.
func (m *moved) look(accountID string) (bytes int64, ask bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.account(accountID)
	now := time.Now()
	if a.known || m.figures == nil || now.Before(a.retry) {
		return a.bytes, false
	}
	a.retry = now.Add(retryFigures)
	return a.bytes, true
}

// account finds or makes an account's figure, under the lock.
func (m *moved) account(accountID string) *movedBytes {
	if month := monthOf(time.Now()); m.accounts == nil || !month.Equal(m.month) {
		m.month, m.accounts = month, map[string]*movedBytes{}
	}
	a := m.accounts[accountID]
	if a == nil {
		a = &movedBytes{}
		m.accounts[accountID] = a
	}
	return a
}

// add counts bytes and returns what the account has moved with them.
func (m *moved) add(r *usage.Recorder, accountID string, bytes int64) int64 {
	r.Moved(accountID, bytes)
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.account(accountID)
	a.bytes += bytes
	return a.bytes
}

// allow refuses an account that has no transfer left this month. A limit of 0 is none.
func (m *moved) allow(accountID string, limit int64) error {
	if limit > 0 && m.of(accountID) >= limit {
		return errMoved()
	}
	return nil
}

// count is add for a transfer that ends, with the error, once the account is past its limit
// and the grace.
func (m *moved) count(r *usage.Recorder, accountID string, bytes, limit int64) error {
	if total := m.add(r, accountID, bytes); limit > 0 && total > limit+movedGrace {
		return errMoved()
	}
	return nil
}

const (
	// movedStep is how much a transfer moves between two looks at the account's figure.
	movedStep = 256 << 10
	// sentStep is the same for what is sent. The HTTP server holds fewer bytes than this
	// back until the request has ended, so that nobody has an answer whole before it counts.
	sentStep = 2 << 10
	// movedGrace is how far past its limit an account's transfers may run: most that
	// were let in may end, but no download is endless.
	movedGrace = 16 << 20
)

// errMoved is the end of the month's bytes.
func errMoved() error {
	return &nodegate.Error{Op: "storage", Code: nodegate.Forbidden, Msg: "not allowed - transfer quota reached"}
}

// moves counts bytes that have come, for who is known. The error ends the transfer.
func (c *call) moves(n int) error {
	if c.unmoved += int64(n); c.unmoved < movedStep {
		return nil
	}
	return c.settle()
}

// sends is moves for bytes that are about to leave, or, when negative, did not.
func (c *call) sends(n int) error {
	if c.unmoved += int64(n); c.unmoved < sentStep {
		return nil
	}
	return c.settle()
}

// settle counts what is not counted yet for the account.
func (c *call) settle() error {
	n := c.unmoved
	if c.unmoved = 0; n == 0 || c.grant == nil {
		return nil
	}
	return c.gateway.moved.count(c.gateway.cfg.Usage, c.account(), n, c.grant.Policy().Plan.MovedBytes)
}
