package auth

import (
	"context"
	"errors"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

// The owner of a key uses it without its text; it is the grant that requests with the
// key get, and nobody else's.
func TestGrantForTheOwner(t *testing.T) {
	g, ctx := newFixture(t, nil), context.Background()
	issued, err := g.desk.CreateKey(ctx, actor(), g.owner.ID, "a key", nodegate.KeySettings{SecretRequired: true})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := g.Grant(ctx, g.owner.ID, issued.Key.ID)
	if err != nil || grant.KeyID != issued.Key.ID || grant.AccountID != g.owner.ID {
		t.Fatalf("%+v, %v", grant, err)
	}
	same, err := g.Authenticate(ctx, nodegate.Credentials{Key: issued.Value, Secret: issued.Secret})
	if err != nil || same != grant {
		t.Errorf("the key itself gets another grant: %v", err)
	}
	other, err := g.desk.Create(ctx, actor(), account.NewAccount{Email: "other@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ account, key string }{{other.ID, issued.Key.ID}, {g.owner.ID, "k-none"}} {
		if _, err := g.Grant(ctx, c.account, c.key); !errors.Is(err, nodegate.NotFound) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := g.desk.RevokeKey(ctx, actor(), g.owner.ID, issued.Key.ID); err != nil {
		t.Fatal(err)
	}
	if err := g.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Grant(ctx, g.owner.ID, issued.Key.ID); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("a revoked key: %v", err)
	}
}
