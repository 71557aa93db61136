package dashboard

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
	"github.com/nodegate/nodegate/internal/dashboard/callform"
	"github.com/nodegate/nodegate/internal/dashboard/example"
	"github.com/nodegate/nodegate/internal/dashboard/faucet"
	"github.com/nodegate/nodegate/internal/dashboard/snippet"
	"github.com/nodegate/nodegate/internal/method"
)

func tryRoutes() []route {
	return []route{
		{pattern: "GET /try", who: members, serve: tryPage},
		{pattern: "POST /try", who: members, serve: tryCall},
		{pattern: "POST /try/faucet", who: members, serve: askFaucet},
		{pattern: "POST /try/socket", who: members, serve: socketAddress},
	}
}

// tryData is the page with the request box.
type tryData struct {
	Networks []Network
	Network  Network
	Keys     []keyChoice
	KeyID    string
	Methods  []methodChoice
	Method   string
	Row      *apidoc.Method // nil for a method that is not in the table
	Credits  int64

	Mode   string // fromForm, fromJSON or fromBatch
	Fields []callform.Field
	Params string
	Batch  string
	ABI    string

	Share    string            // this request as a link, without the key
	Snippets []snippet.Snippet // this request in other clients
	Socket   *socketData       // nil for a method of HTTP
	Answer   *tried
	Faucet   *faucetData // nil on networks without one
}

// Where the parameters come from.
const (
	fromForm  = "form"
	fromJSON  = "json"
	fromBatch = "batch"
)

// methodChoice is a method in the picker.
type methodChoice struct {
	Name, Summary string
	Example       bool // with parameters that work on the network as it is now
}

// socketData is how a subscription is followed.
type socketData struct {
	Here    bool   // in the browser, which can't send a secret
	Command string // the same in a terminal
}

type faucetData struct {
	Amount  int
	Address string
	Hash    string
	Problem string
}

func tryPage(v *visit) error {
	data, _, err := tryForm(v)
	if err != nil {
		return err
	}
	return v.show("try", data)
}

// tryForm reads what is chosen, and fills in an example for the rest.
func tryForm(v *visit) (*tryData, *nodegate.Grant, error) {
	data := &tryData{Networks: v.cfg.Networks(), Method: strings.TrimSpace(v.req.FormValue("method")), Batch: strings.TrimSpace(v.req.FormValue("batch")), ABI: v.req.PostFormValue("abi")}
	var err error
	if data.Network, err = networkOf(data.Networks, v.req.FormValue("network")); err != nil {
		return nil, nil, err
	}
	var grant *nodegate.Grant
	if data.Keys, grant, err = v.chooseKey(v.req.FormValue("key")); err != nil {
		return nil, nil, err
	}
	if grant != nil {
		data.KeyID = grant.KeyID
	}
	examples := v.examples.Of(v.req.Context(), data.Network.Network)
	if data.Method == "" {
		data.Method = examples[0].Method
	}
	data.Methods = methodChoices(v.book, examples, &data.Network, grant)
	data.Row = v.book.Find(data.Method)
	if v.cfg.Cost != nil {
		data.Credits = v.cfg.Cost(data.Method)
	}
	data.fillParams(v, examples)
	if err := data.connect(v); err != nil {
		return nil, nil, err
	}
	data.Faucet = faucetOf(v, data.Network.Name)
	return data, grant, nil
}

// fillParams takes the parameters from the form, from JSON or from an example.
func (d *tryData) fillParams(v *visit, examples []example.Example) {
	d.Mode, d.Params = v.req.FormValue("from"), strings.TrimSpace(v.req.FormValue("params"))
	switch {
	case d.Mode == fromForm && d.Row != nil && v.route.changes():
		d.Params = v.forms.Params(d.Row, v.req.PostFormValue)
	case d.Params == "":
		d.Params = paramsOf(v, examples, d.Method)
	}
	whole := false
	if d.Row != nil {
		d.Fields, whole = v.forms.Fields(d.Row, d.Params)
	}
	switch {
	case d.Mode == fromBatch:
	case d.Mode == fromJSON, !whole:
		d.Mode = fromJSON
	default:
		d.Mode = fromForm
	}
	if d.Batch == "" {
		d.Batch = "[\n  " + envelope(d.Method, d.Params, 1) + "\n]"
	}
	link := url.Values{"network": {d.Network.Name}, "method": {d.Method}, "params": {d.Params}}
	d.Share = "/try?" + link.Encode()
}

// connect finds out how the chosen key is used elsewhere.
func (d *tryData) connect(v *visit) error {
	if d.KeyID == "" || !json.Valid([]byte(d.Params)) {
		return nil
	}
	k, err := v.cfg.Accounts.Key(v.req.Context(), v.account.ID, d.KeyID)
	if err != nil {
		return err
	}
	e := keyless(v, d.Network.Name, k)
	if d.Row == nil || !d.Row.Socket {
		d.Snippets, err = v.snippets.Call(e, d.Method, d.Params)
		return err
	}
	d.Socket = &socketData{Here: !e.Secret}
	if d.Socket.Here {
		allowSocket(v, e.WS)
	}
	d.Socket.Command, err = v.snippets.Follow(e, d.Method, d.Params)
	return err
}

// allowSocket lets this page connect to where WebSockets are served.
func allowSocket(v *visit, origin string) {
	const name = "Content-Security-Policy"
	if at, err := url.Parse(origin); err == nil && plainHost.MatchString(at.Host) {
		h := v.w.Header()
		h.Set(name, strings.Replace(h.Get(name), "connect-src 'self'", "connect-src 'self' "+at.Scheme+"://"+at.Host, 1))
	}
}

// socketAddress tells the page's script where to connect to. The address has the key in it,
// so it is on no page.
func socketAddress(v *visit) error {
	n, err := networkOf(v.cfg.Networks(), v.req.PostFormValue("network"))
	if err != nil {
		return err
	}
	_, grant, err := v.chooseKey(v.req.PostFormValue("key"))
	if err != nil {
		return err
	}
	if grant == nil {
		return errNoKey
	}
	value, err := v.cfg.Accounts.Reveal(v.req.Context(), v.account.ID, grant.KeyID)
	if err != nil {
		return err
	}
	_, overWS := v.base()
	body, err := json.Marshal(map[string]string{"url": overWS + "/" + n.Name + "/ws/v3/" + value})
	if err != nil {
		return err
	}
	v.send(http.StatusOK, "application/json", body)
	return nil
}

// methodChoices are what the network offers to the key: those with examples first.
func methodChoices(b *apidoc.Book, examples []example.Example, n *Network, grant *nodegate.Grant) (list []methodChoice) {
	for _, e := range examples {
		c := methodChoice{Name: e.Method, Example: true}
		if m := b.Find(e.Method); m != nil {
			c.Summary = m.Summary
		}
		list = append(list, c)
	}
	develops := grant != nil && n.Embedded && grant.Develops()
	for _, m := range b.Methods {
		offered := method.Offered(m.Name, n.Namespaces) || develops && method.OfferedToDevelopers(m.Name) || m.Layer2() && n.Rollup
		listed := slices.ContainsFunc(list, func(c methodChoice) bool { return c.Name == m.Name })
		if offered && !listed && !(m.Remote && n.Embedded) {
			list = append(list, methodChoice{Name: m.Name, Summary: m.Summary})
		}
	}
	return list
}

func faucetOf(v *visit, network string) *faucetData {
	if v.cfg.Faucet == nil || !v.cfg.Faucet.On(network) {
		return nil
	}
	f := &faucetData{Amount: faucet.Amount}
	if sent := v.req.URL.Query().Get("sent"); transactionHash.MatchString(sent) {
		f.Hash = sent
	}
	return f
}

// transactionHash is the only thing that a link can put into the faucet's notice.
var transactionHash = regexp.MustCompile(`^0x[0-9a-f]{64}$`)

// networkOf is the network that is asked for, or the first: never another one.
func networkOf(list []Network, name string) (Network, error) {
	at := slices.IndexFunc(list, func(n Network) bool { return n.Name == name })
	switch {
	case at >= 0:
		return list[at], nil
	case name == "" && len(list) > 0:
		return list[0], nil
	}
	return Network{}, &nodegate.Error{Op: "dashboard.try", Code: nodegate.UnknownNetwork, Msg: "there is no such network"}
}

// paramsOf is the example of a method: one that works on the network now, or else the
// documentation's.
func paramsOf(v *visit, list []example.Example, method string) string {
	for _, e := range list {
		if e.Method == method {
			return e.Params
		}
	}
	if m := v.book.Find(method); m != nil && m.Example.Params != "" {
		return m.Example.Params
	}
	return "[]"
}

// tryCall sends the request on the way that a request with the key takes, and shows the
// answer.
func tryCall(v *visit) error {
	data, grant, err := tryForm(v)
	if err != nil {
		return err
	}
	if v.req.PostFormValue("load") != "" || data.otherForm(v) { // another method was chosen
		return v.seeOther("/try?" + url.Values{"network": {data.Network.Name}, "key": {data.KeyID}, "method": {data.Method}}.Encode())
	}
	if grant == nil {
		return errNoKey
	}
	// The parameters may be anything: what is no JSON is the service's to refuse.
	body := envelope(data.Method, data.Params, 1)
	if data.Mode == fromBatch {
		body = batchOf(data.Batch)
	}
	answer := newCaptured()
	handOver(v)
	start := time.Now()
	v.cfg.RPC(answer, inner(v.req.Context(), "/", nil, body), data.Network.Name, grant)
	data.Answer = triedOf(answer, time.Since(start))
	data.Answer.decode(data, v.book)
	return v.show("try", data)
}

// Entry is what the page's script keeps of a request in the history of the browser.
func (d *tryData) Entry() (string, error) {
	b, err := json.Marshal(map[string]any{"link": d.Share, "method": d.Method, "network": d.Network.Name, "ok": d.Answer.OK, "took": millis(d.Answer.Took), "batch": d.Mode == fromBatch})
	return string(b), err
}

// otherForm tells whether the parameters were filled in for another method than the one that
// is to be called.
func (d *tryData) otherForm(v *visit) bool {
	shown := v.req.PostFormValue("shown")
	return v.req.PostFormValue("from") == fromForm && shown != "" && shown != d.Method
}

// envelope is a request of JSON-RPC.
func envelope(method, params string, id int) string {
	name, err := json.Marshal(method)
	if err != nil {
		name = []byte(`""`) // a string always can be written
	}
	return `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":` + string(name) + `,"params":` + params + `}`
}

// batchOf completes the requests of a batch: people leave out what is always the same.
// What is no batch is the service's to refuse.
func batchOf(text string) string {
	var list []map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		return text
	}
	for i, one := range list {
		if one == nil {
			return text
		}
		if one["jsonrpc"] == nil {
			one["jsonrpc"] = json.RawMessage(`"2.0"`)
		}
		if one["id"] == nil {
			one["id"] = json.RawMessage(strconv.Itoa(i + 1))
		}
	}
	body, err := json.Marshal(list)
	if err != nil {
		return text
	}
	return string(body)
}

// askFaucet sends ether of a development network.
func askFaucet(v *visit) error {
	if v.cfg.Faucet == nil {
		return errNotHere
	}
	data, _, err := tryForm(v)
	if err != nil {
		return err
	}
	if data.Faucet == nil {
		return errNotHere
	}
	data.Faucet.Address = v.req.PostFormValue("address")
	handOver(v)
	data.Faucet.Hash, err = v.cfg.Faucet.Ask(v.req.Context(), v.account.ID, data.Network.Name, data.Faucet.Address)
	if err == nil {
		sent := url.Values{"network": {data.Network.Name}, "key": {data.KeyID}, "sent": {data.Faucet.Hash}}
		return v.seeOther("/try?" + sent.Encode() + "#faucet")
	}
	e := nodegate.AsError(err)
	if e.Code == nodegate.Internal {
		return err
	}
	data.Faucet.Problem = sentence(e.Msg)
	return v.showStatus(statusOf(e.Code), "try", data)
}
