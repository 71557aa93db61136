package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// An operator creates a reset link for somebody and passes it on: it works once, and nobody
// else sees it.
func TestResetLink(t *testing.T) {
	s, _ := Start(t, nil)
	v, ada := Operator(t, s), Member(t, s, "ada@example.com")
	list := v.Get("/operator/accounts?q=ada")
	path := regexp.MustCompile(`/operator/accounts/a-[0-9a-f]+`).FindString(list.Body)
	v.Get(path).Has(t, "Create reset link")
	p := v.Post(path+"/reset", nil).Is(t, http.StatusSeeOther)
	page := v.Follow(p).Is(t, http.StatusOK).Has(t, "ada@example.com")
	link := regexp.MustCompile(`/login/link/[A-Za-z0-9_-]+`).FindString(page.Body)
	v.Follow(p).Has(t, link) // reloaded
	v.Get(path).Lacks(t, link)
	if strings.Contains(p.Header.Get("Set-Cookie"), link[len("/login/link/"):]) {
		t.Error("the cookie has the link in it, unsealed")
	}
	other := Operator(t, s)
	other.Get(path+"/reset").Is(t, http.StatusSeeOther)
	if strings.Contains(s.Logs.String(), link[len("/login/link/"):]) {
		t.Error("the log has the link")
	}
	Visit(t, s).Post(link, url.Values{"password": {"a new long password"}}).Is(t, http.StatusSeeOther)
	ada.Get("/account").Is(t, http.StatusSeeOther) // the session has ended
	ada.SignIn("ada@example.com", "a new long password")
	v.Follow(p).Is(t, http.StatusSeeOther) // it is used up
	v.Post("/operator/accounts/a-nobody/reset", nil).Is(t, http.StatusNotFound)
}
