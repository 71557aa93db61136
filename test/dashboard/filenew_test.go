package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// withCard is a member who may store files.
func withCard(t *testing.T, v *Visitor) *Visitor {
	t.Helper()
	v.Post("/keys", url.Values{"name": {"a key"}})
	v.Post("/billing/card", url.Values{"number": {"4242424242424242"}, "month": {"12"}, "year": {"2039"}, "cvc": {"123"}}).Is(t, http.StatusSeeOther)
	return v
}

// Files that are pinned become a folder, which has them by their names; what is wrong comes
// back with what was chosen.
func TestNewFolder(t *testing.T) {
	s, _ := Start(t, nil)
	v, other := Operator(t, s), withCard(t, Member(t, s, "other@example.com"))
	v.Get("/files/folder").Is(t, http.StatusOK).Has(t, "Nothing is pinned yet")
	a, b := stored(t, v, "a.txt", "first"), stored(t, v, "<b>.txt", "second")
	v.Get("/files").Has(t, `href="/files/folder"`, `href="/files/pin"`)
	v.Get("/files/folder").Has(t, `value="`+a+`"`, `value="`+b+`"`, "&lt;b&gt;.txt").Lacks(t, "<b>.txt")
	v.Get("/files/folder?q=a.txt").Has(t, `value="`+a+`"`).Lacks(t, `value="`+b+`"`)

	for name, form := range map[string]url.Values{
		"Give the folder a name.":  {"cid": {a}},
		"Choose at least one file": {"name": {"empty"}},
		"The name is 300 bytes":    {"name": {strings.Repeat("x", 300)}, "cid": {a}},
	} {
		page := v.Post("/files/folder", form).Is(t, http.StatusUnprocessableEntity).Has(t, name)
		if form.Has("cid") {
			page.Has(t, `value="`+a+`" checked`).Lacks(t, `value="`+b+`" checked`)
		}
	}
	other.Post("/files/folder", url.Values{"name": {"mine now"}, "cid": {a}}).Is(t, http.StatusNotFound)
	v.Post("/files/folder", url.Values{"name": {"x"}, "cid": {"../../etc"}}).Is(t, http.StatusNotFound)

	page := v.Follow(v.Post("/files/folder", url.Values{"name": {"Both"}, "cid": {a, b}})).Is(t, http.StatusOK).Has(t, "Folder created.", "<bdi class=\"name\">Both</bdi>", "2 entries", "a.txt", "&lt;b&gt;.txt")
	folder := cidPattern.FindStringSubmatch(page.Body[strings.Index(page.Body, `id="links"`):])[1]
	if d := v.Get("/files/download?" + url.Values{"cid": {folder}, "path": {"a.txt"}}.Encode()); d.Body != "first" {
		t.Errorf("the folder's file: %d %q", d.Status, d.Body)
	}
	v.Get("/files/open?"+url.Values{"cid": {folder}}.Encode()).Has(t, `data-label="Size">5 B<`, `data-label="Size">6 B<`)
	v.Get("/files").Has(t, "3 pinned", "Both")
	v.Post("/files/unpin", url.Values{"cid": {a}}).Is(t, http.StatusSeeOther)
	v.Get("/files/open?"+url.Values{"cid": {folder}, "path": {"a.txt"}}.Encode()).Is(t, http.StatusOK)
}

// Content is pinned by its CID, a path or a link, for who may store it; what isn't there is
// said beside the form.
func TestPinByCID(t *testing.T) {
	s, _ := Start(t, nil)
	owner, poor, v := Operator(t, s), Member(t, s, "poor@example.com"), withCard(t, Member(t, s, "ada@example.com"))
	a, b, c := stored(t, owner, "a.txt", "first"), stored(t, owner, "b.txt", "second"), stored(t, owner, "c.txt", "third")
	v.Get("/files/pin?cid="+a).Has(t, `value="`+a+`"`)
	page := v.Follow(v.Post("/files/pin", url.Values{"cid": {" " + a + " "}, "name": {"by its CID"}})).Is(t, http.StatusOK).Has(t, "Pinned.", "by its CID", "1 pinned")
	if _, added, _ := strings.Cut(page.Body, `id="added"`); !strings.Contains(added, a) {
		t.Error("the page doesn't show what was pinned")
	}
	v.Follow(v.Post("/files/pin", url.Values{"cid": {"ipfs://" + b}})).Has(t, "2 pinned", b)
	v.Follow(v.Post("/files/pin", url.Values{"cid": {"https://gateway.example/ipfs/" + c + "?filename=c.txt"}})).Has(t, "3 pinned", c)

	never := "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
	for _, cid := range []string{never, "", "nonsense", "<script>alert(1)</script>", "../../etc/passwd", "https://example.com/"} {
		p := v.Post("/files/pin", url.Values{"cid": {cid}, "name": {"kept"}}).Is(t, http.StatusUnprocessableEntity).Has(t, "Can&#39;t pin this: ", `value="kept"`).Lacks(t, "<script>alert")
		if strings.Contains(p.Body, "something went wrong") {
			t.Errorf("%q is this server's fault: %s", cid, p.Body)
		}
	}
	v.Post("/files/pin", url.Values{"cid": {a}, "name": {strings.Repeat("x", 300)}}).Is(t, http.StatusUnprocessableEntity).Has(t, "The name is 300 bytes")
	poor.Post("/files/pin", url.Values{"cid": {a}}).Is(t, http.StatusUnprocessableEntity).Has(t, "Create an API key first")
	poor.Post("/keys", url.Values{"name": {"a key"}})
	poor.Post("/files/pin", url.Values{"cid": {a}}).Is(t, http.StatusPaymentRequired).Has(t, "billing card")
	v.Get("/files").Has(t, "3 pinned")
}
