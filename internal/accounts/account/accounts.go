package account

import (
	"context"
	"net/mail"
	"strings"
	"unicode"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// NewAccount is what an account begins with.
type NewAccount struct {
	Email    string
	Password string // "" makes an account that can't sign in
	Plan     string // "" is the default plan
	Operator bool

	Development bool // its keys have the scope development
	Unverified  bool // nobody has shown that they read mail at Email

	Link nodegate.Digest // of the link that creates the account; zero is none
}

const (
	maxEmail    = 254
	minPassword = 10
	maxPassword = 1024
)

// accounts are the use cases around an account itself.
type accounts struct {
	store     nodegate.AccountStore
	saver     *saver
	plans     *planTable
	passwords *passwords
}

// Create makes an account.
//
// Returns InvalidInput for an e-mail address, password or plan that can't be
// used, Conflict when the address is taken, RateLimited when too many passwords
// are being hashed.
func (s *accounts) Create(ctx context.Context, actor nodegate.Actor, n NewAccount) (*nodegate.Account, error) {
	return s.create(ctx, actor, visitor{known: true}, n)
}

func (s *accounts) create(ctx context.Context, actor nodegate.Actor, v visitor, n NewAccount) (*nodegate.Account, error) {
	email, err := normalizeEmail(n.Email)
	if err != nil {
		return nil, err
	}
	if n.Plan == "" {
		n.Plan = s.plans.StandardPlan()
	}
	if err := s.plans.check(n.Plan); err != nil {
		return nil, err
	}
	a := &nodegate.Account{ID: credential.NewID("a"), Email: email, Plan: n.Plan, Operator: n.Operator, Development: n.Development, Unverified: n.Unverified, Created: now()}
	if n.Password != "" {
		if a.Password, err = s.passwords.hash(ctx, v, n.Password); err != nil {
			return nil, err
		}
	}
	err = s.saver.save(ctx, actor, func() (*nodegate.Change, error) {
		return &nodegate.Change{Account: a, Link: n.Link, Audit: nodegate.AuditEntry{Action: "account.create", AccountID: a.ID, Subject: a.ID, Detail: "plan " + a.Plan}}, nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// normalizeEmail takes a bare address; its case does not matter. It also stands in
// logs and terminals, so it has printable characters only.
func normalizeEmail(text string) (string, error) {
	email := strings.ToLower(strings.TrimSpace(text))
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > maxEmail || strings.ContainsFunc(email, unfit) {
		return "", invalid("enter an e-mail address like name@example.com")
	}
	return email, nil
}

func unfit(c rune) bool {
	return c == ' ' || c == '"' || c == unicode.ReplacementChar || !unicode.IsPrint(c)
}

// Find returns an account by its id or its e-mail address.
//
// Returns NotFound.
func (s *accounts) Find(ctx context.Context, idOrEmail string) (*nodegate.Account, error) {
	if strings.Contains(idOrEmail, "@") {
		return s.store.AccountByEmail(ctx, strings.ToLower(strings.TrimSpace(idOrEmail)))
	}
	return s.store.Account(ctx, idOrEmail)
}

// List returns accounts in the order of ids, beginning after one.
func (s *accounts) List(ctx context.Context, after string, limit int) ([]*nodegate.Account, error) {
	return s.store.Accounts(ctx, after, limit)
}

// Search returns accounts whose e-mail address holds a text, in the order of
// addresses, beginning after one.
func (s *accounts) Search(ctx context.Context, part, after string, limit int) ([]*nodegate.Account, error) {
	return s.store.AccountsLike(ctx, strings.ToLower(strings.TrimSpace(part)), after, limit)
}

// SetPlan moves an account to a plan.
//
// Returns NotFound, or InvalidInput for a plan that is not configured.
func (s *accounts) SetPlan(ctx context.Context, actor nodegate.Actor, accountID, plan string) error {
	if err := s.plans.check(plan); err != nil {
		return err
	}
	return s.saver.changeAccount(ctx, actor, accountID, func(a *nodegate.Account) (nodegate.AuditEntry, error) {
		before := a.Plan
		a.Plan = plan
		return nodegate.AuditEntry{Action: "account.plan", Detail: before + " to " + plan}, nil
	})
}

// SetDevelopment grants or withdraws the scope development, for all keys of an account.
//
// Returns NotFound.
func (s *accounts) SetDevelopment(ctx context.Context, actor nodegate.Actor, accountID string, on bool) error {
	return s.saver.changeAccount(ctx, actor, accountID, func(a *nodegate.Account) (nodegate.AuditEntry, error) {
		a.Development = on
		detail := "withdrawn"
		if on {
			detail = "granted"
		}
		return nodegate.AuditEntry{Action: "account.development", Detail: detail}, nil
	})
}
