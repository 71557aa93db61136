package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
)

// What may be mailed in an hour. It bounds what strangers can have sent to somebody else.
const (
	mailsOfPlace = 20 // that one address asks for
	mailsTo      = 5  // to one reader, for one purpose
)

// stranger is who isn't signed in, in the audit log.
const stranger = "stranger"

// mailLimits counts mails that somebody asked for within an hour.
type mailLimits struct {
	mu              sync.Mutex
	begin           time.Time
	places, readers counts
}

// mayAsk counts a mail that a place asks for.
func (l *mailLimits) mayAsk(place string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renew()
	return l.places.allow(place, mailsOfPlace)
}

// maySend counts a mail to a reader.
func (l *mailLimits) maySend(purpose nodegate.LinkPurpose, email string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renew()
	return l.readers.allow(string(purpose)+"\x00"+email, mailsTo)
}

func (l *mailLimits) renew() {
	if time.Since(l.begin) >= time.Hour {
		l.begin, l.places, l.readers = time.Now(), counts{}, counts{}
	}
}

// Mails tells whether links can be mailed.
func (l *links) Mails() bool { return l.outbox.send != nil }

// SetMail lets links be mailed. url is the dashboard's as its users reach it: it never comes
// from a request, where a stranger could name another host. It comes before any use.
func (l *links) SetMail(send func(context.Context, mailer.Letter) error, url string) {
	l.outbox.begin(send, strings.TrimSuffix(url, "/"), l.log)
}

// RequestReset mails a link to choose a new password to whoever has an account with the
// address. What it returns, and when, is the same where nobody has.
//
// Returns InvalidInput for what is no address, RateLimited for a place that asks often, and
// Forbidden where mails can't be sent.
func (l *links) RequestReset(email, from string) error {
	return l.request(email, from, func(ctx context.Context, actor nodegate.Actor, email string) error {
		a, err := l.store.AccountByEmail(ctx, email)
		if errors.Is(err, nodegate.NotFound) || err == nil && !mayReset(a) {
			return nil
		}
		if err != nil {
			return err
		}
		return l.mailLink(ctx, actor, resetLink(a), "Reset your password",
			"We received a request to reset the password of your account.\n\nChoose a new password: %s\n\n"+
				"The link works once, for 30 minutes. If you didn't request it, ignore this mail: your password stays the same.\n")
	})
}

// mayReset tells whether an account's owner may set a password by mail. An account without
// any is meant not to sign in; its operator decides otherwise.
func mayReset(a *nodegate.Account) bool { return a.Password != "" && a.Suspended.IsZero() }

func resetLink(a *nodegate.Account) *nodegate.Link {
	return &nodegate.Link{Purpose: nodegate.LinkReset, AccountID: a.ID, Email: a.Email, Mailed: true, Expires: now().Add(resetTime)}
}

// RequestSignUp mails a link to create an account. Whoever has one already gets a mail that
// says so. What it returns, and when, is the same for both.
//
// Returns what RequestReset returns.
func (l *links) RequestSignUp(email, from string) error {
	return l.request(email, from, func(ctx context.Context, actor nodegate.Actor, email string) error {
		a, err := l.store.AccountByEmail(ctx, email)
		switch {
		case errors.Is(err, nodegate.NotFound):
			return l.mailLink(ctx, actor, &nodegate.Link{Purpose: nodegate.LinkSignUp, Email: email, Mailed: true, Expires: now().Add(confirmTime)}, "Finish your sign-up",
				"We received a request to create an account with this address.\n\nChoose a password and create the account: %s\n\n"+
					"The link works once, for 24 hours. If you didn't request it, ignore this mail: no account is created.\n")
		case err != nil || !mayReset(a):
			return err
		}
		return l.mailLink(ctx, actor, resetLink(a), "You already have an account",
			"We received a request to create an account with this address, but it already has one. Sign in with your password.\n\n"+
				"If you forgot it, choose a new one: %s\n\nThe link works once, for 30 minutes. If you didn't request it, ignore this mail: nothing has changed.\n")
	})
}

// request puts off the work behind a form that strangers fill in, so that the time of the
// answer tells nothing.
func (l *links) request(email, from string, do func(ctx context.Context, actor nodegate.Actor, email string) error) error {
	email, err := normalizeEmail(email)
	if err != nil {
		return err
	}
	place := placeOf(from)
	switch {
	case !l.Mails():
		return errNoMail
	case !l.limits.mayAsk(place):
		return errTooManyMails
	}
	actor := nodegate.Actor{Name: stranger, From: place}
	return l.outbox.add(func(ctx context.Context) {
		if err := do(ctx, actor, email); err != nil {
			l.log.Error("can't mail a link", "err", err)
		}
	})
}

var (
	errNoMail       = &nodegate.Error{Op: "account.mail", Code: nodegate.Forbidden, Msg: "this service can't send mail: ask its operator"}
	errTooManyMails = &nodegate.Error{Op: "account.mail", Code: nodegate.RateLimited, RetryAfter: 10 * time.Minute, Msg: "too many mails were requested from your address: try again later"}
)

// RequestVerify mails a link that confirms the address of an account.
//
// Returns RateLimited after too many mails, and Forbidden where mails can't be sent.
func (l *links) RequestVerify(a *nodegate.Account, actor nodegate.Actor) error {
	if !l.Mails() {
		return errNoMail
	}
	link := &nodegate.Link{Purpose: nodegate.LinkVerify, AccountID: a.ID, Email: a.Email, Mailed: true, Expires: now().Add(confirmTime)}
	return l.outbox.add(func(ctx context.Context) {
		err := l.mailLink(ctx, actor, link, "Confirm your e-mail address", "Confirm that this is the e-mail address of your account: %s\n\nThe link works once, for 24 hours.\n")
		if err != nil {
			l.log.Error("can't mail a link", "account", a.ID, "err", err)
		}
	})
}

// RequestEmail mails a link to a new address of an account, which moves there once somebody
// opens it. Whether another account has the address is told to its reader only.
//
// Returns SignInFailed for a wrong password, NotFound for a session that has ended,
// InvalidInput for what is no address, RateLimited, and Forbidden where mails can't be sent.
func (l *links) RequestEmail(ctx context.Context, actor nodegate.Actor, token, password, email string) error {
	if !l.Mails() {
		return errNoMail
	}
	email, err := normalizeEmail(email)
	if err != nil {
		return err
	}
	a, err := l.signIns.checkPassword(ctx, actor, token, password)
	if err != nil {
		return err
	}
	if email == a.Email {
		return invalid("your account already has this address")
	}
	if !l.limits.mayAsk("account " + a.ID) {
		return errTooManyMails
	}
	return l.outbox.add(func(ctx context.Context) {
		if err := l.mailMove(ctx, actor, a, email); err != nil {
			l.log.Error("can't mail a link", "account", a.ID, "err", err)
		}
	})
}

// mailMove is done a while after somebody gave the password of a. A password that was reset
// meanwhile has ended all links of the account, so that no new one may follow.
func (l *links) mailMove(ctx context.Context, actor nodegate.Actor, a *nodegate.Account, email string) error {
	current, err := l.store.Account(ctx, a.ID)
	if errors.Is(err, nodegate.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !current.Suspended.IsZero() || current.Password != a.Password || current.Email != a.Email {
		return nil
	}
	_, err = l.freeAddress(ctx, email)
	if errors.Is(err, nodegate.Conflict) {
		if !l.limits.maySend(nodegate.LinkEmail, email) {
			return nil
		}
		return l.outbox.mail(ctx, email, "Your e-mail address can't be used", "You requested to use this address for your account, but another account already has it. Nothing has changed.\n")
	}
	if err != nil {
		return err
	}
	link := &nodegate.Link{Purpose: nodegate.LinkEmail, AccountID: a.ID, Email: email, Mailed: true, Expires: now().Add(confirmTime)}
	return l.mailLink(ctx, actor, link, "Confirm your new e-mail address",
		"Confirm that your account moves to this e-mail address: %s\n\nThe link works once, for 24 hours. If you didn't request it, ignore this mail.\n")
}

// mailLink makes a link and mails it. Beyond the limit of its reader nothing happens.
func (l *links) mailLink(ctx context.Context, actor nodegate.Actor, link *nodegate.Link, subject, text string) error {
	if !l.limits.maySend(link.Purpose, link.Email) {
		return nil
	}
	token, err := l.issue(ctx, actor, link)
	if err != nil {
		return err
	}
	return l.outbox.mail(ctx, link.Email, subject, fmt.Sprintf(text, l.outbox.url+LinkPath+token))
}

// mailMoved tells the address that an account has left: its owner should hear of a move
// that somebody else made.
func (l *links) mailMoved(ctx context.Context, before, after string) {
	err := l.outbox.mail(ctx, before, "Your e-mail address was changed",
		"Your account now has the e-mail address "+after+". You sign in with it from now on.\n\nIf you didn't do this, contact the operator of the service.\n")
	if err != nil {
		l.log.Warn("can't mail an account about its new address", "err", err)
	}
}

// letterID is new for each letter: none is sent again once a server took it.
func letterID() string { return "link-" + credential.NewToken()[:24] }
