package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/dashboard/example"
	"github.com/nodegate/nodegate/internal/dashboard/faucet"
)

func tryRoutes() []route {
	return []route{
		{pattern: "GET /try", who: members, serve: tryPage},
		{pattern: "POST /try", who: members, serve: tryCall},
		{pattern: "POST /try/faucet", who: members, serve: askFaucet},
	}
}

// tryData is the page with the request box.
type tryData struct {
	Networks []Network
	Network  Network
	Keys     []keyChoice
	KeyID    string
	Examples []example.Example
	Method   string
	Params   string
	Answer   *tried
	Faucet   *faucetData // nil on networks without one
}

// tried is what came of a request.
type tried struct {
	OK      bool
	Status  int
	Body    string
	Cut     bool // there was more than the page shows
	Took    time.Duration
	Credits string
	Cache   string
	// Verified is how well the answer was verified, "" for the word of a node.
	Verified string
	Node     string
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
	data := &tryData{Networks: v.cfg.Networks(), Method: strings.TrimSpace(v.req.FormValue("method")), Params: strings.TrimSpace(v.req.FormValue("params"))}
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
	data.Examples = v.examples.Of(v.req.Context(), data.Network.Network)
	if data.Method == "" {
		data.Method = data.Examples[0].Method
	}
	if data.Params == "" {
		data.Params = paramsOf(v, data.Examples, data.Method)
	}
	if v.cfg.Faucet != nil && v.cfg.Faucet.On(data.Network.Name) {
		data.Faucet = &faucetData{Amount: faucet.Amount}
		if sent := v.req.URL.Query().Get("sent"); transactionHash.MatchString(sent) {
			data.Faucet.Hash = sent
		}
	}
	return data, grant, nil
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
	if grant == nil {
		return errNoKey
	}
	// The parameters may be anything: what is no JSON is the service's to refuse.
	method, err := json.Marshal(data.Method)
	if err != nil {
		return err
	}
	body := `{"jsonrpc":"2.0","id":1,"method":` + string(method) + `,"params":` + data.Params + `}`
	answer := newCaptured()
	handOver(v)
	start := time.Now()
	v.cfg.RPC(answer, inner(v.req.Context(), "/", nil, body), data.Network.Name, grant)
	data.Answer = triedOf(answer, time.Since(start))
	return v.show("try", data)
}

// triedOf reads an answer and its headers.
func triedOf(c *captured, took time.Duration) *tried {
	t := &tried{
		Status: c.status, Cut: c.over, Took: took, Credits: c.header.Get("X-Credits"), Cache: c.header.Get("X-Cache"), Verified: c.header.Get("X-Verified"),
		Node: nodeOf(c.header.Get("Server-Timing")), Body: pretty(c.body.Bytes()),
	}
	var envelope struct{ Error json.RawMessage }
	t.OK = c.status == http.StatusOK && (c.over || json.Unmarshal(c.body.Bytes(), &envelope) == nil && envelope.Error == nil)
	if t.Credits == "" {
		t.Credits = "0"
	}
	return t
}

// pretty breaks JSON into lines; what is none, or was cut, stays as it is.
func pretty(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}

// nodeOf finds the node's name in Server-Timing.
func nodeOf(timing string) string {
	_, rest, found := strings.Cut(timing, "node;dur=")
	if !found {
		return ""
	}
	_, rest, _ = strings.Cut(rest, `desc="`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
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
