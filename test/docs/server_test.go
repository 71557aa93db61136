package docs

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/harness"
)

// service is a running server with nothing but the defaults.
type service struct {
	admin  string
	client *http.Client // reaches the server whatever host an address names
}

// start runs a server on a fresh data folder.
func start(t *testing.T) *service {
	t.Helper()
	srv := harness.Start(t, nil)
	develop(t, srv)
	at := srv.Host()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, at)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 30 * time.Second}
	t.Cleanup(client.CloseIdleConnections)
	return &service{admin: srv.Admin, client: client}
}

// develop gives the account of the pages' key the scope development, which the account of
// the first start has.
func develop(t *testing.T, srv *harness.Service) {
	t.Helper()
	if err := srv.Server.Control().Accounts.SetDevelopment(t.Context(), nodegate.Actor{Name: "test"}, "a-a", true); err != nil {
		t.Fatal(err)
	}
	const ask = `{"jsonrpc":"2.0","id":1,"method":"hardhat_getAutomine"}`
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL("devnet", harness.KeyA), strings.NewReader(ask))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if _, answer := do(t, http.DefaultClient, req); !strings.Contains(answer, "error") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the scope is not followed")
		}
	}
}

// send does what a curl line asks for. The address keeps its host name, so that
// both forms of a network's address are tried as they stand on the page.
func (s *service) send(t *testing.T, r *request) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.headers {
		req.Header.Add(h[0], h[1])
	}
	return do(t, s.client, req)
}

func do(t *testing.T, client *http.Client, req *http.Request) (status int, answer string) {
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
	return res.StatusCode, string(body)
}
