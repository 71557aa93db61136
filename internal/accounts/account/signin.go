package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

const (
	sessionTime = 7 * 24 * time.Hour // how long a sign-in lasts
	maxAgent    = 256                // bytes that are kept of a User-Agent header
)

// Attempt is a try to sign in.
type Attempt struct {
	Email, Password string
	From            string // the client's address
	Device          string // what Device returned to the same browser before, or ""
	Agent           string // its User-Agent header
}

// signIns are the use cases of people who sign in: sessions and passwords.
type signIns struct {
	store interface {
		nodegate.AccountStore
		nodegate.SessionStore
		nodegate.MetaStore // where accounts were signed in to from
		nodegate.Saver     // of failed tries
	}
	saver     *saver
	accounts  *accounts
	passwords *passwords
	vault     *credential.Vault
	tried     func(err error) // called after each try; may be nil
	log       *slog.Logger

	attempts attempts
	failures failures
}

// SignIn checks a password and begins a session. The token is new each time, so
// one that was planted before is worth nothing.
//
// Returns SignInFailed for a wrong address or password, in the same time for both;
// Forbidden for an account that is suspended, to whoever knows its password;
// RateLimited after too many tries in a minute, and when too many are signing in at
// once. A try from where the account was signed in to before is limited by itself
// only, never because of others.
func (s *signIns) SignIn(ctx context.Context, t Attempt) (token string, a *nodegate.Account, err error) {
	token, a, err = s.trySignIn(ctx, t)
	if s.tried != nil {
		s.tried(err)
	}
	return token, a, err
}

func (s *signIns) trySignIn(ctx context.Context, t Attempt) (token string, a *nodegate.Account, err error) {
	if t.Email, err = normalizeEmail(t.Email); err != nil {
		return "", nil, errSignIn
	}
	a, err = s.store.AccountByEmail(ctx, t.Email)
	if err != nil && !errors.Is(err, nodegate.NotFound) {
		return "", nil, err
	}
	v, err := s.recognize(ctx, a, t)
	if err != nil {
		return "", nil, err
	}
	if !s.attempts.mayTry(v) {
		return "", nil, errTooMany
	}
	if err := s.checkAccount(ctx, v, a, t); err != nil {
		return "", nil, err
	}
	if !a.Suspended.IsZero() {
		return "", nil, errSuspended
	}
	if token, err = s.beginSession(ctx, a, t.From, t.Agent); err != nil {
		return "", nil, err
	}
	if !v.known {
		s.attempts.mayTry(visitor{known: true, who: a.ID, place: v.place}) // where it counts from now on
	}
	if err := s.remember(ctx, a, t.From); err != nil {
		s.log.Warn("can't save the address of a sign-in", "account", a.ID, "err", err)
	}
	return token, a, nil
}

// checkAccount checks the password of an account, or of nobody.
func (s *signIns) checkAccount(ctx context.Context, v visitor, a *nodegate.Account, t Attempt) error {
	id, hash := "", ""
	if a != nil {
		id, hash = a.ID, a.Password
	}
	ok, err := s.passwords.check(ctx, v, hash, t.Password)
	if err == nil && !ok {
		s.failed(id, placeOf(t.From))
		err = errSignIn
	}
	return err
}

// SignUp makes an account for a stranger, on the default plan, where no link can be mailed
// that would show whose the address is. For an address that has an account it does the same
// work and returns the same: who has an account is not told here. Whoever signed up signs in.
//
// Returns InvalidInput for an e-mail address or password that can't be used, and RateLimited
// for a place that makes many, or when too many passwords are being hashed.
func (s *signIns) SignUp(ctx context.Context, email, password, from string) error {
	if password == "" { // such an account could never sign in
		return errNoPassword
	}
	place := placeOf(from)
	if !s.attempts.maySignUp(place) {
		return errTooMany
	}
	email, err := normalizeEmail(email)
	if err != nil {
		return err
	}
	actor, v := nodegate.Actor{Name: email, From: from}, visitor{who: place, place: place}
	a, err := s.store.AccountByEmail(ctx, email)
	if errors.Is(err, nodegate.NotFound) {
		_, err = s.accounts.create(ctx, actor, v, NewAccount{Email: email, Password: password, Unverified: true})
		if !errors.Is(err, nodegate.Conflict) {
			return err
		}
		a, err = s.store.AccountByEmail(ctx, email) // somebody else was faster
	}
	if err != nil {
		return err
	}
	return s.signUpAgain(ctx, actor, v, a, password)
}

// signUpAgain takes as long as a sign-up.
func (s *signIns) signUpAgain(ctx context.Context, actor nodegate.Actor, v visitor, a *nodegate.Account, password string) error {
	if _, err := s.passwords.hash(ctx, v, password); err != nil {
		return err
	}
	return s.saver.save(ctx, actor, func() (*nodegate.Change, error) {
		return &nodegate.Change{Audit: nodegate.AuditEntry{Action: "signup.repeated", AccountID: a.ID, Subject: a.ID}}, nil
	})
}

// beginSession makes a session for somebody who knew the password in a.
//
// Returns SignInFailed when the password is another one by now, or the account suspended:
// whoever did that has ended all sessions, and this one may have missed it.
func (s *signIns) beginSession(ctx context.Context, a *nodegate.Account, from, agent string) (token string, err error) {
	token = credential.NewToken()
	session := nodegate.Session{
		Digest: s.vault.TokenDigest(token), AccountID: a.ID, Created: now(), Expires: now().Add(sessionTime),
		From: from, Agent: agent[:min(len(agent), maxAgent)],
	}
	if err := s.store.SaveSession(ctx, session); err != nil {
		return "", err
	}
	present, err := s.store.Account(ctx, a.ID)
	if err == nil && present.Password == a.Password && present.Suspended.IsZero() {
		return token, nil
	}
	if err == nil {
		err = errSignIn
	}
	_ = s.store.DeleteSession(context.WithoutCancel(ctx), session.Digest) // nobody has its token
	return "", err
}

var (
	errSuspended  = &nodegate.Error{Op: "account.signin", Code: nodegate.Forbidden, Msg: "this account is suspended: contact the operator of the service"}
	errNoPassword = &nodegate.Error{Op: "account", Code: nodegate.InvalidInput, Msg: "choose a password"}

	errSignIn  = &nodegate.Error{Op: "account.signin", Code: nodegate.SignInFailed, Msg: "wrong e-mail address or password"}
	errTooMany = &nodegate.Error{Op: "account.signin", Code: nodegate.RateLimited, Msg: "too many attempts: wait a minute", RetryAfter: time.Minute}
	errQueue   = &nodegate.Error{Op: "account.signin", Code: nodegate.RateLimited, Msg: "too many sign-ins at the same time: try again", RetryAfter: time.Second}
)

// Session returns the account of a session's token.
//
// Returns NotFound when it has ended.
func (s *signIns) Session(ctx context.Context, token string) (*nodegate.Account, error) {
	session, err := s.store.SessionByDigest(ctx, s.vault.TokenDigest(token), now())
	if err != nil {
		return nil, err
	}
	a, err := s.store.Account(ctx, session.AccountID)
	if err == nil && !a.Suspended.IsZero() {
		return nil, &nodegate.Error{Op: "account.session", Code: nodegate.NotFound, Msg: errSuspended.Msg}
	}
	return a, err
}

// SignOut ends a session. One that has ended already is no error.
func (s *signIns) SignOut(ctx context.Context, token string) error {
	return s.store.DeleteSession(ctx, s.vault.TokenDigest(token))
}

// SetPassword changes a password without the old one, as an operator does. All
// sessions of the account end.
//
// Returns NotFound, InvalidInput for a password that is too short or too long.
func (s *signIns) SetPassword(ctx context.Context, actor nodegate.Actor, accountID, password string) error {
	_, err := s.setPassword(ctx, actor, accountID, password, func(*nodegate.Account) bool { return true })
	return err
}

// setPassword changes the password of an account that is still as it must be.
func (s *signIns) setPassword(ctx context.Context, actor nodegate.Actor, accountID, password string, still func(*nodegate.Account) bool) (hash string, err error) {
	if hash, err = s.passwords.hash(ctx, visitor{known: true, who: accountID}, password); err != nil {
		return "", err
	}
	err = s.saver.alter(ctx, actor, accountID, func(c *nodegate.Change) error {
		if !still(c.Account) {
			return errSignIn
		}
		c.Account.Password, c.EndLinks = hash, true
		c.Audit = nodegate.AuditEntry{Action: "account.password"}
		return nil
	})
	if err != nil {
		return "", err
	}
	// A caller who goes away now must not leave the sessions of the old password.
	err = s.store.DeleteSessions(context.WithoutCancel(ctx), accountID, nodegate.Digest{})
	if err != nil {
		return "", &nodegate.Error{Op: "account.password", Code: nodegate.Busy, RetryAfter: time.Second, Err: err,
			Msg: "the password was changed, but sessions of the old one may still be open: change it once more"}
	}
	return hash, nil
}

// checkPassword finds the account of a session whose owner gives its password again, as
// changes require that would let somebody else keep the account.
//
// Returns SignInFailed for a wrong password, NotFound for a token that has ended, and
// RateLimited after too many tries in a minute.
func (s *signIns) checkPassword(ctx context.Context, actor nodegate.Actor, token, password string) (*nodegate.Account, error) {
	a, err := s.Session(ctx, token)
	if err != nil {
		return nil, err
	}
	v := visitor{known: true, who: a.ID, place: placeOf(actor.From)} // a session is no way around the limit
	if !s.attempts.mayTry(v) {
		return nil, errTooMany
	}
	return a, s.checkAccount(ctx, v, a, Attempt{Password: password, From: actor.From})
}

// ChangePassword changes the password of who is signed in. Their other sessions
// end; this one goes on under a new token.
//
// Returns SignInFailed for a wrong old password, NotFound for a token that has
// ended, and what SetPassword returns.
func (s *signIns) ChangePassword(ctx context.Context, actor nodegate.Actor, token, old, new string) (fresh string, err error) {
	a, err := s.checkPassword(ctx, actor, token, old)
	if err != nil {
		return "", err
	}
	agent := ""
	if session, err := s.store.SessionByDigest(ctx, s.vault.TokenDigest(token), now()); err == nil {
		agent = session.Agent
	}
	was := a.Password
	a.Password, err = s.setPassword(ctx, actor, a.ID, new, func(now *nodegate.Account) bool { return now.Password == was })
	if err != nil {
		return "", err
	}
	return s.beginSession(ctx, a, actor.From, agent)
}
