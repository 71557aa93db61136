package browser

import (
	"context"
	"io"
	"mime/quotedprintable"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/bench/visitor"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/smtptest"
)

// press clicks on what leads to another page, and waits for that one. It says yes if the first
// one asks.
func (s *story) press(selector string) {
	s.Helper()
	Ask(s, s.ctx, chromedp.Action[page.EventLoadEventFired](func(ctx context.Context, target *chromedp.Target) (page.EventLoadEventFired, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		questions := cdp.Events(ctx, target, page.JavascriptDialogOpening)
		go func() {
			for _, err := range questions {
				if err != nil {
					return
				}
				_, _ = cdp.Call(ctx, target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}
		}()
		return chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.Click(selector))(ctx, target)
	}))
}

// says looks for a sentence about what was done.
func (s *story) says(want string) {
	s.Helper()
	s.contains(`.notice.good`, want)
}

// mailed waits for the n-th letter, and returns the path of the link in it.
func mailed(t *testing.T, mail *smtptest.Server, n int, to string) (path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(mail.Letters()) < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d letters came, want %d", len(mail.Letters()), n)
		}
	}
	l := mail.Letters()[n-1]
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(l.Text)))
	if path = regexp.MustCompile(`/login/link/[0-9a-f]{64}`).FindString(string(text)); err != nil || path == "" || l.To != to {
		t.Fatalf("letter %d to %s, %v: %s", n, l.To, err, text)
	}
	return path
}

// Somebody signs up by mail, forgets the password, finds a session that isn't theirs, moves to
// another address and deletes the account.
func TestAccount(t *testing.T) {
	onScreens(t, func(t *testing.T, ctx context.Context) {
		mail := smtptest.Start(t, smtptest.Config{})
		service := harness.Start(t, func(c *config.Config) {
			c.Mail.SMTP, c.Mail.From = config.Secret("smtp://"+mail.Addr), "gate@example.com"
			c.Dashboard.URL = "https://gate.example.com"
		})
		a := &accountStory{story{T: t, ctx: ctx, service: service, base: localhost(service.RPC)}, mail}
		a.signUp()
		a.forget()
		a.endSession()
		a.move()
		a.delete()
	})
}

type accountStory struct {
	story
	mail *smtptest.Server
}

// signIn fills in the form of the page for an address.
func (a *accountStory) signIn(email, password string) {
	a.Helper()
	a.open("/login", `form[action="/login"]`)
	a.do(chromedp.SetValue(`input[name="email"]`, email), chromedp.SendKeys(`input[name="password"]`, password))
	a.press(`form[action="/login"] button`)
	a.do(chromedp.WaitVisible(`body.framed h1`))
}

func (a *accountStory) signUp() {
	a.open("/signup", `form[action="/signup"]`)
	a.do(chromedp.SendKeys(`input[name="email"]`, "ada@example.com"))
	a.press(`form[action="/signup"] button`)
	a.open(mailed(a.T, a.mail, 1, "ada@example.com"), `input[name="password"]`)
	fitsScreen(a.T, a.ctx, "the link of a sign-up")
	a.do(chromedp.SendKeys(`input[name="password"]`, "a long password"))
	a.press(`.auth-form button.primary`)
	a.do(chromedp.WaitVisible(`body.framed h1`))
}

// forget sets a new password by a mailed link: the first one is wrong from then on.
func (a *accountStory) forget() {
	a.do(chromedp.Click(`.account > summary`))
	a.press(`form[action="/logout"] button`)
	a.press(`a[href="/login/reset"]`)
	fitsScreen(a.T, a.ctx, "the page of forgotten passwords")
	a.do(chromedp.SetValue(`input[name="email"]`, "ada@example.com"))
	a.press(`form[action="/login/reset"] button`)
	a.says("If the address has an account")
	a.open(mailed(a.T, a.mail, 2, "ada@example.com"), `input[name="password"]`)
	a.do(chromedp.SendKeys(`input[name="password"]`, "another long password"))
	a.press(`.auth-form button.primary`)
	a.says("sign in with the new password")
	a.signIn("ada@example.com", "another long password")
}

// endSession signs out a browser that somebody forgot somewhere.
func (a *accountStory) endSession() {
	other, err := visitor.SignIn(a.base, "ada@example.com", "another long password")
	if err != nil {
		a.Fatal(err)
	}
	a.open("/account", `#sessions`)
	fitsScreen(a.T, a.ctx, "the settings of an account")
	a.press(`#sessions td form button`)
	a.says("Session signed out.")
	if _, _, err := other.Get("/account"); err == nil {
		a.Error("the other browser is still signed in")
	}
	if rows := Ask(a, a.ctx, chromedp.Evaluate[int](`document.querySelectorAll("#sessions tbody tr").length`)); rows != 1 {
		a.Errorf("%d sessions are left", rows)
	}
}

// move changes the address: nothing happens before the link in the mail is opened.
func (a *accountStory) move() {
	a.do(chromedp.SendKeys(`#email input[name="email"]`, "ada@example.org"), chromedp.SendKeys(`#email input[name="password"]`, "another long password"))
	a.press(`#email button`)
	a.says("Until then, nothing changes.")
	a.contains(`.stats`, "ada@example.com")
	a.open(mailed(a.T, a.mail, 3, "ada@example.org"), `.auth-form button.primary`)
	a.press(`.auth-form button.primary`)
	a.says("E-mail address changed.")
	a.open("/account", `#email`)
	a.contains(`.stats`, "ada@example.org")
}

func (a *accountStory) delete() {
	a.press(`a[href="/account/delete"]`)
	fitsScreen(a.T, a.ctx, "the page that deletes an account")
	a.do(chromedp.SendKeys(`input[name="password"]`, "another long password"))
	a.press(`form[action="/account/delete"] button`)
	a.says("Account deleted.")
	if _, err := visitor.SignIn(a.base, "ada@example.org", "another long password"); err == nil {
		a.Error("the account is still there")
	}
}
