package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Dump writes a configuration as YAML that Load accepts again, with a comment on
// where each value came from. Secrets are named and not shown: their lines are
// comments, so that loading the dump can't mistake the placeholder for a secret.
func Dump(w io.Writer, c *Config) error {
	d := &dumper{src: c.src, ends: map[string]func(){}}
	d.ends["storage."] = func() { d.storageHosts(&c.Storage) }
	d.ends["storage.kubo."] = func() { d.endpoints(c.Storage.Kubo.Endpoints) }
	d.ends["admin."] = func() { d.line("hosts: %s%s", flow(c.Admin.Hosts), d.comment("admin.hosts")) }
	dumpFields(d, settings.fields, c, "")
	d.proxies(c.TrustedProxies)
	d.plans(c.Plans)
	d.costs(c.Costs)
	d.networks(c.Networks)
	_, err := w.Write(d.out.Bytes())
	return err
}

// dumper collects the text, so that a failing writer is one error at the end.
type dumper struct {
	out    bytes.Buffer
	src    map[string]source
	indent string
	ends   map[string]func() // writes the lists of a section behind its fields
}

func (d *dumper) line(format string, args ...any) {
	fmt.Fprintf(&d.out, d.indent+format+"\n", args...)
}

// dumpFields writes the fields of the table, opening a section when its first field
// comes. The fields of a section inside another one follow the outer one's.
func dumpFields[T any](d *dumper, fields []field[T], t *T, base string) {
	outer, section := d.indent, ""
	for _, f := range fields {
		if s := sectionOf(f.name); s != section {
			d.endSection(section)
			d.openSection(outer, section, s)
			section = s
		}
		key := strings.TrimPrefix(f.name, section)
		if f.secret {
			d.line("# %s: %s%s", key, redacted(f.at(t).String()), d.comment(base+f.name))
			continue
		}
		d.line("%s: %s%s", key, yamlText(f.at(t)), d.comment(base+f.name))
	}
	d.endSection(section)
	d.indent = outer
}

// openSection writes the heads of a section that follows another one.
func (d *dumper) openSection(outer, before, section string) {
	if inner, ok := strings.CutPrefix(section, before); ok && before != "" {
		d.line("%s:", strings.TrimSuffix(inner, "."))
		d.indent += "  "
		return
	}
	d.indent = outer
	d.line("%s:", strings.TrimSuffix(section, "."))
	d.indent = outer + "  "
}

func (d *dumper) endSection(section string) {
	if end := d.ends[section]; end != nil {
		end()
	}
}

// endpoints leaves out headers: the file that holds them is named.
func (d *dumper) endpoints(list []KuboEndpoint) {
	if len(list) == 0 {
		d.line("endpoints: []%s", d.comment("storage.kubo.endpoints"))
		return
	}
	d.line("endpoints:%s", d.comment("storage.kubo.endpoints"))
	for i, e := range list {
		d.line("  - url: %s%s", quote(e.URL), d.comment(endpointPath(i)+"url"))
		if e.HeadersFile != "" {
			d.line("    headers_file: %s%s", quote(e.HeadersFile), d.comment(endpointPath(i)+"headers_file"))
		}
		d.line("    hide_trace: %t%s", e.HideTrace, d.comment(endpointPath(i)+"hide_trace"))
	}
}

// comment says where a value came from, if that is known.
func (d *dumper) comment(path string) string {
	if d.src == nil {
		return ""
	}
	return " # " + d.src[path].String()
}

func (d *dumper) proxies(list []string) {
	d.line("trusted_proxies: %s%s", flow(list), d.comment("trusted_proxies"))
}

// redacted tells of a secret only whether it is there.
func redacted(text string) string {
	if text == "" {
		return "[not set]"
	}
	return "[redacted]"
}

// plans leaves out the plan that no file may redefine.
func (d *dumper) plans(plans map[string]Plan) {
	d.line("plans:%s", d.comment("plans"))
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		if name == unlimitedPlan {
			continue
		}
		p := plans[name]
		d.line("  %s:", quote(name))
		d.indent = "    "
		dumpFields(d, planSettings.fields, &p, planPath(name))
		d.indent = ""
	}
}

func (d *dumper) costs(costs map[string]int64) {
	d.line("costs:%s", d.comment("costs"))
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		d.line("  %s: %d%s", name, costs[name], d.comment("costs."+name))
	}
}

func (d *dumper) networks(networks []Network) {
	d.line("networks:%s", d.comment("networks"))
	for i := range networks {
		start := d.out.Len()
		d.indent = "    "
		d.network(&networks[i], networkPath(i))
		d.indent = ""
		// The first key of the element stands behind its dash.
		d.out.Bytes()[start+2] = '-'
	}
}

// network writes one element of networks. It leaves out what is absent, so that
// a section that was not there does not come back when the dump is loaded.
func (d *dumper) network(n *Network, base string) {
	var present []field[Network]
	for _, f := range networkSettings.fields {
		if n.shows(f) {
			present = append(present, f)
		}
	}
	dumpFields(d, present, n, base)
	d.nodes(n.Nodes, base)
	if len(n.HistoryWindow) > 0 {
		d.line("history_window:%s", d.comment(base+"history_window"))
		for _, method := range slices.Sorted(maps.Keys(n.HistoryWindow)) {
			d.line("  %s: %d", method, n.HistoryWindow[method])
		}
	}
	if len(n.Namespaces) > 0 {
		d.line("namespaces: %s%s", flow(n.Namespaces), d.comment(base+"namespaces"))
	}
}

// yamlText quotes every text: without quotes, some would read as another type.
func yamlText(v value) string {
	if v.kind() == kindText {
		return quote(v.String())
	}
	return v.String()
}

func flow(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote writes a JSON string, which is a YAML string too.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// nodes writes the nodes of a network. What may hold a provider's key is a comment.
func (d *dumper) nodes(nodes []Node, base string) {
	if len(nodes) == 0 {
		return
	}
	outer := d.indent
	d.line("nodes:%s", d.comment(base+"nodes"))
	for i := range nodes {
		start := d.out.Len()
		d.indent = outer + "    "
		d.node(&nodes[i], nodePath(base, i))
		d.out.Bytes()[start+len(outer)+2] = '-'
		d.indent = outer
	}
}

func (d *dumper) node(n *Node, base string) {
	for _, f := range nodeSettings.fields {
		switch v := f.at(n); {
		case v.String() == "":
		case !f.secret:
			d.line("%s: %s%s", f.name, yamlText(v), d.comment(base+f.name))
		default:
			d.address(f.name, NodeURL(v.String()), base)
		}
	}
	d.methods(n, base)
	d.headers(n, base)
}

// address shows all of an address that has nothing to hide, unless a file holds it.
func (d *dumper) address(name string, u NodeURL, base string) {
	if s := d.src[base+name+"_file"]; u.open() && s.origin == fromDefault {
		d.line("%s: %s%s", name, quote(string(u)), d.comment(base+name))
		return
	}
	d.line("# %s: %s", name, u)
}

func (d *dumper) headers(n *Node, base string) {
	for _, name := range slices.Sorted(maps.Keys(n.Headers)) {
		d.line("# header %s: [redacted]", name)
	}
	if len(n.HeaderFiles) == 0 {
		return
	}
	d.line("header_files:%s", d.comment(base+"header_files"))
	for _, name := range slices.Sorted(maps.Keys(n.HeaderFiles)) {
		d.line("  %s: %s", name, quote(n.HeaderFiles[name]))
	}
}
