package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// How long links work. One that sets a password is worth an account, so it is short-lived;
// one that an operator passes on by hand takes longer to arrive.
const (
	resetTime   = 30 * time.Minute
	confirmTime = 24 * time.Hour
	printedTime = 24 * time.Hour
)

// What the audit log says about a new address: the old one, movedTo, the new one.
const (
	emailAction = "account.email"
	movedTo     = " to "
)

// LinkPath is where the dashboard takes links, with the token behind it.
const LinkPath = "/login/link/"

// links are the use cases of links that work once: they are mailed, or printed for an
// operator who passes them on.
type links struct {
	store interface {
		nodegate.AccountStore
		nodegate.LinkStore
	}
	saver    *saver
	accounts *accounts
	signIns  *signIns
	vault    *credential.Vault
	log      *slog.Logger
	outbox   outbox
	limits   mailLimits
}

// NewLink makes a link for an operator to pass on. email is the new address of a LinkEmail.
//
// Returns NotFound, and InvalidInput or Conflict for an address that can't be used.
func (l *links) NewLink(ctx context.Context, actor nodegate.Actor, purpose nodegate.LinkPurpose, accountID, email string) (token string, link *nodegate.Link, err error) {
	a, err := l.store.Account(ctx, accountID)
	if err != nil {
		return "", nil, err
	}
	link = &nodegate.Link{Purpose: purpose, AccountID: a.ID, Email: a.Email, Expires: now().Add(printedTime)}
	if purpose == nodegate.LinkEmail {
		if link.Email, err = l.freeAddress(ctx, email); err != nil {
			return "", nil, err
		}
	}
	token, err = l.issue(ctx, actor, link)
	return token, link, err
}

// freeAddress is an address that no account has.
func (l *links) freeAddress(ctx context.Context, email string) (string, error) {
	email, err := normalizeEmail(email)
	if err != nil {
		return "", err
	}
	switch _, err = l.store.AccountByEmail(ctx, email); {
	case err == nil:
		return "", errTaken
	case errors.Is(err, nodegate.NotFound):
		return email, nil
	}
	return "", err
}

// issue keeps a new link, and returns the token that nobody else has.
func (l *links) issue(ctx context.Context, actor nodegate.Actor, link *nodegate.Link) (token string, err error) {
	token = credential.NewToken()
	link.Digest, link.Created = l.linkDigest(token), now()
	how := "printed"
	if link.Mailed {
		how = "mailed"
	}
	if link.AccountID != "" { // who signs up has nothing yet that could be recorded
		err = l.saver.save(ctx, actor, func() (*nodegate.Change, error) {
			return &nodegate.Change{Audit: nodegate.AuditEntry{Action: "account.link", AccountID: link.AccountID, Subject: link.AccountID, Detail: string(link.Purpose) + ", " + how}}, nil
		})
	}
	if err == nil {
		err = l.store.SaveLink(ctx, *link)
	}
	return token, err
}

// linkDigest is apart from the digests of sessions: neither token passes for the other.
func (l *links) linkDigest(token string) nodegate.Digest {
	return l.vault.TokenDigest("link\x00" + token)
}

// Link finds what a link is for, without using it.
//
// Returns NotFound for one that was used, replaced or has expired.
func (l *links) Link(ctx context.Context, token string) (*nodegate.Link, error) {
	link, err := l.store.LinkByDigest(ctx, l.linkDigest(token), now())
	return link, expiredLink(err)
}

func expiredLink(err error) error {
	if errors.Is(err, nodegate.NotFound) {
		return errLink
	}
	return err
}

var (
	errLink  = &nodegate.Error{Op: "account.link", Code: nodegate.NotFound, Msg: "this link no longer works: it was used, replaced by a newer one, or has expired. Request a new one"}
	errTaken = &nodegate.Error{Op: "account.email", Code: nodegate.Conflict, Msg: "another account has this e-mail address"}
)

// UseLink does what a link is for. password is the new one of a LinkReset and a LinkSignUp.
// A link that can't be used because of the password, or because too much is going on, stays.
//
// Returns NotFound for a link that was used, replaced or has expired; InvalidInput for a
// password that is too short or too long; RateLimited when too many passwords are being
// hashed; Conflict when another account has the address by now.
func (l *links) UseLink(ctx context.Context, token, password, from string) (*nodegate.Link, error) {
	link, err := l.Link(ctx, token)
	if err != nil {
		return nil, err
	}
	actor := nodegate.Actor{Name: link.Email, From: from}
	switch link.Purpose {
	case nodegate.LinkSignUp:
		err = l.finishSignUp(ctx, actor, link, password)
	case nodegate.LinkReset:
		err = l.resetPassword(ctx, actor, link, password)
	default:
		err = l.confirmEmail(ctx, actor, link)
	}
	return link, expiredLink(err)
}

// finishSignUp makes the account of somebody who reads mail at its address.
func (l *links) finishSignUp(ctx context.Context, actor nodegate.Actor, link *nodegate.Link, password string) error {
	if password == "" {
		return errNoPassword
	}
	v := visitor{who: link.Email, place: placeOf(actor.From)}
	_, err := l.accounts.create(ctx, actor, v, NewAccount{Email: link.Email, Password: password, Link: link.Digest})
	if errors.Is(err, nodegate.Conflict) {
		return errTaken
	}
	return err
}

// resetPassword sets a password, and ends all sessions and other links of the account.
func (l *links) resetPassword(ctx context.Context, actor nodegate.Actor, link *nodegate.Link, password string) error {
	hash, err := l.accounts.passwords.hash(ctx, visitor{who: link.Email, place: placeOf(actor.From)}, password)
	if err != nil {
		return err
	}
	return l.saver.alter(ctx, actor, link.AccountID, func(c *nodegate.Change) error {
		if link.Email != c.Account.Email {
			return errLink // whoever reads mail at an address that the account has left
		}
		c.Account.Password = hash
		l.spend(c, link)
		c.EndSessions = true
		c.Audit = nodegate.AuditEntry{Action: "account.password", Detail: "by a link"}
		return nil
	})
}

// spend uses a link up, with all others of the account. One that was mailed to the
// account's address shows that somebody reads mail there.
func (l *links) spend(c *nodegate.Change, link *nodegate.Link) {
	c.Link, c.EndLinks = link.Digest, true
	if link.Mailed && link.Email == c.Account.Email {
		c.Account.Unverified = false
	}
}

// confirmEmail verifies the address of an account, or moves it to another one.
func (l *links) confirmEmail(ctx context.Context, actor nodegate.Actor, link *nodegate.Link) error {
	before := ""
	err := l.saver.alter(ctx, actor, link.AccountID, func(c *nodegate.Change) error {
		before = c.Account.Email
		c.Audit = nodegate.AuditEntry{Action: "account.verify", Detail: link.Email}
		if link.Purpose == nodegate.LinkEmail {
			if _, err := l.freeAddress(ctx, link.Email); err != nil {
				return err
			}
			c.Account.Email = link.Email
			c.Audit = nodegate.AuditEntry{Action: emailAction, Detail: before + movedTo + link.Email}
		} else if link.Email != before {
			return errLink // it is about an address that the account has left
		}
		l.spend(c, link)
		c.Account.Unverified = false // an operator who passed a link on knows who it is
		return nil
	})
	if err == nil && before != link.Email {
		_ = l.outbox.add(func(ctx context.Context) { l.mailMoved(ctx, before, link.Email) })
	}
	return err
}
