package apidoc

import "encoding/json"

// Service is what an OpenRPC document says about where the methods are.
type Service struct {
	Version string
	Servers []Server
	Credits func(method string) int64 // what a call costs
}

// Server is one address of one network.
type Server struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// The parts of an OpenRPC 1.3 document that are used here.
type (
	document struct {
		OpenRPC    string        `json:"openrpc"`
		Info       info          `json:"info"`
		Servers    []Server      `json:"servers,omitempty"`
		Methods    []rpcMethod   `json:"methods"`
		Components rpcComponents `json:"components"`
	}
	info struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Version     string `json:"version"`
	}
	rpcMethod struct {
		Name           string       `json:"name"`
		Summary        string       `json:"summary"`
		Description    string       `json:"description,omitempty"`
		Tags           []tag        `json:"tags"`
		ParamStructure string       `json:"paramStructure"`
		Params         []descriptor `json:"params"`
		Result         descriptor   `json:"result"`
		Errors         []rpcError   `json:"errors,omitempty"`
		Examples       []pairing    `json:"examples"`
		Credits        int64        `json:"x-credits"`
		Socket         bool         `json:"x-websocket-only,omitempty"`
	}
	tag struct {
		Name string `json:"name"`
	}
	descriptor struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		Required    bool   `json:"required,omitempty"`
		Schema      any    `json:"schema"`
	}
	rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	pairing struct {
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Params      []example `json:"params"`
		Result      example   `json:"result"`
	}
	example struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	}
	rpcComponents struct {
		Schemas map[string]any `json:"schemas"`
	}
)

// OpenRPC is the whole book as an OpenRPC document.
func (b *Book) OpenRPC(s Service) ([]byte, error) {
	d := document{
		OpenRPC: "1.3.2", Servers: s.Servers, Components: rpcComponents{b.schemas},
		Info: info{Title: "nodegate", Version: s.Version, Description: "JSON-RPC 2.0 to blockchain nodes, over HTTP and WebSocket. Everything in eth_, net_ and web3_ " +
			"that the node behind a network has is served; these are the methods that are described."},
	}
	for i := range b.Methods {
		m, err := b.method(&b.Methods[i])
		if err != nil {
			return nil, err
		}
		m.Credits = s.Credits(m.Name)
		d.Methods = append(d.Methods, m)
	}
	return json.Marshal(d)
}

func (b *Book) method(m *Method) (rpcMethod, error) {
	r := rpcMethod{
		Name: m.Name, Summary: m.Summary, Description: m.About, Tags: []tag{{m.Group}}, ParamStructure: "by-position",
		Params: []descriptor{}, Result: descriptor{Name: "result", Description: m.Result.What, Schema: Schema(m.Result.Type)}, Socket: m.Socket,
	}
	for _, p := range m.Params {
		r.Params = append(r.Params, descriptor{Name: p.Name, Description: p.What, Required: p.Required, Schema: Schema(p.Type)})
	}
	for _, f := range m.Errors {
		r.Errors = append(r.Errors, rpcError{f.Code, f.When})
	}
	var values []json.RawMessage
	if err := json.Unmarshal([]byte(m.Example.Params), &values); err != nil {
		return r, err
	}
	shown := pairing{Name: "example", Description: "on the built-in network " + m.Example.Network, Params: []example{}, Result: example{"result", b.Answer(m.Name)}}
	for i, v := range values {
		shown.Params = append(shown.Params, example{m.Params[i].Name, v})
	}
	r.Examples = []pairing{shown}
	return r, nil
}
