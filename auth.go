package nodegate

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Credentials are what a request brings to be let in.
type Credentials struct {
	Key    string // the API key
	Secret string // its secret, where the request carries one

	// SecretRequired wants the secret whatever the key's own setting is.
	SecretRequired bool

	From netip.Addr
}

// Authenticator decides who is let in. It is asked for every request, so it
// answers from memory.
type Authenticator interface {
	// Authenticate checks the credentials.
	//
	// Returns KeyRequired when there is no key, KeyInvalid when it is unknown or
	// revoked, SecretInvalid when the key requires its secret and it is missing, or
	// when a secret is given and it is wrong, and Busy when nobody can say.
	Authenticate(ctx context.Context, c Credentials) (*Grant, error)
}

// Grant is an accepted key. All requests that use the same version of a key share
// one, for as long as it lives.
type Grant struct {
	KeyID     string // names the key in limits and usage without being it
	AccountID string

	policy *atomic.Pointer[Policy]

	mu    sync.Mutex
	over  bool
	ended chan struct{} // made when somebody asks for it: most grants are never waited for
}

// Policy is what a grant allows now. It is replaced as a whole when the key or
// its account changes; never write to one.
type Policy struct {
	Plan     Plan
	Settings KeySettings
	Card     *Card

	Development bool // the account has the scope development
}

// NewGrant makes the grant of one version of a key. The policy is shared with the
// key's other versions.
func NewGrant(accountID, keyID string, policy *atomic.Pointer[Policy]) (g *Grant, end func()) {
	g = &Grant{}
	g.Begin(accountID, keyID, policy)
	return g, g.End
}

// Begin is NewGrant for a Grant that is part of something larger. It comes before
// any use.
func (g *Grant) Begin(accountID, keyID string, policy *atomic.Pointer[Policy]) {
	g.AccountID, g.KeyID, g.policy = accountID, keyID, policy
}

// Policy is what the grant allows at this moment.
func (g *Grant) Policy() *Policy { return g.policy.Load() }

// Plan is the plan of the key's account; nil for calls from inside the service.
func (g *Grant) Plan() *Plan {
	if g.policy == nil {
		return nil
	}
	if p := g.policy.Load(); p != nil {
		return &p.Plan
	}
	return nil
}

// Develops tells whether the key has the scope development: its account has it, and the
// key's own services don't leave it out. Calls from inside the service have no scope.
func (g *Grant) Develops() bool {
	if g.policy == nil {
		return false
	}
	p := g.policy.Load()
	return p != nil && p.Development && p.Settings.AllowsService(ServiceDevelopment)
}

// Ended is closed when the key is revoked, or this version of it has run out.
func (g *Grant) Ended() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended == nil {
		g.ended = make(chan struct{})
		if g.over {
			close(g.ended)
		}
	}
	return g.ended
}

// End is for whoever made the grant: it is over for all who use it.
func (g *Grant) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over && g.ended != nil {
		close(g.ended)
	}
	g.over = true
}

type grantKey struct{}

// WithGrant carries the grant of a request to the layers that treat keys apart.
func WithGrant(ctx context.Context, g *Grant) context.Context {
	return context.WithValue(ctx, grantKey{}, g)
}

// GrantFrom returns the grant of a request; calls from inside the service share
// an empty one.
func GrantFrom(ctx context.Context) *Grant {
	if g, ok := ctx.Value(grantKey{}).(*Grant); ok {
		return g
	}
	return &Grant{}
}
