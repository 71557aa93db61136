package dashboard

import (
	"slices"
	"strings"
)

// access says who may open a page.
type access uint8

const (
	everybody access = iota
	members          // who is signed in
	operators
)

// route is one line of the table: a pattern of http.ServeMux with its method.
type route struct {
	pattern string
	who     access
	serve   func(*visit) error
	stream  bool // the handler reads its body by itself: no form, no bound
}

// changes tells whether the route is for changing something.
func (r route) changes() bool { return strings.HasPrefix(r.pattern, "POST ") }

// routes is the whole table, each subject's part from its own file.
func routes() []route {
	return slices.Concat(
		signInRoutes(),
		overviewRoutes(),
		keyRoutes(),
		docsRoutes(),
	)
}
