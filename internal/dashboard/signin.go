package dashboard

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/web"
)

// sessionCookie carries the token. The prefix has browsers refuse it from any other
// host, from a path, and over a connection that is not safe.
const sessionCookie = "__Host-session"

// deviceCookie tells a browser in which somebody has signed in before: what strangers
// try doesn't count there. It lets nobody in.
const deviceCookie = "__Host-device"

func signInRoutes() []route {
	return []route{
		{pattern: "GET /login", who: everybody, serve: signInPage},
		{pattern: "POST /login", who: everybody, serve: signIn},
		{pattern: "GET /signup", who: everybody, serve: signUpPage},
		{pattern: "POST /signup", who: everybody, serve: signUp},
		{pattern: "POST /logout", who: everybody, serve: signOut},
		{pattern: "GET /login/reset", who: everybody, serve: resetPage},
		{pattern: "POST /login/reset", who: everybody, serve: requestReset},
		{pattern: "GET /login/link/{token}", who: everybody, serve: linkPage},
		{pattern: "POST /login/link/{token}", who: everybody, serve: useLink},
	}
}

// credentialsPage is a form with an address and a password, and what was wrong with it.
type credentialsPage struct {
	Email   string
	Next    string // where to go afterwards
	Problem string
	ByMail  bool // a mail brings what comes next
}

func signInPage(v *visit) error {
	if v.account != nil {
		return v.seeOther("/")
	}
	if err := v.safeConnection(); err != nil {
		return err
	}
	return v.show("login", credentialsPage{Email: typedAddress(v), Next: localPath(v.req.FormValue("next"))})
}

func signIn(v *visit) error {
	if err := v.safeConnection(); err != nil {
		return err
	}
	form := credentialsPage{Email: v.req.PostFormValue("email"), Next: localPath(v.req.PostFormValue("next"))}
	return beginSession(v, "login", form)
}

// beginSession signs in with the form's password and goes on, or shows the form again.
func beginSession(v *visit, page string, form credentialsPage) error {
	t := account.Attempt{Email: form.Email, Password: v.req.PostFormValue("password"), From: v.from(), Agent: v.req.UserAgent()}
	if cookie, err := v.req.Cookie(deviceCookie); err == nil {
		t.Device = cookie.Value
	}
	handOver(v)
	token, a, err := v.cfg.Accounts.SignIn(v.req.Context(), t)
	if err != nil {
		return formAgain(v, page, form, err)
	}
	setSession(v, token)
	setDevice(v, v.cfg.Accounts.Device(a))
	return v.seeOther(form.Next)
}

// formAgain shows a form with what is wrong about it. Anything that its reader can't
// mend is an error page.
func formAgain(v *visit, page string, form credentialsPage, err error) error {
	e := nodegate.AsError(err)
	if e.Code == nodegate.Internal || e.Code == nodegate.Busy {
		return err
	}
	if e.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", web.RetryAfter(e.RetryAfter))
	}
	form.Problem = sentence(e.Msg)
	return v.showStatus(statusOf(e.Code), page, form)
}

func signUpPage(v *visit) error {
	if v.account != nil {
		return v.seeOther("/")
	}
	if err := errors.Join(signUpOpen(v), v.safeConnection()); err != nil {
		return err
	}
	return v.show("signup", signUpForm(v, ""))
}

// signUpForm asks for a password only where nobody can be mailed. Otherwise the reader of the
// mail chooses it: a stranger who signs up with somebody else's address knows nothing then.
func signUpForm(v *visit, email string) credentialsPage {
	return credentialsPage{Email: email, Next: "/", ByMail: v.cfg.Accounts.Mails()}
}

func signUp(v *visit) error {
	if err := errors.Join(signUpOpen(v), v.safeConnection()); err != nil {
		return err
	}
	form := signUpForm(v, v.req.PostFormValue("email"))
	done, err := "signup-mail", error(nil)
	if form.ByMail {
		err = v.cfg.Accounts.RequestSignUp(form.Email, v.from())
	} else {
		handOver(v)
		done, err = "signed-up", v.cfg.Accounts.SignUp(v.req.Context(), form.Email, v.req.PostFormValue("password"), v.from())
	}
	if err != nil {
		return formAgain(v, "signup", form, err)
	}
	rememberAddress(v, form.Email)
	return v.seeOther("/login?done=" + done)
}

// signUpOpen refuses strangers where the operator makes the accounts.
func signUpOpen(v *visit) error {
	if v.cfg.SignUp {
		return nil
	}
	return &nodegate.Error{Op: "dashboard.signup", Code: nodegate.Forbidden, Msg: "sign-up is closed: ask the operator of this service for an account"}
}

func signOut(v *visit) error {
	if cookie, err := v.req.Cookie(sessionCookie); err == nil {
		if err := v.cfg.Accounts.SignOut(v.req.Context(), cookie.Value); err != nil {
			return err
		}
	}
	endSession(v)
	return v.seeOther("/login?done=signed-out")
}

// askToSignIn sends a stranger to the form, and afterwards back to where they were.
func (v *visit) askToSignIn() error {
	if v.wantsJSON() {
		return &nodegate.Error{Op: "dashboard", Code: nodegate.SignInFailed, Msg: "you are signed out: sign in again"}
	}
	next := ""
	if v.req.Method == http.MethodGet && v.req.URL.Path != "/" {
		next = "?next=" + url.QueryEscape(v.req.URL.RequestURI())
	}
	return v.seeOther("/login" + next)
}

func setSession(v *visit, token string) {
	http.SetCookie(v.w, &http.Cookie{Name: sessionCookie, Value: token, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, MaxAge: sessionSeconds})
}

func setDevice(v *visit, token string) {
	http.SetCookie(v.w, &http.Cookie{Name: deviceCookie, Value: token, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, MaxAge: deviceSeconds})
}

func endSession(v *visit) {
	http.SetCookie(v.w, &http.Cookie{Name: sessionCookie, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, MaxAge: -1})
}

// sessionSeconds is how long browsers keep the cookie; the store ends the session by itself.
const sessionSeconds = 7 * 24 * 60 * 60

// deviceSeconds is how long browsers keep the other one.
const deviceSeconds = 365 * 24 * 60 * 60

// safeConnection refuses passwords over plain HTTP from another machine: everybody on
// the way could read them, and the cookie after them.
func (v *visit) safeConnection() error {
	if v.req.TLS != nil || v.proxySaysHTTPS() || loopback(v.req.RemoteAddr) && !v.throughProxy() {
		return nil
	}
	return &nodegate.Error{Op: "dashboard.signin", Code: nodegate.Forbidden,
		Msg: "sign-in requires HTTPS: set tls.cert and tls.key, put a TLS proxy in front of the service and list it in trusted_proxies, or open the dashboard on the same machine"}
}

// throughProxy tells whether somebody else's connection ends at the peer.
func (v *visit) throughProxy() bool {
	return v.req.Header.Get("X-Forwarded-For") != "" || v.req.Header.Get("Forwarded") != ""
}

// proxySaysHTTPS believes a trusted proxy only.
func (v *visit) proxySaysHTTPS() bool {
	return web.FromTrusted(v.req, v.cfg.TrustedProxies) && v.req.Header.Get("X-Forwarded-Proto") == "https"
}

func loopback(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// localPath is a path of this site, or the first page: a link must not lead elsewhere
// after the sign-in.
func localPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") || strings.ContainsAny(s, "\\\r\n\t") {
		return "/"
	}
	return s
}
