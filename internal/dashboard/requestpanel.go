package dashboard

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/dashboard/snippet"
	"github.com/nodegate/nodegate/internal/obs"
)

// requestPanel is one request with all that is kept of it.
type requestPanel struct {
	requestlog.Entry
	KeyName   string
	Explained string
	Close     string // the page without it

	Shown struct{ Params, Reply string } // in lines

	// Call tells whether the request can be sent again: it is a method of a network that is
	// served, and the key works.
	Call     bool
	Replay   string            // its parameters as they were; "" where they are not kept whole
	Snippets []snippet.Snippet // the same call in other clients
	Settings nodegate.KeySettings
}

// Tone is the color of its outcome.
func (p *requestPanel) Tone() string { return tone(p.Outcome) }

// Own is the time that nodegate took by itself.
func (p *requestPanel) Own() time.Duration { return max(0, p.Took-p.Waited) }

// panelOf shows a request of a key.
func panelOf(v *visit, e *requestlog.Entry, name string) (*requestPanel, error) {
	p := &requestPanel{Entry: *e, KeyName: name, Explained: explain(e.Outcome)}
	if e.Params != nil {
		p.Shown.Params = pretty(e.Params)
	}
	if e.Reply != nil {
		p.Shown.Reply = pretty(e.Reply)
	}
	k, err := v.cfg.Accounts.Key(v.req.Context(), v.account.ID, e.KeyID)
	if err != nil {
		return p, err
	}
	p.Settings = k.Settings
	networks := v.cfg.Networks()
	at := slices.IndexFunc(networks, func(n Network) bool { return n.Name == e.Network })
	if at < 0 || e.Method == obs.Other || !k.Live() {
		return p, nil
	}
	p.Call = true
	if e.Cut || !json.Valid(e.Params) {
		return p, nil
	}
	p.Replay = string(e.Params)
	p.Snippets, err = v.snippets.Call(keyless(v, e.Network, k), e.Method, p.Replay)
	return p, err
}

// keyless is a network as a key reaches it, up to the key.
func keyless(v *visit, network string, k *nodegate.Key) snippet.Endpoint {
	overHTTP, overWS := v.base()
	return snippet.Endpoint{Network: network, HTTP: overHTTP + "/" + network + "/v3/", WS: overWS + "/" + network + "/ws/v3/", Secret: k.Settings.SecretRequired}
}
