package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// ruled is a request for a path that its site doesn't have.
type ruled struct {
	*reading
	root string // the site's path
}

// follow looks in the site's _redirects for a path that doesn't exist. It returns what to
// answer instead, or missing, the error of the path. Rules are for sites only: elsewhere
// they would redirect an origin that is not theirs.
func (r *reading) follow(short context.Context, missing error) (found *unixfs.Found, err error) {
	if r.site == nil || r.format != "" || !unixfs.IsNoEntry(missing) {
		return nil, missing
	}
	in := ruled{r, r.site.path("")}
	rules, err := in.rules(short)
	if err != nil {
		return nil, err
	}
	names := namesOf(r.text)[2:]
	for _, rule := range rules {
		if to, ok := rule.match(names); ok {
			return in.apply(short, to, rule.status)
		}
	}
	return nil, missing
}

// rules reads a site's _redirects, if it has one.
func (r ruled) rules(short context.Context) ([]rule, error) {
	found, err := r.gateway.objects.Find(short, r.root+"/_redirects")
	if errors.Is(err, nodegate.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	file, err := found.Open(short)
	if err != nil {
		return nil, err
	}
	if file.Kind != unixfs.File {
		return nil, nil
	}
	content := file.Content(short, 0, min(file.Size, maxRules+1))
	defer content.Close()
	text, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}
	rules, err := parseRules(string(text))
	if err != nil {
		r.status = http.StatusInternalServerError
		return nil, failed("could not parse _redirects: " + err.Error())
	}
	return rules, nil
}

// apply answers by a rule, or returns the content that stands for the path. Without either
// the answer was sent.
func (r ruled) apply(short context.Context, to string, status int) (*unixfs.Found, error) {
	if to == "" {
		return nil, failed("_redirects leads to a URL that is too long: at most " + strconv.Itoa(maxTarget) + " bytes")
	}
	if status >= 300 && status < 400 {
		r.answer.begun = true
		r.w.Header().Set("Location", withQuery(to, r.req.URL.RawQuery))
		r.w.Header().Set("Cache-Control", r.gateway.cacheControl(forAWeek))
		r.answer.WriteHeader(status)
		return nil, nil
	}
	path, _, _ := strings.Cut(to, "?")
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, failed("_redirects leads to a path that can't be read: " + to)
	}
	r.text = r.root + strings.TrimSuffix(path, "/") + "/" // a directory is shown here, at the address that was asked for
	found, err := r.gateway.objects.Find(short, r.text)
	if err != nil || status == http.StatusOK {
		return found, err
	}
	return nil, r.sendAs(short, found, status)
}

// withQuery adds a query to an address that may have one.
func withQuery(to, query string) string {
	u, err := url.Parse(to)
	if query == "" || err != nil {
		return to
	}
	if u.RawQuery != "" {
		query = u.RawQuery + "&" + query
	}
	u.RawQuery = query
	return u.String()
}

// sendAs sends a page of the site with another status than 200.
func (r ruled) sendAs(short context.Context, found *unixfs.Found, status int) error {
	file, err := found.Open(short)
	if err != nil {
		return err
	}
	if file.Kind != unixfs.File {
		return failed("_redirects leads to a page that is no file: " + r.text)
	}
	if err := r.gateway.cfg.Reads.Check(file.Size); err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Etag", `"`+found.CID.String()+`"`)
	h.Set("Cache-Control", r.gateway.cacheControl(forGood))
	h.Set("Content-Type", "text/html")
	h.Set("Content-Length", strconv.FormatInt(file.Size, 10))
	if r.answer.WriteHeader(status); r.req.Method == http.MethodHead {
		return nil
	}
	content := file.Content(r.req.Context(), 0, file.Size)
	defer content.Close()
	_, err = content.WriteTo(r.answer)
	return err
}
