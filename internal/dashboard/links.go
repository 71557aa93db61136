package dashboard

import (
	"net/http"
	"net/url"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/web"
)

// addressCookie carries the e-mail address from a form to the sign-in page behind it, so that
// nobody types it twice. It says what was typed, not whether there is such an account.
const addressCookie = "__Host-address"

const addressSeconds = 10 * 60

func rememberAddress(v *visit, email string) {
	http.SetCookie(v.w, &http.Cookie{Name: addressCookie, Value: url.QueryEscape(email), Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, MaxAge: addressSeconds})
}

func typedAddress(v *visit) string {
	cookie, err := v.req.Cookie(addressCookie)
	if err != nil {
		return ""
	}
	email, _ := url.QueryUnescape(cookie.Value) // "" for what is none
	return email
}

// resetPage asks whose password was forgotten.
func resetPage(v *visit) error {
	if err := v.safeConnection(); err != nil {
		return err
	}
	return v.show("reset", credentialsPage{Email: typedAddress(v), ByMail: v.cfg.Accounts.Mails()})
}

// requestReset has a link mailed. The answer is the same whether or not anybody has the
// address.
func requestReset(v *visit) error {
	if err := v.safeConnection(); err != nil {
		return err
	}
	form := credentialsPage{Email: v.req.PostFormValue("email"), ByMail: v.cfg.Accounts.Mails()}
	if err := v.cfg.Accounts.RequestReset(form.Email, v.from()); err != nil {
		return formAgain(v, "reset", form, err)
	}
	rememberAddress(v, form.Email)
	return v.seeOther("/login?done=reset-mail")
}

// linkData is the page that a mailed or printed link leads to.
type linkData struct {
	*nodegate.Link
	Path     string // of the page itself
	Password bool   // it asks for a new one
	Problem  string
}

func linkOf(v *visit) (*linkData, error) {
	if err := v.safeConnection(); err != nil {
		return nil, err
	}
	link, err := v.cfg.Accounts.Link(v.req.Context(), v.req.PathValue("token"))
	if err != nil {
		return nil, err
	}
	if link.Purpose == nodegate.LinkSignUp {
		err = signUpOpen(v)
	}
	return &linkData{Link: link, Path: v.req.URL.Path, Password: link.Purpose == nodegate.LinkSignUp || link.Purpose == nodegate.LinkReset}, err
}

// linkPage asks before anything happens: programs that look through mail open links too.
func linkPage(v *visit) error {
	d, err := linkOf(v)
	if err != nil {
		return err
	}
	return v.show("link", d)
}

func useLink(v *visit) error {
	d, err := linkOf(v)
	if err != nil {
		return err
	}
	handOver(v)
	if _, err := v.cfg.Accounts.UseLink(v.req.Context(), v.req.PathValue("token"), v.req.PostFormValue("password"), v.from()); err != nil {
		return linkAgain(v, d, err)
	}
	switch d.Purpose {
	case nodegate.LinkSignUp:
		return enterNew(v, d.Email)
	case nodegate.LinkReset:
		endSession(v) // it has ended with the password before
		rememberAddress(v, d.Email)
		return v.seeOther("/login?done=reset")
	case nodegate.LinkEmail:
		rememberAddress(v, d.Email)
	}
	if v.account == nil {
		return v.seeOther("/login?done=" + string(d.Purpose))
	}
	return v.seeOther("/account?done=" + string(d.Purpose))
}

// linkAgain shows the page again with what can be mended.
func linkAgain(v *visit, d *linkData, err error) error {
	e := nodegate.AsError(err)
	if e.Code != nodegate.InvalidInput && e.Code != nodegate.RateLimited && e.Code != nodegate.Conflict {
		return err
	}
	if e.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", web.RetryAfter(e.RetryAfter))
	}
	d.Problem = sentence(e.Msg)
	return v.showStatus(statusOf(e.Code), "link", d)
}

// enterNew signs in to an account that has just been created.
func enterNew(v *visit, email string) error {
	token, a, err := v.cfg.Accounts.SignIn(v.req.Context(), account.Attempt{Email: email, Password: v.req.PostFormValue("password"), From: v.from(), Agent: v.req.UserAgent()})
	if err != nil { // the account is there all the same
		rememberAddress(v, email)
		return v.seeOther("/login?done=signup")
	}
	setSession(v, token)
	setDevice(v, v.cfg.Accounts.Device(a))
	return v.seeOther("/")
}
