package apidoc

import (
	"encoding/json"
	"maps"
	"slices"
)

// Service is what an OpenRPC document says about where the methods are.
type Service struct {
	Version string
	Servers []Server
	Credits func(method string) int64 // what a call costs
}

// Server is one address of one network, and which methods the network has.
type Server struct {
	Name string `json:"name"`
	URL  string `json:"url"`

	Embedded   bool     `json:"-"`
	Layer2     bool     `json:"-"`
	Alias      string   `json:"-"` // the second prefix of its layer-2 methods, or ""
	Namespaces []string `json:"-"` // those that it has turned on
}

// has tells whether the network serves a method.
func (s *Server) has(m *Method) bool {
	space := m.OptionalNamespace()
	switch {
	case m.Layer2():
		return s.Layer2
	case m.Scoped:
		return s.Embedded
	case space != "":
		return slices.Contains(s.Namespaces, space)
	}
	return !m.Remote || !s.Embedded
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
		Servers        []Server     `json:"servers,omitempty"` // where not all have it
		ParamStructure string       `json:"paramStructure"`
		Params         []descriptor `json:"params"`
		Result         descriptor   `json:"result"`
		Errors         []rpcError   `json:"errors,omitempty"`
		Examples       []pairing    `json:"examples"`
		Credits        int64        `json:"x-credits"`
		Socket         bool         `json:"x-websocket-only,omitempty"`
		AliasOf        string       `json:"x-alias-of,omitempty"`
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

// OpenRPC is an OpenRPC document of the methods that the networks serve, under all of
// their names.
func (b *Book) OpenRPC(s Service) ([]byte, error) {
	d := document{
		OpenRPC: "1.3.2", Servers: s.Servers, Components: rpcComponents{b.schemas},
		Info: info{Title: "nodegate", Version: s.Version, Description: "JSON-RPC 2.0 to blockchain nodes, over HTTP and WebSocket. Other eth_, net_ and web3_ methods " +
			"are passed to the network's node."},
	}
	for i := range b.Methods {
		m, err := b.method(&b.Methods[i])
		if err != nil {
			return nil, err
		}
		m.Credits = s.Credits(m.Name)
		d.Methods = append(d.Methods, s.served(m, &b.Methods[i])...)
	}
	return json.Marshal(d)
}

// served is a method as the networks serve it: by its own name and by the aliases that
// they have for it; nothing where none has it.
func (s *Service) served(m rpcMethod, row *Method) (list []rpcMethod) {
	var own []Server
	aliases := map[string][]Server{}
	for _, at := range s.Servers {
		if !at.has(row) {
			continue
		}
		own = append(own, at)
		if alias := row.Alias(at.Alias); alias != "" {
			aliases[alias] = append(aliases[alias], at)
		}
	}
	if len(own) == 0 {
		return nil
	}
	if len(own) < len(s.Servers) {
		m.Servers = own
	}
	list = append(list, m)
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		also := m
		also.Name, also.AliasOf, also.Servers = alias, m.Name, aliases[alias]
		list = append(list, also)
	}
	return list
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
	where := "on the built-in network " + m.Example.Network
	if m.Remote {
		where = "on a network whose nodes support it"
	}
	shown := pairing{Name: "example", Description: where, Params: []example{}, Result: example{"result", b.Answer(m.Name)}}
	for i, v := range values {
		shown.Params = append(shown.Params, example{m.Params[i].Name, v})
	}
	r.Examples = []pairing{shown}
	return r, nil
}
