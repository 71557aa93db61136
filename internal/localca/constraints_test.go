package localca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestConfiguredHosts: certificates are for the configured hosts too, and clients accept
// them under the authority's constraints.
func TestConfiguredHosts(t *testing.T) {
	dir, hosts := t.TempDir(), slices.Concat(localHosts, []string{"files.example.com", "nas", "192.168.1.5", "203.0.113.7", "2001:db8::5"})
	a, err := Open(dir, hosts)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hosts {
		if err := handshake(a, a, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(dir, append(hosts, "10.1.2.3", "more.files.example.com", "any.localhost")); err != nil {
		t.Errorf("other names and addresses that are permitted: %v", err)
	}
	for _, other := range []string{"example.com", "otherfiles.example.com", "203.0.113.8", "2001:db8::6"} {
		if _, err := Open(dir, append(hosts, other)); nodegate.AsError(err).Code != nodegate.BadConfig || !strings.Contains(nodegate.AsError(err).Msg, "may not sign for "+other) {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// TestStolenKey: what else the authority's key signs is refused by those who trust it.
func TestStolenKey(t *testing.T) {
	a := open(t, t.TempDir())
	for _, name := range []string{"bank.example.com", "203.0.113.7"} {
		a.hosts = append(slices.Clone(localHosts), name)
		a.leaf = nil
		if err := handshake(a, a, name); err == nil {
			t.Errorf("%s is believed", name)
		}
	}
}

// TestOldAuthority: one without constraints, as earlier builds made it, goes on and signs
// for every host.
func TestOldAuthority(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "nodegate local authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(authorityTime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, pem := range map[string]struct {
		kind string
		der  []byte
	}{certFile: {"CERTIFICATE", cert}, keyFile: {"PRIVATE KEY", private}} {
		if err := write(filepath.Join(dir, path), pem.kind, pem.der); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(dir, append(slices.Clone(localHosts), "files.example.com"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", "127.0.0.1", "files.example.com"} {
		if err := handshake(a, a, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOtherClients: OpenSSL, curl and Node.js understand the constraints too. Those that
// are not installed are not tried.
func TestOtherClients(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: a.Certificate})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(ln) }()
	defer server.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ca := filepath.Join(dir, certFile)
	script := `require("https").get(process.argv[1], r => { r.on("data", d => process.stdout.write(d)) }).on("error", e => { console.error(e.message); process.exit(1) })`
	for _, host := range []string{"localhost", "127.0.0.1"} {
		url := "https://" + host + ":" + port + "/"
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"curl", "-sS", "-4", "--noproxy", "*", "--cacert", ca, url}, "hello"},
			{[]string{"node", "-e", script, url}, "hello"},
			{[]string{"openssl", "s_client", "-verify_return_error", "-CAfile", ca, "-connect", "127.0.0.1:" + port, "-servername", "localhost"}, "Verify return code: 0 (ok)"},
		} {
			if _, err := exec.LookPath(c.args[0]); err != nil {
				t.Logf("%s is not installed", c.args[0])
				continue
			}
			cmd := exec.Command(c.args[0], c.args[1:]...)
			cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+ca, "NODE_OPTIONS=--dns-result-order=ipv4first")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%s to %s: %v\n%s", c.args[0], host, err, out)
			}
		}
	}
}
