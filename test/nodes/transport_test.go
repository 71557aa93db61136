package nodes_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/tlstest"
)

// TestTransport: a node behind TLS with client certificates and a proxy with a password
// serves a network, by HTTP and WebSocket. Its certificate is replaced by a reload.
func TestTransport(t *testing.T) {
	node, ours, theirs := harness.Start(t, nil), tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	host := tlstest.StartFront(t, ours.MutualTLS(t), node.RPC)
	proxy := tlstest.StartProxy(t, tlstest.ProxyConfig{User: "me:swordfish"})
	dir := t.TempDir()
	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	issue := func(a *tlstest.Authority) {
		cert, key := a.Issue(t)
		put("cert", cert)
		put("key", key)
	}
	issue(ours)
	yaml := fmt.Sprintf("networks:\n  - name: main\n    chain_id: 1337\n    cache: 0\n    ledger: {blocks: 0}\n    nodes:\n      - {name: n0, url: %q, ws: %q, ca_file: %q, cert_file: %q, key_file: %q, proxy_file: %q, gzip: true}\n",
		"https://"+host+"/devnet/v3/"+key, "wss://"+host+"/devnet/ws/v3/"+key, put("ca", ours.CA), filepath.Join(dir, "cert"), filepath.Join(dir, "key"), put("proxy", proxy.URL))
	f := startFront(t, yaml)
	f.await(t, "/readyz/main")
	if got := f.call(t, "main", "eth_getBlockByNumber", `["0x5",true]`); !strings.Contains(got.result, `"number":"0x5"`) {
		t.Errorf("through the proxy: %+v", got)
	}
	for end := time.Now().Add(20 * time.Second); len(proxy.Tunnels()) < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no WebSocket: the proxy connected to %q", proxy.Tunnels())
		}
	}
	issue(theirs)
	f.reload(t, yaml)
	if !strings.Contains(f.Logs.String(), "networks.main.nodes.n0.cert_file: changed") {
		t.Errorf("the log doesn't say that a certificate changed")
	}
	wait(t, "the node refuses the certificate", func() bool {
		return strings.Contains(f.Logs.String(), "certificate") && f.call(t, "main", "eth_chainId", "[]").result == ""
	})
	issue(ours)
	f.reload(t, yaml)
	wait(t, "the node takes the certificate", func() bool { return f.call(t, "main", "eth_gasPrice", "[]").result != "" })
	if logs := f.Logs.String(); strings.Contains(logs, "swordfish") || strings.Contains(logs, key) || strings.Contains(logs, "PRIVATE") {
		t.Errorf("the log shows a secret")
	}
	cert, _ := ours.Issue(t)
	put("cert", cert) // with another key
	if _, err := config.Load(config.Options{File: f.file}); err == nil || !strings.Contains(err.Error(), "private key does not match") {
		t.Errorf("a certificate without its key: %v", err)
	}
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestGzipBomb: a node whose answers explode is ejected, and nobody notices.
func TestGzipBomb(t *testing.T) {
	node := harness.Start(t, nil)
	bomber := startBomber(t, node.URL("devnet", key))
	f := startFront(t, fmt.Sprintf("limits: {response_bytes: 1MiB}\nnetworks:\n  - name: main\n    cache: 0\n    ledger: {blocks: 0}\n    retry: {budget: 100%%}\n    nodes:\n      - {name: bomber, url: %q, gzip: true}\n      - {name: good, url: %q, gzip: true, role: backup}\n",
		bomber, node.URL("devnet", key)))
	wait(t, "both nodes are healthy", func() bool { _, body := get(t, f.Admin+"/nodes"); return strings.Count(body, `"healthy":true`) == 2 })
	wait(t, "the node is ejected", func() bool {
		for _, method := range []string{"eth_getBalance", "eth_getCode", "eth_getTransactionCount"} {
			if got := f.call(t, "main", method, `["0x0000000000000000000000000000000000000000","latest"]`); got.result == "" {
				t.Fatalf("got %+v", got)
			}
		}
		return strings.Contains(f.Logs.String(), "node ejected after consecutive failures")
	})
	if logs := f.Logs.String(); !strings.Contains(logs, "compressed more than a hundredfold") || strings.Contains(logs, "failures\" node=good") {
		t.Errorf("the log: %s", logs)
	}
}

// startBomber is a node that answers questions about accounts with 16 MiB of nothing.
func startBomber(t *testing.T, to string) string {
	t.Helper()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write(make([]byte, 16<<20))
	_ = w.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`["0x00000000`)) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
			return
		}
		passOn(w, to, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
