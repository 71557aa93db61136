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
	landing bool // leads to the page that a change belongs to
	audited bool // a change with an entry in the audit log, which is never deleted
}

// changes tells whether the route is for changing something.
func (r route) changes() bool { return strings.HasPrefix(r.pattern, "POST ") }

// routes is the whole table, each subject's part from its own file.
func routes() []route {
	return withLandings(slices.Concat(
		signInRoutes(),
		accountRoutes(),
		overviewRoutes(),
		keyRoutes(),
		docsRoutes(),
		tryRoutes(),
		usageRoutes(),
		requestsRoutes(),
		filesRoutes(),
		billingRoutes(),
		paletteRoutes(),
		operatorRoutes(),
	))
}

// Route is a line of the table, for who tests all of them.
type Route struct {
	Method, Path string
	Public       bool // strangers may open it
	Operator     bool // only operators may
	Landing      bool // leads to the page that a change belongs to
}

// Routes lists every page and every change that the dashboard serves.
func Routes() (list []Route) {
	for _, r := range routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		list = append(list, Route{Method: method, Path: strings.TrimSuffix(path, "{$}"), Public: r.who == everybody, Operator: r.who == operators, Landing: r.landing})
	}
	return list
}
