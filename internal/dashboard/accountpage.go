package dashboard

import (
	"net/http"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

func accountRoutes() []route {
	return []route{
		{pattern: "GET /account", who: members, serve: accountPage},
		{pattern: "POST /account/password", who: members, serve: changePassword, audited: true},
		{pattern: "POST /account/email", who: members, serve: changeEmail, audited: true},
		{pattern: "POST /account/verify", who: members, serve: requestVerify, audited: true},
		{pattern: "POST /account/sessions", who: members, serve: endSessions, audited: true},
		{pattern: "GET /account/export", who: members, serve: exportAccount},
		{pattern: "GET /account/delete", who: members, serve: deletePage},
		{pattern: "POST /account/delete", who: members, serve: deleteOwn, audited: true},
	}
}

// accountData is the page of the account itself.
type accountData struct {
	Problem  string // with the password form
	Moving   string // the new address that was typed
	Trouble  string // with the form of the address
	ByMail   bool   // links can be mailed
	Sessions []account.SessionInfo
}

func accountPage(v *visit) error { return showOwnSettings(v, http.StatusOK, accountData{}) }

func showOwnSettings(v *visit, status int, d accountData) (err error) {
	d.ByMail = v.cfg.Accounts.Mails()
	if d.Sessions, err = v.cfg.Accounts.Sessions(v.req.Context(), v.token); err != nil {
		return err
	}
	return v.showStatus(status, "account", d)
}

// passwordProblem is what is wrong with a form that asks for the current password.
func passwordProblem(err error) (status int, problem string, other error) {
	switch e := nodegate.AsError(err); e.Code {
	case nodegate.SignInFailed:
		return http.StatusUnprocessableEntity, "Current password is incorrect.", nil
	case nodegate.InvalidInput, nodegate.RateLimited:
		return statusOf(e.Code), sentence(e.Msg), nil
	}
	return 0, "", err
}

func changePassword(v *visit) error {
	handOver(v)
	fresh, err := v.cfg.Accounts.ChangePassword(v.req.Context(), v.actor(), v.token, v.req.PostFormValue("old"), v.req.PostFormValue("new"))
	if err != nil {
		status, problem, other := passwordProblem(err)
		if other != nil {
			return other
		}
		return showOwnSettings(v, status, accountData{Problem: problem})
	}
	setSession(v, fresh)
	if a, err := v.cfg.Accounts.Session(v.req.Context(), fresh); err == nil { // the old token ended with the password
		setDevice(v, v.cfg.Accounts.Device(a))
	}
	return v.seeOther("/account?done=password")
}

// changeEmail has a link mailed to the new address. Nothing changes before it is opened.
func changeEmail(v *visit) error {
	handOver(v)
	email := v.req.PostFormValue("email")
	if err := v.cfg.Accounts.RequestEmail(v.req.Context(), v.actor(), v.token, v.req.PostFormValue("password"), email); err != nil {
		status, problem, other := passwordProblem(err)
		if other != nil {
			return other
		}
		return showOwnSettings(v, status, accountData{Moving: email, Trouble: problem})
	}
	return v.seeOther("/account?done=email-mail")
}

func requestVerify(v *visit) error {
	if v.account.Unverified {
		if err := v.cfg.Accounts.RequestVerify(v.account, v.actor()); err != nil {
			return err
		}
	}
	return v.seeOther("/account?done=verify-mail")
}

// endSessions ends one session, or all with this one.
func endSessions(v *visit) error {
	if id := v.req.PostFormValue("session"); id != "" {
		if err := v.cfg.Accounts.EndSession(v.req.Context(), v.actor(), v.token, id); err != nil {
			return err
		}
		return v.seeOther("/account?done=session")
	}
	if err := v.cfg.Accounts.EndSessions(v.req.Context(), v.actor(), v.account.ID); err != nil {
		return err
	}
	endSession(v)
	return v.seeOther("/login?done=everywhere")
}

// The names of browsers and systems in a User-Agent header, the more particular first: many
// say that they are others too.
var (
	browsers = [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}}
	systems  = [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"}}
)

// browser says in short what a User-Agent header says.
func browser(agent string) string {
	name := firstOf(browsers, agent)
	if name == "" {
		return "Unknown browser"
	}
	if system := firstOf(systems, agent); system != "" {
		return name + " on " + system
	}
	return name
}

func firstOf(names [][2]string, agent string) string {
	for _, n := range names {
		if strings.Contains(agent, n[0]) {
			return n[1]
		}
	}
	return ""
}
