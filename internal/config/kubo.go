package config

import (
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"strings"
)

// maxEndpoints bounds the nodes of the engine kubo: each read may ask all of them.
const maxEndpoints = 16

// endpointSettings declares one node of the engine kubo.
var endpointSettings = schema[KuboEndpoint]{
	fields: []field[KuboEndpoint]{
		{
			name: "url",
			help: "URL of the node's RPC API, without `/api/v0`",
			at:   func(e *KuboEndpoint) value { return text(&e.URL, webURL) },
		}, {
			name: "headers_file",
			help: "file with headers for every request to the node, one on each line, as in `Authorization: Bearer TOKEN`",
			at:   func(e *KuboEndpoint) value { return text(&e.HeadersFile, anyText) },
		}, {
			name: "hide_trace", def: "false",
			help: "send the node no traceparent header; otherwise traced requests have one (see tracing.url)",
			at:   func(e *KuboEndpoint) value { return toggle(&e.HideTrace) },
		},
	},
}

// readEndpoints reads the nodes of the engine kubo.
func readEndpoints(l *loader, c *Config, path string, n node) {
	nodes, _ := l.items(path, n)
	if len(nodes) > maxEndpoints {
		l.fail(l.place(n), path, "has %d nodes; at most %d are allowed", len(nodes), maxEndpoints)
		return
	}
	list := make([]KuboEndpoint, len(nodes))
	for i, item := range nodes {
		l.src[endpointPath(i)] = l.place(item)
		readSection(l, &list[i], endpointSettings, endpointPath(i), "", item)
		list[i].URL = strings.TrimSuffix(strings.TrimSuffix(list[i].URL, "/"), "/api/v0")
	}
	c.Storage.Kubo.Endpoints = nil
	if len(list) > 0 {
		c.Storage.Kubo.Endpoints = list
	}
}

// endpointPath is the start of every path below one node.
func endpointPath(i int) string { return fmt.Sprintf("storage.kubo.endpoints[%d].", i) }

// checkKubo refuses nodes that would not be used, and copies that can't be made.
func (c *checker) checkKubo() {
	s := c.cfg.Storage
	switch n := len(s.Kubo.Endpoints); {
	case s.Engine == "kubo" && n == 0:
		c.failAt("storage.engine", "kubo needs the nodes that keep the content; list them in storage.kubo.endpoints")
	case s.Engine != "kubo" && n > 0:
		c.failAt("storage.kubo.endpoints", "are not used with storage.engine %s; set it to kubo, or remove them", s.Engine)
	case s.Engine == "kubo" && s.Kubo.Copies > n:
		c.failAt("storage.kubo.copies", "%d copies need as many endpoints, and %d are listed; lower it, or add endpoints", s.Kubo.Copies, n)
	}
	first := map[string]int{}
	for i, e := range s.Kubo.Endpoints {
		if e.URL == "" {
			c.failAt(endpointPath(i), "has no url; add url: to it")
		} else if j, twice := first[e.URL]; twice {
			c.failAt(endpointPath(i)+"url", "%q is already the URL of endpoint %d; list each node once", e.URL, j+1)
		}
		first[e.URL] = i
	}
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]{1,100}$`)

// errHeaders never repeats what the file holds.
var errHeaders = errors.New("it must hold lines such as Authorization: Bearer TOKEN")

// readHeaders reads the file with a node's headers.
func (s *settler) readHeaders(e *KuboEndpoint, path string) {
	if e.HeadersFile == "" {
		return
	}
	text, err := slurpSecret(e.HeadersFile)
	if err == nil {
		e.Headers, err = parseHeaders(text)
	}
	if err != nil {
		s.failAt(path, "%q can't be used: %s", e.HeadersFile, cause(err))
	}
}

func parseHeaders(text string) (map[string]Secret, error) {
	headers := map[string]Secret{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); !ok || !headerName.MatchString(name) || value == "" || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, errHeaders
		}
		headers[textproto.CanonicalMIMEHeaderKey(name)] = Secret(value)
	}
	if len(headers) == 0 {
		return nil, errHeaders
	}
	return headers, nil
}
