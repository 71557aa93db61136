package dashboard

import (
	"net/http"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// fail shows an error as a page. What is unforeseen goes to the log under the id that
// the page shows; its text is for nobody else.
func (v *visit) fail(err error) {
	e := nodegate.AsError(err)
	status, message := statusOf(e.Code), e.Msg
	if e.Code == nodegate.Internal || message == "" {
		id := v.ids.New()
		v.cfg.Log.Error("dashboard", "id", id, "page", v.route.pattern, "err", err)
		message = "something went wrong; the server's log has the cause under id " + id
	}
	if e.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", web.RetryAfter(e.RetryAfter))
	}
	if v.wantsJSON() {
		v.failJSON(status, message)
		return
	}
	if err := v.showStatus(status, "error", errorPage{Status: status, Message: sentence(message)}); err != nil {
		http.Error(v.w, "the page can't be shown", http.StatusInternalServerError)
	}
}

// errorPage is what the page of an error shows.
type errorPage struct {
	Status  int
	Message string
}

// statusOf is the shared table's status. A page that shows an error is never a 200.
func statusOf(c nodegate.Code) int {
	if s := web.Status(c); s != http.StatusOK {
		return s
	}
	return http.StatusUnprocessableEntity
}

// sentence makes a message of the use cases a sentence of a page.
func sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}
