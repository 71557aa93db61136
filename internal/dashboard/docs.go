package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
)

func docsRoutes() []route {
	return []route{
		{pattern: "GET /docs", who: everybody, serve: docsPage},
		{pattern: "GET /docs/types", who: everybody, serve: typesPage},
		{pattern: "GET /docs/{method}", who: everybody, serve: methodPage},
		{pattern: "GET /openrpc.json", who: everybody, serve: openRPC},
	}
}

// docsData is the index of methods.
type docsData struct {
	Query    string
	Groups   []apidoc.Group
	Found    int
	Networks []Network
	Base, WS string
	Common   []apidoc.CommonFault
	Commands []apidoc.Command // of the storage gateway
	Gateway  string           // where it is reached; "" without one

	cost func(method string) int64
}

// Credits are what a call of a method costs.
func (d docsData) Credits(method string) int64 { return d.cost(method) }

// maxQuery bounds a search.
const maxQuery = 100

func docsPage(v *visit) error {
	d := docsData{Query: v.req.URL.Query().Get("q"), Networks: v.cfg.Networks(), Common: v.book.Common, cost: v.cfg.Cost}
	if len(d.Query) > maxQuery {
		d.Query = strings.ToValidUTF8(d.Query[:maxQuery], "")
	}
	d.Base, d.WS = v.base()
	d.Groups = v.book.Groups(d.Query)
	if d.Gateway = v.storageURL(); d.Gateway != "" {
		d.Commands = apidoc.Commands(d.Query)
		d.Found += len(d.Commands)
	}
	for _, g := range d.Groups {
		d.Found += len(g.Methods)
	}
	return v.show("docs", d)
}

// methodData is the page of one method.
type methodData struct {
	*apidoc.Method
	Credits  int64
	Base, WS string
	Request  string
	Curl     string // the request as a line to paste
	Answer   string
	Try      string   // the page where it can be sent; "" where it can't
	Aliases  []string // other names that networks have for it
}

func methodPage(v *visit) error {
	m := v.book.Find(v.req.PathValue("method"))
	if m == nil {
		return errNotHere
	}
	d := methodData{Method: m, Credits: v.cfg.Cost(m.Name), Request: m.Request(), Answer: indented(v.book.Answer(m.Name))}
	d.Base, d.WS = v.base()
	network := m.Example.Network
	if network == "" {
		network = "NETWORK" // no built-in one has the method
	}
	d.Curl = "curl " + d.Base + "/" + network + "/v3/$KEY \\\n  -H 'Content-Type: application/json' \\\n  -d '" + d.Request + "'"
	d.Try = tryAddress(v, m)
	for _, n := range v.cfg.Networks() {
		if alias := m.Alias(n.Alias); alias != "" {
			d.Aliases = append(d.Aliases, alias+" on "+n.Name)
		}
	}
	return v.show("method", d)
}

// tryAddress is the page that sends a method with one of the account's keys, on the
// network of its example where that is served. Subscriptions need a socket of their own.
func tryAddress(v *visit, m *apidoc.Method) string {
	if m.Socket {
		return ""
	}
	query := url.Values{"method": {m.Name}}
	if slices.ContainsFunc(v.cfg.Networks(), func(n Network) bool { return n.Name == m.Example.Network }) {
		query.Set("network", m.Example.Network)
	}
	return "/try?" + query.Encode()
}

// indented is JSON for people.
func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// typesData are the kinds of values.
type typesData struct {
	Types []apidoc.Type
}

func typesPage(v *visit) error { return v.show("types", typesData{v.book.Types}) }

// documentVersion is that of the addresses that the document describes: /v3.
const documentVersion = "3.0.0"

// openRPC is the same for machines. Tools on other sites may read it too.
func openRPC(v *visit) error {
	overHTTP, _ := v.base()
	s := apidoc.Service{Version: documentVersion, Credits: v.cfg.Cost}
	for _, n := range v.cfg.Networks() {
		s.Servers = append(s.Servers, apidoc.Server{
			Name: n.Name, URL: overHTTP + "/" + n.Name + "/v3/YOUR-API-KEY",
			Embedded: n.Embedded, Layer2: n.Rollup, Alias: n.Alias, Namespaces: n.Namespaces,
		})
	}
	body, err := v.book.OpenRPC(s)
	if err != nil {
		return err
	}
	v.w.Header().Set("Access-Control-Allow-Origin", "*")
	v.w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	v.send(http.StatusOK, "application/json", body)
	return nil
}
