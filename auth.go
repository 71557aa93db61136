package nodegate

import "context"

// Credentials are what a request brings to be let in.
type Credentials struct {
	Key    string // the API key, from the path
	Secret string // its secret, where the request carries one
}

// Grant is what an accepted key may do.
type Grant struct {
	// KeyID identifies the key in limits and usage without being the key.
	KeyID string
}

// Authenticator decides who is let in. It is asked for every request, so it
// answers from memory.
type Authenticator interface {
	// Authenticate checks the credentials.
	//
	// Returns KeyRequired when there is no key, KeyInvalid when it is unknown or
	// revoked, and SecretInvalid when the key wants a secret and it is missing or wrong.
	Authenticate(ctx context.Context, c Credentials) (*Grant, error)
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
