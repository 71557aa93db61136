package edge

import (
	"maps"
	"slices"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/obs"
)

// site is what is served at one moment. It is replaced as a whole, so that a
// request sees one configuration from its start to its end.
type site struct {
	networks map[string]*network
	fallback string // the network of addresses that name none; "" is none
}

// network is a network with what is known of its methods.
type network struct {
	nodegate.Network
	methods map[string]*methodEntry
	other   *obs.Method
	costs   *nodegate.Costs

	eventCost int64
	gone      chan struct{} // closed when the network is served no more
}

// methodEntry keeps a method's name, so that a request's bytes need not become a
// new string each time.
type methodEntry struct {
	name    string // as it was called
	rule    string // as limits, allowlists and usage know it: an alias is what it stands for
	counted string // in metrics and usage; "other" where it is not counted by itself
	cost    int64
	draws   bool // it may take more of its account while it is executed
	metrics *obs.Method
}

// shown is the method's name for people.
func (m *methodEntry) shown() string {
	if m.rule == "" {
		return m.name
	}
	return m.rule
}

// Serve replaces what is served. Requests in progress end with what they began with.
// The WebSockets of a network that is gone, or has another Node, are closed with
// 1012; those of the others stay.
func (e *Edge) Serve(networks []nodegate.Network, defaultNetwork string, costs nodegate.Costs) {
	next, last := &site{networks: map[string]*network{}, fallback: defaultNetwork}, e.site.Load()
	if last == nil {
		last = &site{}
	}
	for _, n := range networks {
		made := e.network(n, &costs)
		if old, ok := last.networks[n.Name]; ok && old.Node == n.Node {
			made.gone = old.gone
		}
		next.networks[n.Name] = made
	}
	e.site.Store(next)
	for _, name := range slices.Sorted(maps.Keys(last.networks)) {
		old := last.networks[name]
		if now, ok := next.networks[name]; !ok || now.gone != old.gone {
			close(old.gone)
		}
	}
}

func (e *Edge) network(n nodegate.Network, costs *nodegate.Costs) *network {
	net := &network{
		Network: n, methods: map[string]*methodEntry{}, costs: costs, eventCost: costs.Methods[method.EthSubscription], gone: make(chan struct{}),
		other: e.cfg.Metrics.Method(n.Name, obs.Other),
	}
	for _, name := range e.cfg.Methods {
		m := &methodEntry{name: name, rule: name, counted: name, cost: costs.Of(name, true), draws: draws(name), metrics: e.cfg.Metrics.Method(n.Name, name)}
		net.methods[name] = m
		if alias := method.Of(name).Alias(n.Alias); alias != "" {
			also := *m
			also.name = alias
			net.methods[alias] = &also
		}
	}
	return net
}

// method finds a method's entry without making a string of a known name.
func (n *network) method(name []byte) methodEntry {
	if m, ok := n.methods[string(name)]; ok {
		return *m
	}
	text := string(name)
	return methodEntry{name: text, rule: text, counted: obs.Other, cost: n.costs.Of(text, false), draws: draws(text), metrics: n.other}
}

// current is the network as it is served now: its prices may have changed since a
// WebSocket was opened.
func (s *site) current(n *network) *network {
	if now, ok := s.networks[n.Name]; ok && now.gone == n.gone {
		return now
	}
	return n
}
