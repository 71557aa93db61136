package goipfsapi

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	shell "github.com/ipfs/go-ipfs-api"
)

const (
	hello   = "QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX" // of "hello"
	missing = "QmPBRcT6Qs9vLAyoMR5TQrpTrCyLzmkdUUumFzsrMULUGJ"
)

// account is a key and its secret.
type account struct{ Key, Secret string }

// storage is what the tests know of the service.
type storage struct {
	URL   string
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

// withKey sends a key with every request: the client has no other way.
type withKey struct {
	account
	http.RoundTripper
}

func (w withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.Key != "" {
		r = r.Clone(r.Context())
		r.SetBasicAuth(w.Key, w.Secret)
	}
	return w.RoundTripper.RoundTrip(r)
}

func (s storage) connect(t *testing.T, a account) *shell.Shell {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return shell.NewShellWithClient(s.URL, &http.Client{Transport: withKey{a, transport}})
}

// connect is a client of the account that may do everything.
func connect(t *testing.T) *shell.Shell {
	t.Helper()
	s := readStorage(t)
	return s.connect(t, s.Own)
}

// data differs everywhere and is the same on every run.
func data(size int, seed byte) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func add(t *testing.T, s *shell.Shell, text string, opts ...shell.AddOpts) string {
	t.Helper()
	id, err := s.Add(strings.NewReader(text), opts...)
	must(t, err)
	return id
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused expects an error with a text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one with %q", err, text)
	}
}
