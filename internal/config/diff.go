package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is one difference between two configurations, without secrets.
type Change struct {
	Setting string // limits.node_timeout, networks.main.nodes.a.role
	From    string // "" where it is new
	To      string // "" where it is gone
}

// String is the change for a log line.
func (c Change) String() string {
	switch {
	case c.From == "":
		return c.Setting + ": new, " + c.To
	case c.To == "":
		return c.Setting + ": gone, was " + c.From
	case c.From == c.To:
		return c.Setting + ": changed, secret"
	}
	return c.Setting + ": " + c.From + " becomes " + c.To
}

// Diff lists what differs between two configurations. Networks, nodes and plans
// are matched by their names; one that is new or gone is one change.
func Diff(from, to *Config) []Change {
	a, b := flatten(from), flatten(to)
	var list []Change
	for _, path := range slices.Sorted(maps.Keys(a)) {
		old, now := a[path], b[path]
		if old.raw != now.raw && !inside(path, a, b) {
			list = append(list, Change{path, old.show(), now.show()})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(b)) {
		if _, known := a[path]; !known && !inside(path, a, b) {
			list = append(list, Change{path, "", b[path].show()})
		}
	}
	slices.SortStableFunc(list, func(x, y Change) int { return strings.Compare(x.Setting, y.Setting) })
	return list
}

// inside tells whether something that holds the path is new or gone as a whole.
func inside(path string, a, b map[string]flat) bool {
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		_, before := a[path[:i]]
		_, after := b[path[:i]]
		if before != after {
			return true
		}
	}
	return false
}

// flat is one value: as it is compared, and as it may be shown.
type flat struct{ raw, shown string }

// show is the value for a Change, in which "" means that there is none.
func (f flat) show() string {
	if f.raw != "" && f.shown == "" {
		return "not set"
	}
	return f.shown
}

// set is before a value, so that one that is there is never "".
const set = "="

func flatten(c *Config) map[string]flat {
	out := map[string]flat{}
	flattenFields(out, settings.fields, c, "")
	out["trusted_proxies"] = plainly(flow(c.TrustedProxies))
	out["admin.hosts"] = plainly(flow(c.Admin.Hosts))
	out["storage.hosts"] = plainly(flow(c.Storage.Hosts))
	out["storage.gateway_hosts"] = plainly(flow(c.Storage.GatewayHosts))
	for name, p := range c.Plans {
		out["plans."+name] = plainly("a plan")
		flattenFields(out, planSettings.fields, &p, "plans."+name+".")
	}
	for name, cost := range c.Costs {
		out["costs."+name] = plainly(fmt.Sprint(cost))
	}
	for i := range c.Networks {
		flattenNetwork(out, &c.Networks[i])
	}
	for i := range c.Storage.Kubo.Endpoints {
		flattenEndpoint(out, &c.Storage.Kubo.Endpoints[i], fmt.Sprintf("storage.kubo.endpoints.%d", i+1))
	}
	return out
}

func flattenEndpoint(out map[string]flat, e *KuboEndpoint, base string) {
	out[base] = flat{set, e.URL}
	out[base+".url"] = plainly(e.URL)
	if e.HideTrace {
		out[base+".hide_trace"] = plainly("true")
	}
	for name, value := range e.Headers {
		out[base+".headers."+name] = flat{set + string(value), value.String()}
	}
}

func plainly(text string) flat { return flat{set + text, text} }

func flattenFields[T any](out map[string]flat, fields []field[T], t *T, base string) {
	for _, f := range fields {
		text := f.at(t).String()
		if f.secret {
			out[base+f.name] = flat{set + text, redacted(text)}
			continue
		}
		out[base+f.name] = plainly(text)
	}
}

func flattenNetwork(out map[string]flat, n *Network) {
	kind := "an embedded chain"
	if len(n.Nodes) > 0 {
		kind = fmt.Sprintf("%d nodes", len(n.Nodes))
	}
	base := "networks." + n.Name
	out[base] = flat{set, kind} // how many there are is told one by one
	for _, f := range networkSettings.fields {
		if n.shows(f) {
			out[base+"."+f.name] = plainly(f.at(n).String())
		}
	}
	out[base+".namespaces"] = plainly(flow(n.Namespaces))
	out[base+".history_window"] = plainly(fmt.Sprint(n.HistoryWindow))
	for i := range n.Nodes {
		flattenNode(out, &n.Nodes[i], base+".nodes."+n.Nodes[i].Name)
	}
}

func flattenNode(out map[string]flat, n *Node, base string) {
	out[base] = flat{set, cmp.Or(n.URL, n.WS).String()}
	flattenFields(out, nodeSettings.fields, n, base+".")
	out[base+".url"] = flat{set + string(n.URL), n.URL.String()}
	out[base+".methods.only"] = plainly(flow(n.Only))
	out[base+".methods.not"] = plainly(flow(n.Not))
	out[base+".ws"] = flat{set + string(n.WS), n.WS.String()}
	flattenTransport(out, n, base)
	for name, value := range n.Headers {
		out[base+".headers."+name] = flat{set + string(value), value.String()}
	}
}
