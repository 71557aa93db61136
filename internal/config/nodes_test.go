package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hidden has a secret wherever a node can hold one; each is called swordfish.
const hidden = `
networks:
  - name: main
    nodes:
      - url: https://user:swordfish@a.example/swordfish?key=swordfish
        ws: wss://user:swordfish@a.example/swordfish
        headers: {x-key: swordfish}
        proxy: http://user:swordfish@proxy.example:3128
      - {name: open, url: "http://b.example:8545"}
`

func TestNodeSecretsStayHidden(t *testing.T) {
	c := mustLoad(t, Options{File: write(t, t.TempDir(), hidden)})
	n := c.Networks[0].Nodes[0]
	if n.URL != "https://a.example/swordfish?key=swordfish" || n.Headers["Authorization"] != "Basic dXNlcjpzd29yZGZpc2g=" || n.Headers["X-Key"] != "swordfish" {
		t.Fatalf("the node reads as %q, %q", string(n.URL), fmt.Sprint(map[string]string{"a": string(n.Headers["Authorization"])}))
	}
	var out bytes.Buffer
	if err := Dump(&out, c); err != nil {
		t.Fatal(err)
	}
	marshalled, err := json.Marshal(c.Networks)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(marshalled)
	fmt.Fprintf(&out, "%v %+v %#v %s", c.Networks, n, n, n.URL)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "node", n, "url", n.URL)
	out.WriteString(fmt.Sprint(Diff(Default(), c), Diff(c, Default())))
	for _, secret := range []string{"swordfish", "dXNlcjpzd29yZGZpc2g"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s is shown in:\n%s", secret, &out)
		}
	}
	for _, want := range []string{"# url: https://a.example/[redacted]", `url: "http://b.example:8545"`, "# header X-Key: [redacted]", "# proxy: http://proxy.example:3128/[redacted]"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the dump lacks %q:\n%s", want, &out)
		}
	}
}

// TestNodeErrorsHideSecrets: what is wrong with an address or a header is said
// without repeating it.
func TestNodeErrorsHideSecrets(t *testing.T) {
	for _, node := range []string{
		"url: ftp://h/swordfish", "url: https://h/x#swordfish", "url: 'https://h/sword fish swordfish'", "url: swordfish",
		"{url: http://h, ws: http://h/swordfish}", "{url: http://h, headers: {X-A: \"swordfish\\nX-B: c\"}}", "{url: http://h, headers: {X-A: [swordfish]}}",
		"{url: 'http://u:swordfish@h', headers: {Authorization: swordfish}}", "{url: 'http://u:swordfish@h', ws: 'ws://u:swordfish2@h'}",
		"{url: 'http://u:sword%zzfish@h/swordfish'}", "https://h/swordfish", "{url: http://h, headers: {X-A: swordfish, x-a: swordfish}}",
		"{url: http://h, proxy: 'socks5://u:swordfish@h'}", "{url: http://h, proxy: 'http://u:swordfish@h/path'}", "{url: http://h, proxy: 'http://u:sword fish swordfish@h'}",
		"{url: http://h, proxy_file: secret}", "{url: http://h, proxy: 'http://u:swordfish@h', proxy_file: secret}",
		"{url: https://h, ca_file: secret}", "{url: https://h, cert_file: secret, key_file: secret}", "{url: http://h/swordfish, gzip: true, ca_file: secret}",
		"{url: http://h/swordfish, url_file: secret}", "{url_file: secret}", "{url: http://h, header_files: {X-A: secret-lines}}",
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"secret": "swordfish", "secret-lines": "swordfish\nswordfish"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Load(Options{File: write(t, dir, "networks:\n  - name: a\n    nodes:\n      - "+node+"\n")})
		if err == nil || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s: got %v", node, err)
		}
	}
}

func TestDiff(t *testing.T) {
	load := func(yaml string) *Config { return mustLoad(t, Options{File: write(t, t.TempDir(), yaml)}) }
	base := "networks: [{name: main, nodes: [{name: a, url: 'http://a/k1'}, {name: b, url: 'http://b'}]}]\n"
	for _, c := range []struct {
		name, from, to string
		want           []string
	}{
		{"nothing", base, base, nil},
		{"a setting", base, base + "limits: {node_timeout: 3s}\n", []string{"limits.node_timeout: 10s becomes 3s"}},
		{"a path that may be a key", base, strings.ReplaceAll(base, "k1", "k2"), []string{"networks.main.nodes.a.url: changed, secret"}},
		{"a node less", base, strings.ReplaceAll(base, ", {name: b, url: 'http://b'}", ""), []string{"networks.main.nodes.b: gone, was http://b"}},
		{"a node more", strings.ReplaceAll(base, ", {name: b, url: 'http://b'}", ""), base, []string{"networks.main.nodes.b: new, http://b"}},
		{"a role", base, strings.ReplaceAll(base, "url: 'http://b'", "url: 'http://b', role: backup"), []string{"networks.main.nodes.b.role: primary becomes backup", "networks.main.nodes.b.tier: 1 becomes 2"}},
		{"a network more", base, strings.ReplaceAll(base, "}]}]", "}]}, {name: dev, embedded: {}}]"), []string{"default_network: main becomes not set", "networks.dev: new, an embedded chain"}},
		{"a header", base, strings.ReplaceAll(base, "url: 'http://b'", "url: 'http://b', headers: {X-A: s}"), []string{"networks.main.nodes.b.headers.X-A: new, [redacted]"}},
		{"a cost and a plan", base, base + "costs: {eth_call: 1}\nplans: {pro: {}}\n", []string{"costs.eth_call: 80 becomes 1", "plans.pro: new, a plan"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, change := range Diff(load(c.from), load(c.to)) {
				got = append(got, change.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDiffEndpoints: a change of the storage nodes is told too, without their secrets.
func TestDiffEndpoints(t *testing.T) {
	from, to := Default(), Default()
	from.Storage.Kubo.Endpoints = []KuboEndpoint{{URL: "http://a", Headers: map[string]Secret{"X-A": "swordfish"}}}
	to.Storage.Kubo.Endpoints = []KuboEndpoint{{URL: "http://b", Headers: map[string]Secret{"X-A": "marlin"}}, {URL: "http://c"}}
	text := fmt.Sprint(Diff(from, to))
	for _, want := range []string{"endpoints.1.url: http://a becomes http://b", "endpoints.1.headers.X-A", "endpoints.2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	if strings.Contains(text, "swordfish") || strings.Contains(text, "marlin") || len(Diff(to, to)) != 0 {
		t.Errorf("%s shows a secret, or what has not changed", text)
	}
}

func TestFiles(t *testing.T) {
	dir := fullFolder(t)
	file := write(t, dir, strings.ReplaceAll(full, "KEY", "key.pem"))
	got := mustLoad(t, Options{File: file}).Files()
	if got[0] != file || !slices.Contains(got, filepath.Join(dir, "secrets", "node")) || !slices.Contains(got, filepath.Join(dir, "secrets", "ws")) || !slices.Contains(got, filepath.Join(dir, "secrets", "client-key")) || len(got) != 8 {
		t.Errorf("the files are %q", got)
	}
	if got := Default().Files(); len(got) != 0 {
		t.Errorf("no file reads as %q", got)
	}
}

// TestTiers: role and tier say the same, whichever is given.
func TestTiers(t *testing.T) {
	for node, want := range map[string]string{
		"": "primary 1", "role: backup": "backup 2", "tier: 1": "primary 1", "tier: 3": "backup 3", "role: backup, tier: 2": "backup 2",
		"role: backup, tier: 1": "contradicts", "role: primary, tier: 2": "contradicts", "tier: 4": "out of range", "weight: 0": "out of range",
	} {
		c, err := Load(Options{File: write(t, t.TempDir(), "networks: [{name: a, nodes: [{url: http://a}, {url: http://b, "+node+"}]}]\n")})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(c.Networks[0].Nodes[1].Role, " ", c.Networks[0].Nodes[1].Tier)
		}
		if !strings.Contains(got, want) {
			t.Errorf("{%s} is %s, want %s", node, got, want)
		}
	}
}

func TestNodeMethods(t *testing.T) {
	for methods, want := range map[string]string{
		`{only: ["eth_*"]}`: "[eth_*] []", `{not: [eth_getLogs, "debug_trace*"]}`: "[] [eth_getLogs debug_trace*]", "{}": "[] []",
		`{only: ["*"]}`: "not a pattern of methods", `{only: ["eth_*Logs"]}`: "not a pattern of methods", "{only: eth}": "must be a list", "{except: [eth_call]}": "unknown key networks[0].nodes[0].methods.except",
	} {
		c, err := Load(Options{File: write(t, t.TempDir(), "networks: [{name: a, nodes: [{url: http://a, methods: "+methods+"}]}]\n")})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(c.Networks[0].Nodes[0].Only, " ", c.Networks[0].Nodes[0].Not)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s is %s, want %s", methods, got, want)
		}
	}
}
