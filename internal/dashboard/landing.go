package dashboard

import (
	"net/url"
	"strings"
)

// withLandings adds a page to every address that only takes changes: the browser stays at
// such an address when a form comes back with a problem, and asks for it when somebody
// reloads it. It leads to the nearest page above it.
func withLandings(list []route) []route {
	pages := map[string]bool{}
	for _, r := range list {
		if path, ok := strings.CutPrefix(r.pattern, "GET "); ok {
			pages[path] = true
		}
	}
	for _, r := range list {
		path, ok := strings.CutPrefix(r.pattern, "POST ")
		if !ok || pages[path] {
			continue
		}
		pages[path] = true
		list = append(list, route{pattern: "GET " + path, who: r.who, landing: true, serve: landing(levelsUp(path, pages))})
	}
	return list
}

// levelsUp is how many parts of a pattern are cut off to get to a page.
func levelsUp(path string, pages map[string]bool) (levels int) {
	for path != "" && (levels == 0 || !pages[path]) {
		path = path[:strings.LastIndexByte(path, '/')]
		levels++
	}
	return levels
}

func landing(levels int) func(*visit) error {
	return func(v *visit) error {
		path := v.req.URL.Path
		for range levels {
			path = path[:strings.LastIndexByte(path, '/')]
		}
		if path == "" {
			path = "/"
		}
		return v.seeOther((&url.URL{Path: path}).EscapedPath())
	}
}
