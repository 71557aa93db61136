package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodegate/nodegate/internal/spelling"
)

var update = flag.Bool("update", false, "rewrite docs/config.md")

const docsPage = "../../docs/config.md"

func TestDocsPage(t *testing.T) {
	var b bytes.Buffer
	if err := WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(docsPage, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("docs/config.md is not what the table says; run go test ./internal/config -update (-want +got):\n%s", diff)
	}
}

// TestDocsExample loads the example of the page, so that it can be pasted.
func TestDocsExample(t *testing.T) {
	dir := folder(t, "genesis.json", "chain.rlp")
	if err := os.WriteFile(filepath.Join(dir, "kubo-headers"), []byte("authorization: Basic eDp5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, Options{File: write(t, dir, example(t, docsNetworks)+example(t, docsPlans)+example(t, docsEndpoints))})
	if k := c.Storage.Kubo; c.Storage.Engine != "kubo" || k.Copies != 2 || k.Fetch || len(k.Endpoints) != 2 || k.Endpoints[1].Headers["Authorization"] != "Basic eDp5" {
		t.Errorf("the example reads as %+v", k)
	}
	if len(c.Networks) != 2 || c.Networks[0].Name != "compat" || len(c.Networks[1].Nodes) != 1 || c.Networks[0].Layer2.Alias != "linea" {
		t.Errorf("the example reads as %+v", c.Networks)
	}
	if len(c.Plans) != 5 || c.DefaultPlan != "starter" || c.Plans["starter"].Burst != 20_000 || !c.Plans["pro"].SelfService || !c.Plans["pro"].NeedsCard {
		t.Errorf("the example reads as %+v", c.Plans)
	}
}

func example(t *testing.T, page string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "```yaml\n")
	text, _, end := strings.Cut(rest, "```")
	if !ok || !end {
		t.Fatal("no example in the page")
	}
	return text
}

// TestTable checks what every row promises.
func TestTable(t *testing.T) {
	name, seen := regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+){0,2}$`), map[string]bool{}
	for _, s := range Settings() {
		if !name.MatchString(s.Name) || seen[s.Env] || s.Help == "" {
			t.Errorf("row %+v: bad name, taken variable or no help", s)
		}
		seen[s.Env] = true
		if foreign(s.Env, "x") || foreign(s.Env, "tcp://x") {
			t.Errorf("%s would be taken for somebody else's variable", s.Env)
		}
	}
	for _, f := range networkSettings.fields {
		if !name.MatchString(f.name) || f.help == "" {
			t.Errorf("network row %s: bad name or no help", f.name)
		}
	}
	for _, f := range nodeSettings.fields {
		if !name.MatchString(f.name) || f.help == "" {
			t.Errorf("node row %s: bad name or no help", f.name)
		}
	}
	for _, f := range planSettings.fields {
		if !name.MatchString(f.name) || f.help == "" {
			t.Errorf("plan row %s: bad name or no help", f.name)
		}
	}
	for _, f := range settings.fields {
		if f.secret && (f.flag || f.at(&Config{}).allowed() == "") {
			t.Errorf("the secret %s has a flag, or no form to name in an error", f.name)
		}
	}
}

// TestEveryFieldHasARow finds a field of Config that no row writes to: the full
// file changes everything, so nothing may be left at its default.
func TestEveryFieldHasARow(t *testing.T) {
	dir := fullFolder(t)
	c := mustLoad(t, Options{File: write(t, dir, strings.ReplaceAll(full, "KEY", "key.pem")), Env: []string{"NODEGATE_PEPPER=" + thirtyTwo}})
	unchanged(t, reflect.ValueOf(*c), reflect.ValueOf(*Default()), "Config")
}

func unchanged(t *testing.T, got, def reflect.Value, path string) {
	t.Helper()
	for i := range got.NumField() {
		field := got.Type().Field(i)
		at := path + "." + field.Name
		switch {
		case !field.IsExported():
		case field.Type.Kind() == reflect.Struct:
			unchanged(t, got.Field(i), def.Field(i), at)
		case reflect.DeepEqual(got.Field(i).Interface(), def.Field(i).Interface()):
			t.Errorf("%s has its default value", at)
		}
	}
}

func TestHelpNamesEverySetting(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHelp(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range Settings() {
		for _, want := range []string{s.Name, s.Env, s.Flag, s.Default, s.Help} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the help of %s lacks %q", s.Name, want)
			}
		}
	}
}

func TestDumpRoundTrip(t *testing.T) {
	dir := fullFolder(t)
	file := write(t, dir, strings.ReplaceAll(full, "KEY", "key.pem"))
	odd := map[string]string{"data": "a \"b\" \\ 'c' # é\t1"}
	for name, opts := range map[string]Options{
		"defaults":  {},
		"full":      {File: file},
		"overrides": {File: file, Env: []string{"NODEGATE_LIMITS_CALL_TIMEOUT=2m", "NODEGATE_MEMORY_STATE=1048577"}, Flags: odd},
		"secrets":   {Env: []string{"NODEGATE_PEPPER=" + thirtyTwo, "NODEGATE_STORE_POSTGRES=postgres:///db?host=/run", "NODEGATE_REDIS_URL=rediss://h"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := mustLoad(t, opts)
			var dump bytes.Buffer
			if err := Dump(&dump, want); err != nil {
				t.Fatal(err)
			}
			got := mustLoad(t, Options{File: write(t, t.TempDir(), dump.String()), Env: secretEnv(want)})
			if diff := cmp.Diff(want, got, plainData); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, &dump)
			}
		})
	}
}

// secretEnv hands over the secrets that a dump leaves out, unless it names their files.
func secretEnv(c *Config) []string {
	var env []string
	for _, f := range settings.fields {
		file, has := settings.field(f.name + "_file")
		if f.secret && !(has && file.at(c).String() != "") {
			env = append(env, envName(f.name)+"="+f.at(c).String())
		}
	}
	return env
}

func TestDumpSaysWhere(t *testing.T) {
	file := write(t, t.TempDir(), "log:\n  level: warn\n")
	c := mustLoad(t, Options{File: file, Env: []string{"NODEGATE_LISTEN=:1"}, Flags: map[string]string{"data": "d"}})
	var b bytes.Buffer
	if err := Dump(&b, c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`data: "d" # flag --data`, `listen: ":1" # environment NODEGATE_LISTEN`,
		`  level: "warn" # ` + file + `:2:10`, `  format: "text" # default`, "networks: # default\n  - name: \"devnet\"",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the dump lacks %q:\n%s", want, &b)
		}
	}
}

// TestSecrets uses a row of its own, whose check repeats what it was given.
func TestSecrets(t *testing.T) {
	repeats := rule{says: "a word", check: oneOf("hunter2").check}
	row := field[Config]{name: "log.token", secret: true, help: "x", at: func(c *Config) value {
		return text(&c.Log.Format, repeats)
	}}
	l := newLoader(Options{})
	assign(l, row, l.cfg, row.name, source{origin: fromEnv, name: envName(row.name)}, "swordfish")
	if msg := l.errs.Error(); strings.Contains(msg, "swordfish") || strings.Contains(msg, "hunter2") || !strings.Contains(msg, "NODEGATE_LOG_TOKEN") {
		t.Errorf("the error shows the secret or not the variable: %s", msg)
	}

	assign(l, row, l.cfg, row.name, source{origin: fromEnv, name: envName(row.name)}, "hunter2")
	d := &dumper{src: l.src}
	dumpFields(d, []field[Config]{row}, l.cfg, "")
	if got, want := d.out.String(), "log:\n  # token: [redacted] # environment NODEGATE_LOG_TOKEN\n"; got != want {
		t.Errorf("the dump is %q, want %q", got, want)
	}
	mustLoad(t, Options{File: write(t, t.TempDir(), d.out.String())})
}

// TestSyntaxErrorHidesTheFile keeps the parser's excerpt out of the message.
func TestSyntaxErrorHidesTheFile(t *testing.T) {
	_, err := Load(Options{File: write(t, t.TempDir(), "password: swordfish\nlisten: [\n")})
	if err == nil || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("got %v", err)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "1023": 1023, "1KiB": 1 << 10, "5MiB": 5 << 20, "5 MiB": 5 << 20, "3GiB": 3 << 30, "1TiB": 1 << 40,
	} {
		got, err := parseSize(text)
		if err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
		if again, err := parseSize(got.String()); err != nil || again != got {
			t.Errorf("%q reads back as %d, %v", got.String(), again, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "+1", "5MB", "5mib", "1.5MiB", "0x10", "5 MiB ", "9999999TiB", "99999999999999999999", "5  MiB"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", text, got)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"listen", "log", "limits", "memory"}
	for name, want := range map[string]string{"lisen": "listen", "limit": "limits", "lgo": "log", "xyz": "", "network": "", "memroy": "memory"} {
		if got := spelling.Nearest(name, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// FuzzLoad feeds files to the loader: it never panics, and what it accepts comes
// back the same from its dump.
func FuzzLoad(f *testing.F) {
	f.Add(strings.ReplaceAll(full, "KEY", "key.pem"))
	f.Add("networks: [{name: a, embedded: {}, history_window: {eth_call: 1}}]\n")
	f.Add("networks: [{name: a, nodes: [{url: 'http://u:p@h/k', ws: 'ws://h', headers: {X-A: b}}, {name: b, url: 'http://h', role: backup}]}]\n")
	f.Add("storage: {engine: kubo, kubo: {copies: 2, fetch: false, endpoints: [{url: 'http://a'}, {url: 'https://b/c'}]}}\n")
	f.Add("a: &x {b: *x}\n<<: *x\n")
	f.Add("plans: {free: {}, a: {credits_per_second: 1, burst: 1000, stored_bytes: 1KiB}}\ncosts: {eth_call: 1, other: 2}\n")
	f.Add("payment: {processor: stripe, stripe_key: sk_test_1, stripe_public_key: pk_test_1}\nredis: {url: 'unix:///x'}\nstore: {postgres: 'postgres://h'}\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(dir, "in.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Options{File: file})
		if err != nil || hidesNodes(c) {
			return
		}
		var dump bytes.Buffer
		if err := Dump(&dump, c); err != nil {
			t.Fatal(err)
		}
		again := mustLoad(t, Options{File: write(t, t.TempDir(), dump.String()), Env: secretEnv(c)})
		if diff := cmp.Diff(c, again, plainData); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, &dump)
		}
	})
}

// hidesNodes tells whether a dump leaves out an address or a header of a node.
func hidesNodes(c *Config) bool {
	for _, network := range c.Networks {
		for _, n := range network.Nodes {
			if !n.URL.open() || n.WS != "" && !n.WS.open() || len(n.Headers) > 0 {
				return true
			}
		}
	}
	return false
}

// TestWalletRules: a currency and an explorer are taken as wallets take them.
func TestWalletRules(t *testing.T) {
	for _, c := range []struct {
		name        string
		rule        rule
		good, wrong []string
	}{
		{"currency", currency, []string{"", "ETH", "POL", "xDAI", "A", "123456"}, []string{"ETHEREUM", "E T", "€", "E-1"}},
		{"explorer", explorerURL, []string{"", "https://etherscan.io", "https://x.example/base", "http://localhost:4000", "http://127.0.0.1:4000"},
			[]string{"etherscan.io", "http://etherscan.io", "https://u:p@x", "javascript:alert(1)", "https://x?q=1"}},
	} {
		for _, s := range c.good {
			if err := c.rule.check(s); err != nil {
				t.Errorf("%s %q: %v", c.name, s, err)
			}
		}
		for _, s := range c.wrong {
			if c.rule.check(s) == nil {
				t.Errorf("%s %q is accepted", c.name, s)
			}
		}
	}
}
