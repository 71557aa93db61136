package snippet

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// call is one request to an endpoint. Its address ends where the key follows: what somebody
// copies from a request can be shown around, so the key is read from the environment as KEY.
type call struct {
	Endpoint
	Method string
	Params string // one JSON value, in one line
	Body   string // the whole envelope
}

// Call are the snippets that send one request: what somebody saw in the dashboard, in the
// client of their own. The endpoint's addresses are without the key.
func (s *Set) Call(e Endpoint, method, params string) ([]Snippet, error) {
	c, err := newCall(e, method, params)
	if err != nil {
		return nil, err
	}
	return s.fill(c, []Snippet{
		{ID: "call-curl", Name: "curl", Language: "sh"},
		{ID: "call-viem", Name: "viem", Language: "js", Needs: "npm install viem", File: "call.mjs", Run: "node call.mjs"},
		{ID: "call-ethers", Name: "ethers", Language: "js", Needs: "npm install ethers", File: "call.mjs", Run: "node call.mjs"},
		{ID: "call-cast", Name: "cast", Language: "sh", Needs: "foundryup"},
	})
}

// Follow is the command that prints what a subscription tells, for an hour.
func (s *Set) Follow(e Endpoint, method, params string) (string, error) {
	c, err := newCall(e, method, params)
	if err != nil {
		return "", err
	}
	list, err := s.fill(c, []Snippet{{ID: "follow-wscat", Name: "wscat", Language: "sh", Needs: "npm install -g wscat"}})
	if err != nil {
		return "", err
	}
	return list[0].Text, nil
}

func newCall(e Endpoint, method, params string) (*call, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(params)); err != nil {
		return nil, fmt.Errorf("snippet: %w", err)
	}
	name, err := jsQuote(method)
	if err != nil {
		return nil, fmt.Errorf("snippet: %w", err)
	}
	c := &call{Endpoint: e, Method: method, Params: line.String()}
	c.Body = `{"jsonrpc":"2.0","id":1,"method":` + name + `,"params":` + c.Params + `}`
	return c, nil
}
