package rpc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/internal/config"
)

// selfSigned writes a certificate for 127.0.0.1 and its key.
func selfSigned(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for name, data := range map[string][]byte{certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

// TestTLS makes the same calls over TLS: plain, unusual, slow, and on a WebSocket.
func TestTLS(t *testing.T) {
	cert, key, pool := selfSigned(t)
	s := start(t, func(c *config.Config) {
		only("devnet")(c)
		c.TLS = config.TLS{Cert: cert, Key: key}
	})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	slow := `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x0b7d796e0000000000000000000000000000000000000000000000000000000000030d40"},"latest"]}`
	for _, header := range []string{"Accept", "X-Unusual", "Accept"} { // back and forth on kept connections
		for _, body := range []string{chainID, slow, chainID} {
			req := request(t, http.MethodPost, s.url("devnet", keyA), body, header, "1")
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"result":"0x`) || res.ProtoMajor != 1 {
				t.Errorf("%s: %s %.200s (%v)", header, res.Proto, answer, err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "wss"+strings.TrimPrefix(s.url("devnet/ws", keyA), "https"), &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	write(t, c, chainID)
	if answer := read(t, c); answer != chainIDAnswer {
		t.Errorf("over a WebSocket: %s", answer)
	}
}

// TestOldTLS is refused.
func TestOldTLS(t *testing.T) {
	cert, key, pool := selfSigned(t)
	s := start(t, func(c *config.Config) {
		only("devnet")(c)
		c.TLS = config.TLS{Cert: cert, Key: key}
	})
	_, err := tls.Dial("tcp", strings.TrimPrefix(s.rpc, "https://"), &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	if res, err := http.Get("http" + strings.TrimPrefix(s.rpc, "https") + "/readyz"); err == nil {
		defer res.Body.Close()
		if res.StatusCode == http.StatusOK {
			t.Error("the TLS port answers plain HTTP")
		}
	}
}
