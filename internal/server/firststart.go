package server

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// developer is the account that a newcomer begins with.
const developer = "dev@localhost"

// FirstStart is what a newcomer begins with. Password and secret are shown this once.
type FirstStart struct {
	Email    string
	Password string
	Key      *account.IssuedKey
}

// empty tells whether the store has no account yet.
func (c *Control) empty(ctx context.Context) (bool, error) {
	some, err := c.Accounts.List(ctx, "", 1)
	return len(some) == 0, err
}

// firstStart makes the developer's account, with a password, a test card and a key. It
// returns nil where there is one already.
func (c *Control) firstStart(ctx context.Context) (*FirstStart, error) {
	actor := nodegate.Actor{Name: "server", From: "first start"}
	first := &FirstStart{Email: developer, Password: credential.NewPassword()}
	a, err := c.Accounts.Create(ctx, actor, account.NewAccount{Email: developer, Password: first.Password, Plan: "unlimited", Operator: true, Development: true})
	debug.FreeOSMemory() // hashing a password takes 19 MiB, and there is rarely another soon
	if errors.Is(err, nodegate.Conflict) {
		return nil, nil // another server starts at the same time
	}
	if err != nil {
		return nil, err
	}
	if err := c.testCard(ctx, actor, a.ID); err != nil {
		return nil, err
	}
	first.Key, err = c.Accounts.CreateKey(ctx, actor, a.ID, "first key", nodegate.KeySettings{})
	return first, err
}

// testCard puts a card on that only the test processor takes; another processor
// has no such card, and the account goes without.
func (c *Control) testCard(ctx context.Context, actor nodegate.Actor, accountID string) error {
	_, err := c.Accounts.PutCard(ctx, actor, nodegate.CardEntry{
		AccountID: accountID, Number: "4242424242424242", ExpMonth: 12, ExpYear: time.Now().Year() + 10, CVC: "123",
	})
	if errors.Is(err, nodegate.CardDeclined) || errors.Is(err, nodegate.InvalidInput) || errors.Is(err, nodegate.Busy) {
		return nil
	}
	return err
}
