package localca

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

var localHosts = []string{"localhost", "127.0.0.1", "::1"}

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	a, err := Open(dir, localHosts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// handshake connects a client that trusts an authority to one that serves.
func handshake(serves, trusted *Authority, name string) error {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go func() { _ = tls.Server(server, &tls.Config{GetCertificate: serves.Certificate}).Handshake() }()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted.PEM())
	return tls.Client(client, &tls.Config{RootCAs: pool, ServerName: name}).Handshake()
}

func TestServesWhoTrustsIt(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	for _, name := range localHosts {
		if err := handshake(first, open(t, dir), name); err != nil { // opened again it is the same
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := handshake(first, first, "example.com"); err == nil {
		t.Error("the certificate is good for another name")
	}
	if err := handshake(first, open(t, t.TempDir()), "localhost"); err == nil {
		t.Error("another authority is trusted")
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %v: %v", info.Mode(), err)
	}
}

// TestCarried: servers to whose folders the files of one authority were copied are trusted
// by the clients of any of them.
func TestCarried(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	authority := open(t, first)
	for _, name := range []string{certFile, keyFile} {
		data, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(second, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := handshake(open(t, second), authority, "localhost"); err != nil {
		t.Error(err)
	}
}

func TestRenewal(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a := open(t, dir)
		first, err := a.Certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(leafTime - renewBefore - time.Hour)
		if same, _ := a.Certificate(nil); same != first {
			t.Error("renewed too early")
		}
		time.Sleep(2 * time.Hour)
		next, err := a.Certificate(nil)
		if err != nil || next == first || time.Until(next.Leaf.NotAfter) < leafTime-time.Hour {
			t.Errorf("not renewed: %v", err)
		}
	})
}

func TestBadFiles(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"no key":      func(dir string) error { return os.Remove(filepath.Join(dir, keyFile)) },
		"empty":       func(dir string) error { return os.WriteFile(filepath.Join(dir, certFile), nil, 0o600) },
		"another key": func(dir string) error { return os.WriteFile(filepath.Join(dir, keyFile), otherKey(t), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir)
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, localHosts); nodegate.AsError(err).Code != nodegate.BadConfig {
				t.Errorf("got %v", err)
			}
		})
	}
}

func otherKey(t *testing.T) []byte {
	dir := t.TempDir()
	open(t, dir)
	key, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		t.Fatal(err)
	}
	return key
}
