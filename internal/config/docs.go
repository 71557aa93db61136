package config

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
)

// Setting describes one scalar setting for documentation and command lines.
type Setting struct {
	Name    string // dotted path in the file
	Env     string // environment variable
	Flag    string // with its dashes; "" when it has none
	Default string
	Allowed string // "" when any value is
	Secret  bool
	Help    string
}

// Settings lists the scalar settings in the order of the table.
func Settings() []Setting {
	scratch := &Config{}
	list := make([]Setting, len(settings.fields))
	for i, f := range settings.fields {
		list[i] = Setting{
			Name: f.name, Env: envName(f.name), Default: f.def, Secret: f.secret, Help: f.help,
			Allowed: f.at(scratch).allowed(),
		}
		if f.flag {
			list[i].Flag = flagName(f.name)
		}
	}
	return list
}

// WriteHelp writes the settings for a terminal.
func WriteHelp(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Settings of the file that --config names.\n" +
		"Precedence: flag, environment variable, file, default.\n\n")
	for _, s := range Settings() {
		fmt.Fprintf(&b, "  %s\n      %s\n      %s\n", s.Name, s.Help, strings.Join(s.facts(), "; "))
	}
	for _, g := range settings.groups {
		fmt.Fprintf(&b, "  %s\n      %s\n      only in the file\n", g.name, plain(g.help))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// facts are what the help says of a setting behind its sentence.
func (s Setting) facts() []string {
	facts := []string{s.Env}
	if s.Flag != "" {
		facts = append(facts, s.Flag)
	}
	if s.Default != "" {
		facts = append(facts, "default "+s.Default)
	}
	if s.Allowed != "" {
		facts = append(facts, plain(s.Allowed))
	}
	if s.Secret {
		facts = append(facts, "secret")
	}
	return facts
}

// plain drops the code marks that only Markdown needs.
func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

// WriteMarkdown writes docs/config.md.
func WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(docsHead)
	b.WriteString("| setting | variable | flag | default | allowed | what it is |\n|---|---|---|---|---|---|\n")
	for _, s := range Settings() {
		row(&b, code(s.Name), code(s.Env), code(s.Flag), code(s.Default), s.Allowed, s.Help)
	}
	b.WriteString("\nOnly in the file:\n\n| setting | what it is |\n|---|---|\n")
	for _, g := range settings.groups {
		row(&b, code(g.name), g.help)
	}
	writePlans(&b)
	writeCosts(&b)
	writeEndpoints(&b)
	b.WriteString(docsNetworks)
	b.WriteString("| setting | default | allowed | what it is |\n|---|---|---|---|\n")
	scratch := &Network{}
	for _, f := range networkSettings.fields {
		row(&b, code(f.name), code(f.def), f.at(scratch).allowed(), f.help)
	}
	for _, g := range networkSettings.groups {
		row(&b, code(g.name), "", "", g.help)
	}
	writeNodes(&b)
	fmt.Fprintf(&b, docsTail, codes(reservedNames), codes(method.Optional()), codes(method.Forbidden()), codes(windowMethods))
	_, err := io.WriteString(w, b.String())
	return err
}

func writeNodes(b *strings.Builder) {
	b.WriteString(docsNodes)
	b.WriteString("| setting | default | allowed | what it is |\n|---|---|---|---|\n")
	scratch := &Node{}
	for _, f := range nodeSettings.fields {
		row(b, code(f.name), code(f.def), f.at(scratch).allowed(), f.help)
	}
	for _, g := range nodeSettings.groups {
		row(b, code(g.name), "", "", g.help)
	}
}

func writePlans(b *strings.Builder) {
	b.WriteString(docsPlans)
	b.WriteString("| setting | `free` | allowed | what it is |\n|---|---|---|---|\n")
	free := builtinPlans()[freePlan]
	for _, f := range planSettings.fields {
		row(b, code(f.name), code(f.at(&free).String()), f.at(&free).allowed(), f.help)
	}
}

func writeCosts(b *strings.Builder) {
	b.WriteString(docsCosts)
	b.WriteString("| call | credits |\n|---|---|\n")
	costs := builtinCosts()
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		row(b, code(name), fmt.Sprint(costs[name]))
	}
}

func writeEndpoints(b *strings.Builder) {
	b.WriteString(docsEndpoints)
	b.WriteString("| setting | what it is |\n|---|---|\n")
	for _, f := range endpointSettings.fields {
		row(b, code(f.name), f.help)
	}
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func codes(names []string) string {
	marked := make([]string, len(names))
	for i, n := range names {
		marked[i] = code(n)
	}
	return strings.Join(marked, ", ")
}

const docsHead = `<!-- Generated from the table in internal/config: run ` + "`go test ./internal/config -update`" + `. -->
# Configuration

nodegate needs no configuration. What you change goes into one YAML file (` + "`--config FILE`, or `NODEGATE_CONFIG`" + `), into
environment variables, or into flags. Precedence: flag, environment variable, file, default.
` + "`nodegate config`" + ` prints what is in effect and where each value came from. The output is a configuration file without its secrets: they are
comments, and so is the ` + "`url`" + ` of a node that has a path, a query or a password in it. Fill those in before you use the file.

The file is strict: an unknown key, a duplicate key or a value of the wrong type is an error with its line and column.
nodegate reports all problems at once and exits with code 2 before it starts anything. Anchors, aliases, tags and
merge keys are not supported. An empty file is accepted at the start, with a warning in the log; a running server refuses one that becomes empty. An empty variable counts as not set; an unknown ` + "`NODEGATE_`" + ` variable is an error. nodegate ignores
the variables that Kubernetes creates for a service called nodegate.

Secrets are never shown, not even in errors. Keep them out of the file: use their variables, or the settings that end in
` + "`_file`" + ` and name a file that holds the secret alone. It is read at the start; spaces and line breaks around the secret are ignored.

Sizes are bytes or use ` + "`KiB`, `MiB`, `GiB`" + `; times have a unit, as in ` + "`500ms`, `5s`, `2m`" + `. File names in the file are relative
to its folder; ` + "`data`" + ` is relative to the working directory.

## Settings

`

const docsPlans = `
## Plans

` + "```yaml" + `
default_plan: starter
plans:
  starter:
    credits_per_second: 1000
    burst: 20000            # size of the bucket, in credits
    credits_per_day: 5000000
    stored_bytes: 10GiB     # in the storage gateway
  pro:
    self_service: true      # members can choose it on the Billing page
    needs_card: true        # if they have a valid billing card
    credits_per_day: 50000000
  internal: {}              # no limits except on the number of keys
` + "```" + `

Each account is on a plan; new ones are on ` + "`default_plan`" + `. A limit that is 0 is no limit, and so is one that is left out,
except ` + "`keys`" + `. Two plans are built in: ` + "`free`" + `, which a plan
of that name replaces as a whole, and ` + "`unlimited`" + `, which can't be changed. Limits that contradict each other are refused, and so is a plan
under which the most expensive method could never be called. A member can change the plan once an hour, also back to another one with ` + "`self_service`" + `. Keys and
stored files beyond a smaller plan's limits stay, but nothing can be added.

`

const docsCosts = `
## Costs

` + "`costs`" + ` sets the credits of methods, as in ` + "`costs: {" + method.EthGetLogs + ": 500, other: 100}`" + `; what it leaves out stays as below. 0 is free, the
most is 1000000000. ` + "`other`" + ` is the cost of every other known method, ` + "`unknown`" + ` of a method that doesn't exist, ` + "`refused`" + ` of a request that is refused
with a 4xx status other than 402 and 429.

`

const docsEndpoints = `
## Storage nodes

` + "```yaml" + `
storage:
  engine: kubo
  kubo:
    copies: 2               # on how many nodes each upload and each pin is kept
    fetch: false            # don't fetch from the public network
    endpoints:
      - url: http://10.0.0.5:5001
      - url: https://kubo.example.com
        headers_file: kubo-headers
` + "```" + `

With ` + "`storage.engine: kubo`" + ` content is on these nodes instead of in the data folder: see [storage.md](storage.md#engine-kubo). A node's URL has no
password in it. Put ` + "`Authorization: Basic ...`" + ` or ` + "`Authorization: Bearer ...`" + ` into a file that ` + "`headers_file`" + ` names.

`

const docsNetworks = `
## Networks

` + "```yaml" + `
networks:
  - name: compat            # host name label and path prefix
    dialect: standard       # spec | strict | standard
    embedded:
      genesis: genesis.json # optional; the built-in development chain otherwise
      chain: chain.rlp      # optional; imported at the first start
      period: 0             # seconds between blocks; 0 mines when a transaction arrives
    history_window: {` + method.EthGetTransactionReceipt + `: 128}
    layer2: {stack: linea, alias: linea}
    namespaces: [debug, txpool]
  - name: main
    nodes:                  # instead of embedded
      - url: http://10.0.0.5:8545
        ws: ws://10.0.0.5:8546
` + "```" + `

A list of networks replaces the built-in ones. With several networks and no ` + "`default_network`" + `, a URL without a network name
gets ` + "`unknown network`" + `. A network has an embedded chain or nodes, not both.

`

const docsNodes = `
### Nodes

` + "```yaml" + `
networks:
  - name: main
    chain_id: 1
    nodes:
      - name: geth-1
        url: http://10.0.0.5:8545
        ws: ws://10.0.0.5:8546
      - name: provider
        url_file: provider-url      # the URL contains a key, so it is in a separate file
        role: backup
        header_files: {X-Api-Key: provider-key}
        credits_per_second: 500
` + "```" + `

URLs and headers of nodes are secrets: ` + "`nodegate config`" + `, logs and errors show scheme and host at most. They, and nearly
everything else about networks of nodes, can be changed while the service runs: [nodes.md](nodes.md#reloading) says how.

`

const docsTail = `
Reserved names, because nodegate uses these paths itself: %s. ` + "`status`" + ` is for the status page: don't use it for new networks. A network
that has this name keeps working by path (` + "`/status/v3/API_KEY`" + `), also beside the page.

Namespaces that can be turned on: %s. Namespaces that can't: %s.

Methods that a history window can bound: %s.
`
