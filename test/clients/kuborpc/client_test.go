package kuborpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ipfs/boxo/files"
	"github.com/ipfs/boxo/path"
	"github.com/ipfs/go-cid"
	"github.com/ipfs/kubo/client/rpc"
	"github.com/ipfs/kubo/client/rpc/auth"
	"github.com/ipfs/kubo/core/coreiface/options"
	"github.com/multiformats/go-multiaddr"
)

const (
	hello   = "/ipfs/QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX" // of "hello"
	missing = "/ipfs/QmPBRcT6Qs9vLAyoMR5TQrpTrCyLzmkdUUumFzsrMULUGJ"
)

// account is a key and its secret.
type account struct{ Key, Secret string }

func (a account) header() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.Key+":"+a.Secret))
}

// storage is what the tests know of the service.
type storage struct {
	URL   string // plain HTTP
	TLS   string // the same with TLS
	CA    string // the file of the authority that TLS needs
	Own   account
	Poor  account // has no card
	Small account // may store a MiB
	Slow  account // may read once a second
}

func readStorage(t *testing.T) storage {
	t.Helper()
	text := os.Getenv("NODEGATE_STORAGE")
	if text == "" {
		t.Skip("NODEGATE_STORAGE names no storage gateway; go test ./test/clients starts one")
	}
	var s storage
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// connect is a client of the account that may do everything.
func connect(t *testing.T) *rpc.HttpApi {
	t.Helper()
	s := readStorage(t)
	return s.connect(t, s.Own)
}

// connect makes a client by a multiaddress, as Kubo's documentation does.
func (s storage) connect(t *testing.T, a account) *rpc.HttpApi {
	t.Helper()
	address, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(address.Host)
	if err != nil {
		t.Fatal(err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ma, err := multiaddr.NewMultiaddr("/ip4/" + host + "/tcp/" + port)
	if err != nil {
		t.Fatal(err)
	}
	api, err := rpc.NewApi(ma)
	if err != nil {
		t.Fatal(err)
	}
	if a.Key != "" {
		api.Headers.Set("Authorization", a.header())
	}
	return api
}

// connectTLS makes a client by an address and an HTTP client, with Kubo's own way to
// send the key.
func (s storage) connectTLS(t *testing.T) *rpc.HttpApi {
	t.Helper()
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	api, err := rpc.NewURLApiWithClient(s.TLS, &http.Client{Transport: auth.NewAuthorizedRoundTripper(s.Own.header(), transport)})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// deadline bounds a test that waits for an answer.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// data differs everywhere and is the same on every run.
func data(size int, seed uint64) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

func add(t *testing.T, api *rpc.HttpApi, node files.Node, opts ...options.UnixfsAddOption) path.ImmutablePath {
	t.Helper()
	p, err := api.Unixfs().Add(deadline(t), node, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parse(t *testing.T, text string) path.Path {
	t.Helper()
	p, err := path.NewPath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func join(t *testing.T, p path.Path, names ...string) path.Path {
	t.Helper()
	joined, err := path.Join(p, names...)
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

func fileOf(text string) files.Node { return files.NewBytesFile([]byte(text)) }

// refused expects an error with a text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one with %q", err, text)
	}
}

func cidOf(t *testing.T, text string) cid.Cid {
	t.Helper()
	c, err := cid.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
