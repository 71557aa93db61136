package dashboard

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

//go:embed pages/*.html
var pageFiles embed.FS

// pages are the parsed templates, each with the layout and the parts around it.
type pages struct {
	byName map[string]*template.Template
}

// newPages parses everything at the start: a template that is broken never reaches a
// user. Files that begin with _ are parts of all the others.
func newPages(f *static) (*pages, error) {
	common, err := template.New("").Funcs(functions(f)).ParseFS(pageFiles, "pages/_*.html")
	if err != nil {
		return nil, err
	}
	p := &pages{byName: map[string]*template.Template{}}
	names, err := fs.Glob(pageFiles, "pages/[a-z]*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		t, err := template.Must(common.Clone()).ParseFS(pageFiles, name)
		if err != nil {
			return nil, err
		}
		p.byName[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return p, nil
}

// view is what the layout needs beside the page's own data.
type view struct {
	Account *nodegate.Account
	Nav     []navGroup
	Tabs    []navItem // of Nav, for the bottom of a phone's screen
	Themes  []string
	Path    string
	Notice  string // what a change before this page did
	Banner  *banner
	Front   *front // for strangers
	SignUp  bool
	Storage bool // there is a storage gateway
	Data    any
}

// show answers with a page.
func (v *visit) show(name string, data any) error { return v.showStatus(http.StatusOK, name, data) }

func (v *visit) showStatus(status int, name string, data any) error {
	t := v.pages.byName[name]
	if t == nil {
		return fmt.Errorf("no page %q", name)
	}
	frame := v.view(data)
	body, err := draw(v, func() ([]byte, error) {
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, "layout", frame); err != nil {
			return nil, err
		}
		return packed(v, b.Bytes()), nil
	})
	if err != nil {
		return err
	}
	deliver(v, status, "text/html; charset=utf-8", body)
	return nil
}

// draw writes a page when it is the turn of its account, or of its address. To write one takes
// as long as many calls, and a browser may ask for many pages at once: they leave a core to the
// calls of others. The wait is not charged.
func draw(v *visit, write func() ([]byte, error)) ([]byte, error) {
	who := v.clientOf(v.req)
	if v.account != nil {
		who = "account " + v.account.ID
	}
	begun := time.Now()
	err := v.drawing.Acquire(v.req.Context(), who)
	if v.ready.IsZero() { // or the page's time has ended before
		v.waited += time.Since(begun)
	}
	if err != nil {
		return nil, &nodegate.Error{Op: "dashboard.draw", Code: nodegate.Timeout, Msg: "the request was cancelled", Err: err}
	}
	defer v.drawing.Release(who)
	return write()
}

// view builds the frame of a page.
func (v *visit) view(data any) view {
	nav := v.nav()
	return view{
		Account: v.account, Nav: nav, Tabs: tabs(nav), Themes: []string{"system", "light", "dark"}, Path: v.req.URL.Path, Notice: notices[v.req.URL.Query().Get("done")],
		Banner: bannerOf(v), Front: frontOf(v), SignUp: v.cfg.SignUp, Storage: v.cfg.Storage != nil, Data: data,
	}
}

// send writes a finished body, compressed where the browser takes it.
func (v *visit) send(status int, kind string, body []byte) { deliver(v, status, kind, packed(v, body)) }

// packed compresses a body where the browser takes it.
func packed(v *visit, body []byte) []byte {
	h := v.w.Header()
	h.Set("Vary", "Accept-Encoding")
	if len(body) >= web.CompressFrom && web.AcceptsGzip(v.req.Header) {
		h.Set("Content-Encoding", "gzip")
		body = web.Gzip(make([]byte, 0, len(body)/3), body)
	}
	return body
}

// deliver writes a body as it is.
func deliver(v *visit, status int, kind string, body []byte) {
	h := v.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	handOver(v)
	v.w.WriteHeader(status)
	_, _ = v.w.Write(body) // a client that left can't be told
}

// wantsJSON tells whether one of our scripts asks, which shows errors by itself.
func (v *visit) wantsJSON() bool { return v.req.Header.Get("Accept") == "application/json" }

func (v *visit) failJSON(status int, message string) {
	body, _ := json.Marshal(map[string]string{"error": message})
	v.send(status, "application/json", body)
}

// notices are the sentences after a change. An address carries only their names: what
// stands in a link can't put words on a page.
var notices = map[string]string{
	"signed-out":  "Signed out.",
	"password":    "Password changed. All other sessions have ended.",
	"signed-up":   "Sign-up done. Sign in with the password that you chose.",
	"signup-mail": "Check your mail: we sent a link to finish your sign-up.",
	"signup":      "Account created. Sign in with the password that you chose.",
	"reset-mail":  "If the address has an account, we sent a link to choose a new password. It works for 30 minutes.",
	"reset":       "Password set. All sessions of the account have ended: sign in with the new password.",
	"verify-mail": "Check your mail: we sent a link to confirm your e-mail address.",
	"verify":      "E-mail address confirmed.",
	"email-mail":  "Check the mail of your new address: we sent a link to confirm it. Until then, nothing changes.",
	"email":       "E-mail address changed.",
	"session":     "Session signed out.",
	"everywhere":  "Signed out everywhere.",
	"deleted":     "Account deleted.",

	"account-created": "Account created.",
	"account-deleted": "Account deleted. Its keys no longer work.",
	"role":            "Role changed.",
	"suspended":       "Account suspended. Its keys and sessions no longer work.",
	"resumed":         "Account resumed. Its keys work again.",

	"unpinned": "File unpinned. You can undo this below for a while.",
	"undone":   "File pinned again.",
	"pinned":   "Pinned.",
	"folder":   "Folder created.",
	"renamed":  "Renamed.",
	"stored":   "Stored and pinned.",

	"upload-canceled": "Upload canceled.",

	"card":         "Card added.",
	"card-removed": "Card removed.",
	"plan":         "Plan changed.",
	"password-set": "Password set. All sessions of the account have ended.",
	"key-settings": "Key settings saved.",
	"revoked":      "Key revoked.",
	"cordoned":     "Node cordoned. It gets no client calls until you uncordon it or the server restarts.",
	"uncordoned":   "Node uncordoned.",
}
