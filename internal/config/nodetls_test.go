package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodegate/nodegate/test/tlstest"
)

// pemFolder has the files of two client certificates and their authority.
func pemFolder(t *testing.T) string {
	t.Helper()
	dir, a := t.TempDir(), tlstest.NewAuthority(t)
	files := map[string]string{"ca": a.CA, "bundle": strings.Repeat(a.CA, 200), "huge": strings.Repeat(a.CA, 2000)}
	files["cert1"], files["key1"] = a.Issue(t)
	files["cert2"], files["key2"] = a.Issue(t)
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNodeTransport(t *testing.T) {
	dir := pemFolder(t)
	for node, want := range map[string]string{
		"url: https://h, ca_file: ca":                                         "",
		"url: https://h, ca_file: bundle":                                     "",
		"ws: wss://h, ca_file: ca, cert_file: cert1, key_file: key1":          "",
		"url: http://h, ws: wss://h, cert_file: cert1, key_file: key1":        "",
		"url: http://h, ca_file: ca, proxy: https://p":                        "",
		"url: http://h, proxy: 'http://u:p@h:3128/', gzip: true":              "",
		"url: https://h, ca_file: huge":                                       "it is larger than 1 MiB",
		"url: https://h, ca_file: key1":                                       "has no certificate; it must hold one or more in PEM",
		"url: https://h, cert_file: cert1, key_file: key2":                    "private key does not match public key",
		"url: https://h, cert_file: key1, key_file: cert1":                    "are not a certificate and its private key in PEM",
		"url: http://h, ca_file: ca":                                          "Write https:// in url or wss:// in ws, or remove ca_file",
		"url: http://h, cert_file: cert1, key_file: key1, proxy: 'https://p'": "remove cert_file and key_file",
		"url: http://h, proxy: 'p:3128'":                                      "it must be a URL like http://user:password@host:port",
		"url: http://h, proxy: 'http://p:3128?a=b'":                           "it must be a URL like http://user:password@host:port",
		"url_file: nowhere, ca_file: ca, cert_file: cert1, key_file: key1":    "nowhere",
		"url: http://h, proxy_file: nowhere, ca_file: ca":                     "nowhere",
		"ws: ws://h, gzip: true":                                              "Add url, or remove gzip",
	} {
		_, err := Load(Options{File: write(t, dir, "networks: [{name: main, nodes: [{"+node+"}]}]\n")})
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", node, err, want)
		case err != nil && strings.Count(err.Error(), "\n") > 0:
			t.Errorf("%s: one mistake is several problems: %v", node, err)
		}
	}
}

// TestDiffTransport: a file that has another content under its old name is a change.
func TestDiffTransport(t *testing.T) {
	dir := pemFolder(t)
	node := "url: 'https://h', cert_file: cert1, key_file: key1, proxy: 'http://u:swordfish@p'"
	load := func(node string) *Config {
		return mustLoad(t, Options{File: write(t, dir, "networks: [{name: main, nodes: [{name: a, "+node+"}]}]\n")})
	}
	before := load(node)
	for _, name := range []string{"cert", "key"} {
		text, err := os.ReadFile(filepath.Join(dir, name+"2"))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name+"1"), string(text))
	}
	after := load(node + ", gzip: true")
	want := []string{"a.cert_file: changed, secret", "a.gzip: false becomes true", "a.key_file: changed, secret"}
	if diff := cmp.Diff(want, changes(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	moved := strings.NewReplacer("swordfish", "swordfash", "cert1", "cert2").Replace(node)
	want = []string{"a.cert_file: " + dir + "/cert1 becomes " + dir + "/cert2", "a.gzip: true becomes false", "a.proxy: changed, secret"}
	if diff := cmp.Diff(want, changes(after, load(moved))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func changes(from, to *Config) (list []string) {
	for _, c := range Diff(from, to) {
		list = append(list, strings.TrimPrefix(fmt.Sprint(c), "networks.main.nodes."))
	}
	return list
}
