package dashboard

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// visit is one request for a page.
type visit struct {
	*Dashboard
	w       http.ResponseWriter
	req     *http.Request
	route   route
	account *nodegate.Account // nil for a stranger
	token   string            // of the session
	ready   time.Time         // when its own work was done; see handOver
	waited  time.Duration     // for its turn to make reports
	endTurn func()            // ends the turn; nil without one
}

// handler runs a route: the same checks for each, in one order.
func (d *Dashboard) handler(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		v := &visit{Dashboard: d, w: w, req: req, route: r}
		if err := v.guarded(); err != nil {
			v.fail(err)
		}
	})
}

// guarded runs the route. A panic below is this page's error and nobody else's; an answer
// that is broken off on purpose stays that.
func (v *visit) guarded() (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			err = &nodegate.Error{Op: "dashboard", Code: nodegate.Internal, Err: fmt.Errorf("panic in %s: %v\n%s", v.route.pattern, p, debug.Stack())}
		}
	}()
	return v.run()
}

func (v *visit) run() error {
	if v.route.changes() {
		if err := v.sameOrigin(); err != nil {
			return err
		}
	}
	if !v.route.stream {
		v.req.Body = http.MaxBytesReader(v.w, v.req.Body, maxForm)
		if err := v.readForm(); err != nil {
			return err
		}
	}
	if err := v.findSession(); err != nil {
		return err
	}
	return v.paced()
}

// open serves the page to who may see it.
func (v *visit) open() error {
	if v.account == nil && v.route.who != everybody {
		return v.askToSignIn()
	}
	if v.route.who == operators && !v.account.Operator {
		return errNotHere // not even that there is such a page
	}
	if err := admitChange(v); err != nil {
		return err
	}
	return v.route.serve(v)
}

// readForm reads what a form sends: nothing but a form is one.
func (v *visit) readForm() error {
	if kind, _, _ := mime.ParseMediaType(v.req.Header.Get("Content-Type")); v.route.changes() && v.req.ContentLength != 0 && kind != "application/x-www-form-urlencoded" {
		return &nodegate.Error{Op: "dashboard.form", Code: nodegate.MediaType, Msg: "send a form: application/x-www-form-urlencoded"}
	}
	err := v.req.ParseForm()
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return &nodegate.Error{Op: "dashboard.form", Code: nodegate.TooLarge, Msg: "the form is too large", Err: err}
	}
	return &nodegate.Error{Op: "dashboard.form", Code: nodegate.InvalidInput, Msg: "can't read the form or the URL", Err: err}
}

// sameOrigin refuses what another site made the browser send. A browser says where a
// POST comes from; what says nothing is no browser, and carries no cookie against its
// user's will.
func (v *visit) sameOrigin() error {
	check := http.NewCrossOriginProtection()
	from := v.req.Header.Get("Sec-Fetch-Site")
	if err := check.Check(v.req); err != nil || from != "" && from != "same-origin" {
		return &nodegate.Error{Op: "dashboard.origin", Code: nodegate.Forbidden, Msg: "this request comes from another site: open the dashboard and try again"}
	}
	return nil
}

// findSession looks the cookie's session up. One that has ended is none.
func (v *visit) findSession() error {
	cookie, err := v.req.Cookie(sessionCookie)
	if err != nil || cookie.Value == "" {
		return nil
	}
	a, err := v.cfg.Accounts.Session(v.req.Context(), cookie.Value)
	if errors.Is(err, nodegate.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v.account, v.token = a, cookie.Value
	return nil
}

// actor is who the audit log names.
func (v *visit) actor() nodegate.Actor {
	name := "stranger"
	if v.account != nil {
		name = v.account.Email
	}
	return nodegate.Actor{Name: name, From: v.from()}
}

// plan is what the account may use.
func (v *visit) plan() nodegate.Plan { return v.cfg.Accounts.PlanOf(v.account) }

// from is the client's address.
func (v *visit) from() string { return web.ClientAddr(v.req, v.cfg.TrustedProxies).String() }

// seeOther goes to another page after a change, so that a reload doesn't repeat it.
func (v *visit) seeOther(path string) error {
	http.Redirect(v.w, v.req, path, http.StatusSeeOther)
	return nil
}

// nothingHere is every address that has no page.
func nothingHere(*visit) error { return errNotHere }

var errNotHere = &nodegate.Error{Op: "dashboard", Code: nodegate.NotFound, Msg: "there is no such page"}
