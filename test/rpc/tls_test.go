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

// secure serves devnet behind TLS, and returns clients of both protocols.
func secure(t *testing.T) (*service, map[int]*http.Client) {
	t.Helper()
	change, clients := behindTLS(t)
	return start(t, change), clients
}

func behindTLS(t *testing.T) (change func(*config.Config), clients map[int]*http.Client) {
	t.Helper()
	cert, key, pool := selfSigned(t)
	clients = map[int]*http.Client{}
	for major := 1; major <= 2; major++ {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: major == 2}
		t.Cleanup(transport.CloseIdleConnections)
		clients[major] = &http.Client{Transport: transport}
	}
	return func(c *config.Config) {
		only("devnet")(c)
		c.TLS = config.TLS{Cert: cert, Key: key}
	}, clients
}

const slowCall = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x0b7d796e0000000000000000000000000000000000000000000000000000000000030d40"},"latest"]}`

// TestTLS makes the same calls over TLS, by HTTP/1.1 and HTTP/2: plain, unusual, slow; and on
// a WebSocket, which is HTTP/1.1 only.
func TestTLS(t *testing.T) {
	s, clients := secure(t)
	for major, client := range clients {
		for _, header := range []string{"Accept", "X-Unusual", "Accept"} { // back and forth on kept connections
			for _, body := range []string{chainID, slowCall, chainID} {
				res, answer := exchange(t, client, request(t, http.MethodPost, s.url("devnet", keyA), body, header, "1"))
				if res.StatusCode != http.StatusOK || !strings.Contains(answer, `"result":"0x`) || res.ProtoMajor != major {
					t.Errorf("%s: %s %.200s", header, res.Proto, answer)
				}
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "wss"+strings.TrimPrefix(s.url("devnet/ws", keyA), "https"), &websocket.DialOptions{HTTPClient: clients[1]})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	write(t, c, chainID)
	if answer := read(t, c); answer != chainIDAnswer {
		t.Errorf("over a WebSocket: %s", answer)
	}
}

func exchange(t *testing.T, client *http.Client, req *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestSameOverHTTP2: what is refused and answered is the same by both protocols.
func TestSameOverHTTP2(t *testing.T) {
	s, clients := secure(t)
	for name, make := range map[string]func() *http.Request{
		"call": func() *http.Request { return request(t, http.MethodPost, s.url("devnet", keyA), chainID) },
		"batch": func() *http.Request {
			return request(t, http.MethodPost, s.url("devnet", keyA), "["+chainID+","+chainID+"]")
		},
		"notification": func() *http.Request {
			return request(t, http.MethodPost, s.url("devnet", keyA), `{"jsonrpc":"2.0","method":"eth_chainId"}`)
		},
		"not JSON":        func() *http.Request { return request(t, http.MethodPost, s.url("devnet", keyA), `{`) },
		"wrong key":       func() *http.Request { return request(t, http.MethodPost, s.url("devnet", "wrong"), chainID) },
		"unknown network": func() *http.Request { return request(t, http.MethodPost, s.url("nowhere", keyA), chainID) },
		"wrong method":    func() *http.Request { return request(t, http.MethodPut, s.url("devnet", keyA), chainID) },
		"preflight": func() *http.Request {
			return request(t, http.MethodOptions, s.url("devnet", keyA), "", "Origin", "https://a.example")
		},
		"WebSocket path": func() *http.Request { return request(t, http.MethodGet, s.url("devnet/ws", keyA), "") },
		"too large": func() *http.Request {
			return request(t, http.MethodPost, s.url("devnet", keyA), `{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":["0x`+strings.Repeat("00", 6<<20)+`"]}`)
		},
		"dashboard": func() *http.Request { return request(t, http.MethodGet, s.rpc+"/login", "") },
	} {
		one, oneBody := exchange(t, clients[1], make())
		two, twoBody := exchange(t, clients[2], make())
		if two.ProtoMajor != 2 || one.StatusCode != two.StatusCode || oneBody != twoBody && name != "dashboard" {
			t.Errorf("%s: %d %.300s\n%s %d %.300s", name, one.StatusCode, oneBody, two.Proto, two.StatusCode, twoBody)
		}
		for _, header := range []string{"Content-Type", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Retry-After", "X-Content-Type-Options", "Strict-Transport-Security"} {
			if a, b := one.Header.Get(header), two.Header.Get(header); a != b {
				t.Errorf("%s: %s is %q and %q", name, header, a, b)
			}
		}
	}
}

// TestStreamsAtShutdown: a call in progress on HTTP/2 is answered before the server ends.
func TestStreamsAtShutdown(t *testing.T) {
	change, clients := behindTLS(t)
	s, err := launch(t.TempDir(), change)
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, clients[2], request(t, http.MethodPost, s.url("devnet", keyA), chainID))
	answered := make(chan string, 1)
	go func() {
		_, body := exchange(t, clients[2], request(t, http.MethodPost, s.url("devnet", keyA), slowCall))
		answered <- body
	}()
	inProgress(t, answered)
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if body := <-answered; !strings.Contains(body, `"result":"0x`) {
		t.Errorf("answered %.200s", body)
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
