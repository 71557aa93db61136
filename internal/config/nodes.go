package config

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// Bounds of what a network of remote nodes may list.
const (
	maxNodes       = 64
	maxHeaders     = 16
	maxHeaderBytes = 4 << 10
	maxChainID     = 1<<53 - 1 // what every JSON reader can tell apart
	remoteCache    = 64 << 20  // of a network that doesn't say
	minPoll        = 100 * time.Millisecond
	maxPoll        = 10 * time.Second // beyond it heads would count as silent
	embeddedCache  = 16 << 20         // the same; the chain answers the most by itself
)

// nodeSettings declares one element of a network's nodes.
var nodeSettings = schema[Node]{
	fields: []field[Node]{
		{
			name: "name",
			help: "node name in logs, metrics and headers; default: node-1, node-2 and so on",
			at:   func(n *Node) value { return text(&n.Name, nodeName) },
		}, {
			name: "url", secret: true,
			help: "JSON-RPC over HTTP; a node has this, ws or both. A user and password in it become an Authorization header",
			at:   func(n *Node) value { return nodeURL(&n.URL, nodeHTTP) },
		}, {
			name: "url_file",
			help: "file that holds the url",
			at:   func(n *Node) value { return text(&n.URLFile, anyText) },
		}, {
			name: "ws", secret: true,
			help: "JSON-RPC over WebSocket, for subscriptions; without it new blocks are polled",
			at:   func(n *Node) value { return nodeURL(&n.WS, nodeSocket) },
		}, {
			name: "ws_file",
			help: "file that holds ws",
			at:   func(n *Node) value { return text(&n.WSFile, anyText) },
		}, {
			name: "role", def: "primary",
			help: "a backup is used only while no primary is available",
			at:   func(n *Node) value { return text(&n.Role, oneOf("primary", "backup")) },
		}, {
			name: "tier", varies: true,
			help: "a node is used only while no node of a smaller tier can answer; by default 1 for a primary and 2 for a backup",
			at:   func(n *Node) value { return whole(&n.Tier, 1, 3) },
		}, {
			name: "weight", def: "1",
			help: "share of the calls among equally good nodes: a node with 3 gets three times as many as one with 1",
			at:   func(n *Node) value { return whole(&n.Weight, 1, 100) },
		}, {
			name: "credits_per_second", def: "0",
			help: "credit budget of the node a second, counted as under Costs; 0 is no limit",
			at:   func(n *Node) value { return whole(&n.CreditsPerSecond, 0, maxRate) },
		}, {
			name: "credits_per_day", def: "0",
			help: "credit budget of the node a UTC day, health checks included; a node that has used it up is not used until the next day. 0 is no limit",
			at:   func(n *Node) value { return whole(&n.CreditsPerDay, 0, maxCredits) },
		}, {
			name: "credits_per_month", def: "0",
			help: "the same for a UTC month",
			at:   func(n *Node) value { return whole(&n.CreditsPerMonth, 0, maxCredits) },
		}, {
			name: "max_log_range", def: "0",
			help: "most blocks that the node allows in one " + method.EthGetLogs + "; wider calls are split. 0 learns it from the node's errors",
			at:   func(n *Node) value { return whole(&n.MaxLogRange, 0, 10_000_000) },
		}, {
			name: "ca_file",
			help: "PEM file with the authorities that may sign the node's certificate, instead of the system's; for https:// and wss://",
			at:   func(n *Node) value { return text(&n.CAFile, anyText) },
		}, {
			name: "cert_file",
			help: "PEM file with the client certificate that the node requires, and its intermediates",
			at:   func(n *Node) value { return text(&n.CertFile, anyText) },
		}, {
			name: "key_file",
			help: "PEM file with the private key of cert_file",
			at:   func(n *Node) value { return text(&n.KeyFile, anyText) },
		}, {
			name: "proxy", secret: true,
			help: "HTTP proxy for all connections to the node, by CONNECT. A user and password in it become a Proxy-Authorization header. Proxies in environment variables are not used",
			at:   func(n *Node) value { return nodeURL(&n.Proxy, nodeProxy) },
		}, {
			name: "proxy_file",
			help: "file that holds proxy",
			at:   func(n *Node) value { return text(&n.ProxyFile, anyText) },
		}, {
			name: "gzip", def: "false",
			help: "ask the node for compressed responses over HTTP; it saves bandwidth and costs CPU time",
			at:   func(n *Node) value { return toggle(&n.Gzip) },
		}, {
			name: "hide_trace", def: "false",
			help: "send the node no traceparent header; otherwise calls of traced requests have one, over HTTP (see tracing.url)",
			at:   func(n *Node) value { return toggle(&n.HideTrace) },
		},
	},
	groups: []group[Node]{
		{
			name: "methods",
			help: "which methods the node gets, by patterns: `{only: [\"eth_*\"], not: [\"debug_*\", \"trace_*\"]}`; a star at the end stands for any rest. All by default",
			read: readNodeMethods,
		}, {
			name: "headers",
			help: "headers of every request to the node, by name: `{X-Api-Key: ...}`; their values are secrets",
			read: readHeaders,
		}, {
			name: "header_files",
			help: "files that hold the values of headers, by name: `{Authorization: node-token}`",
			read: readHeaderFiles,
		},
	},
}

// The rules of a node. The addresses are secrets: providers put keys into them.
var (
	nodeName   = rule{says: "`[a-zA-Z0-9_-]{1,32}`, unique in its network", check: checkNodeName}
	nodeHTTP   = rule{says: "a URL like https://host:port/path, without a fragment", check: checkNodeURL("http", "https")}
	nodeSocket = rule{says: "a URL like wss://host:port/path, without a fragment", check: checkNodeURL("ws", "wss")}
)

var (
	nodeNamePattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,32}$`)
	headerNamePattern = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,64}$")
)

// ourHeaders are written by the connection itself; a second value would break it.
var ourHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Sec-Websocket-Accept", "Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version",
}

func checkNodeName(s string) error {
	if !nodeNamePattern.MatchString(s) {
		return fmt.Errorf("%q is not a node's name; use 1 to 32 of a-z, A-Z, 0-9, _ and -", s)
	}
	return nil
}

func checkNodeURL(schemes ...string) func(string) error {
	return func(s string) error {
		u, err := url.Parse(s)
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" || u.Fragment != "" || strings.Contains(s, "#") || spaced(s) || !goodPort(u.Host) {
			return errForm
		}
		return nil
	}
}

// readNodes reads the nodes of a network.
func readNodes(l *loader, t *Network, path string, n node) {
	items, ok := l.items(path, n)
	switch {
	case !ok:
		return
	case len(items) == 0:
		l.fail(l.place(n), path, "is empty; list a node, as in - url: http://127.0.0.1:8545")
		return
	case len(items) > maxNodes:
		l.fail(l.place(n), path, "lists %d nodes; a network has at most %d", len(items), maxNodes)
		return
	}
	t.Nodes = make([]Node, len(items))
	for i, item := range items {
		base := fmt.Sprintf("%s[%d].", path, i)
		l.src[base] = l.place(item)
		readSection(l, &t.Nodes[i], nodeSettings, base, "", item)
	}
}

func readHeaders(l *loader, t *Node, path string, n node) {
	t.Headers = map[string]Secret{}
	readHeaderMap(l, path, n, func(name, text string) bool {
		if _, twice := t.Headers[name]; twice || !headerValue(text) {
			return false
		}
		t.Headers[name] = Secret(text)
		return true
	})
}

func readHeaderFiles(l *loader, t *Node, path string, n node) {
	t.HeaderFiles = map[string]string{}
	readHeaderMap(l, path, n, func(name, text string) bool {
		if _, twice := t.HeaderFiles[name]; twice || text == "" {
			return false
		}
		t.HeaderFiles[name] = text
		return true
	})
}

// readHeaderMap reads names and texts. A text may be a secret: no message repeats it.
func readHeaderMap(l *loader, path string, n node, put func(name, text string) bool) {
	pairs, _ := l.pairs(path, n)
	if len(pairs) > maxHeaders {
		l.fail(l.place(n), path, "has %d headers; at most %d are sent", len(pairs), maxHeaders)
		return
	}
	for _, p := range pairs {
		name := http.CanonicalHeaderKey(p.key)
		if err := checkHeaderName(name); err != nil {
			l.fail(l.place(p.keyNode), path, "%v", err)
			continue
		}
		text, err := scalar(p.value, kindText)
		switch {
		case err != nil:
			l.fail(l.place(p.value), path+"."+name, "%v", err)
		case !put(name, text):
			l.fail(l.place(p.value), path+"."+name, "can't be used: the header is set twice, or its value is empty, too long or not one line of ASCII. What was given may be secret and is not shown")
		default:
			l.src[path+"."+name] = l.place(p.value)
		}
	}
}

func checkHeaderName(name string) error {
	if !headerNamePattern.MatchString(name) {
		return fmt.Errorf("%q is not a header's name", name)
	}
	if slices.Contains(ourHeaders, name) {
		return fmt.Errorf("%s is written by the connection itself; remove it", name)
	}
	return nil
}

// headerValue takes one line of visible ASCII with spaces.
func headerValue(s string) bool {
	return s != "" && len(s) <= maxHeaderBytes && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func (s *settler) settleNodePaths(n *Network, at string) {
	for j := range n.Nodes {
		node, at := &n.Nodes[j], nodePath(at, j)
		s.settlePath(at+"url_file", &node.URLFile)
		s.settlePath(at+"ws_file", &node.WSFile)
		s.settlePath(at+"ca_file", &node.CAFile)
		s.settlePath(at+"cert_file", &node.CertFile)
		s.settlePath(at+"key_file", &node.KeyFile)
		s.settlePath(at+"proxy_file", &node.ProxyFile)
		for name, file := range node.HeaderFiles {
			s.settlePath(at+"header_files."+name, &file)
			node.HeaderFiles[name] = file
		}
	}
}

// defaultCache is the cache of a network that doesn't say. evm_revert takes blocks back,
// so a chain that offers it has none.
func (n *Network) defaultCache() Size {
	switch {
	case len(n.Nodes) > 0:
		return remoteCache
	case n.Embedded == nil || slices.Contains(n.Namespaces, method.SpaceEVM):
		return 0
	}
	return embeddedCache
}

// settleRemote fills in the cache's default, the nodes' names and what stands in files.
func (s *settler) settleRemote(i int) {
	n, at := &s.cfg.Networks[i], networkPath(i)
	if s.src[at+"cache"].origin == fromDefault {
		n.Cache = n.defaultCache()
	}
	s.settleLedger(n, at)
	for j := range n.Nodes {
		node, at := &n.Nodes[j], nodePath(at, j)
		if node.Name == "" {
			node.Name = fmt.Sprintf("node-%d", j+1)
		}
		s.settleTier(node, at)
		s.readNodeSecret(node, at, "url")
		s.readNodeSecret(node, at, "ws")
		s.readNodeSecret(node, at, "proxy")
		s.readNodeTLS(node, at)
		s.readHeaderSecrets(node, at)
		s.settleUser(node, at)
	}
}

// settleTier brings role and tier together: a backup is a node of the second tier or a later one.
func (s *settler) settleTier(n *Node, at string) {
	given := s.src[at+"tier"].origin != fromDefault
	switch {
	case !given && n.Role == "backup":
		n.Tier = 2
	case !given:
		n.Tier = 1
	case s.src[at+"role"].origin == fromDefault && n.Tier > 1:
		n.Role = "backup"
	case (n.Role == "backup") != (n.Tier > 1):
		s.failAt(at+"tier", "%d contradicts role: %s; remove one of them", n.Tier, n.Role)
	}
}

// readNodeSecret reads an address that stands in a file of its own.
func (s *settler) readNodeSecret(n *Node, at, name string) {
	f, _ := nodeSettings.field(name)
	place, _ := nodeSettings.field(name + "_file")
	file, v := place.at(n).String(), f.at(n)
	switch {
	case file == "":
		return
	case v.String() != "":
		s.failAt(at+name+"_file", "%s and %s_file exclude each other; remove one of them", name, name)
		return
	}
	s.fromFile(at+name+"_file", file, v.allowed(), v.set)
}

func (s *settler) readHeaderSecrets(n *Node, at string) {
	for _, name := range slices.Sorted(maps.Keys(n.HeaderFiles)) {
		path := at + "header_files." + name
		if _, twice := n.Headers[name]; twice {
			s.failAt(path, "the header is also set under headers; remove one of them")
			continue
		}
		s.fromFile(path, n.HeaderFiles[name], "one line of ASCII", func(text string) error {
			if !headerValue(text) {
				return errForm
			}
			n.setHeader(name, text)
			return nil
		})
	}
}

func (n *Node) setHeader(name, value string) {
	if n.Headers == nil {
		n.Headers = map[string]Secret{}
	}
	n.Headers[name] = Secret(value)
}

// settleUser takes a user and password out of the addresses and makes the header
// of them that they stand for.
func (s *settler) settleUser(n *Node, at string) {
	var basic string
	for _, p := range []*NodeURL{&n.URL, &n.WS} {
		u, err := url.Parse(string(*p))
		if err != nil || u.User == nil {
			continue
		}
		password, _ := u.User.Password()
		header := "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
		if basic != "" && basic != header {
			s.failAt(at+"ws", "url and ws have different users; give both the same, or make two nodes of them")
			return
		}
		u.User = nil
		basic, *p = header, NodeURL(u.String())
	}
	if basic == "" {
		return
	}
	if _, twice := n.Headers["Authorization"]; twice {
		s.failAt(at, "has a user in its address and an Authorization header; remove one of them")
		return
	}
	n.setHeader("Authorization", basic)
}

// checkRemote makes the checks of a network of nodes.
func (c *checker) checkRemote(i int) {
	n, at := c.cfg.Networks[i], networkPath(i)
	first, primaries := map[string]int{}, 0
	for j, node := range n.Nodes {
		at := nodePath(at, j)
		if other, twice := first[node.Name]; twice {
			c.failAt(at, "%q is the name of node %d of the network already; choose another", node.Name, other+1)
		}
		first[node.Name] = j
		if node.URL == "" && node.URLFile == "" && node.WS == "" && node.WSFile == "" {
			c.failAt(at, "has no address; add url: or ws: to it, or url_file: or ws_file:")
		}
		c.checkNodeTransport(&node, at)
		if node.Role == "primary" {
			primaries++
		}
	}
	if primaries == 0 {
		c.failAt(at+"nodes", "every node is a backup; make at least one of them primary")
	}
	if n.Poll > 0 && n.Poll < minPoll {
		c.failAt(at+"poll", "%s is too often; use %s or more, or 0s to follow the time between blocks", n.Poll, minPoll)
	}
	c.checkLedger(&n, at)
	c.checkVerify(&n, at)
	if n.MaxHeadAge < 2*n.Poll {
		c.failAt(at+"max_head_age", "%s is less than two polls of a node take, one every %s; use %s or more, or a shorter poll", n.MaxHeadAge, n.Poll, 2*n.Poll)
	}
	if slices.Contains(n.Namespaces, method.SpaceEVM) {
		c.failAt(at+"namespaces", "evm is for embedded chains: it would let callers rewind the nodes; remove it")
	}
	if n.Layer2 == nil {
		return
	}
	c.checkFile(at+"layer2.dictionary", n.Layer2.Dictionary)
	if c.src[at+"layer2.stack"].origin == fromDefault {
		c.failAt(at+"layer2", "needs stack: which rollup do the nodes serve? One of linea, op, arbitrum, zksync or scroll")
	}
}

// checkVerify makes the checks of what a network proves.
func (c *checker) checkVerify(n *Network, at string) {
	c.checkFile(at+"verify_genesis", n.Genesis)
	switch {
	case n.Verify != VerifyNone && n.Layer2 != nil && noProofs(n.Layer2.Stack):
		c.failAt(at+"verify", "%s has state that is not in Ethereum's tries, so nodegate can't prove it; remove the setting", n.Layer2.Stack)
	case n.Verify == VerifyExecution && n.Layer2 != nil:
		c.failAt(at+"verify", "%s executes by other rules than Ethereum, so nodegate can't execute calls of it; use state", n.Layer2.Stack)
	case n.Verify == VerifyExecution && n.ChainID == 0:
		c.failAt(at+"verify", "execution needs chain_id, because it says which forks apply")
	case n.Verify == VerifyExecution && n.Genesis == "" && !slices.Contains(knownChains, n.ChainID):
		c.failAt(at+"verify", "nodegate doesn't know the forks of chain %d; add verify_genesis: with the chain's genesis file", n.ChainID)
	}
}

// knownChains are the chains whose forks are known: Ethereum mainnet, Sepolia and Hoodi.
var knownChains = []uint64{1, 11155111, 560048}

// noProofs tells whether the state of a stack can't be proven.
func noProofs(stack string) bool { return stack == "zksync" || stack == "scroll" }

// nodePath is the start of every path below one node of a network.
func nodePath(network string, j int) string { return fmt.Sprintf("%snodes[%d].", network, j) }
