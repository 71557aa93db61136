package accounts_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/harness"
)

// beside opens the account store as the command line does while a server runs.
func beside(t *testing.T, cfg *config.Config) *server.Control {
	t.Helper()
	c, err := server.OpenControl(t.Context(), cfg, obs.NewLogger(new(harness.Buffer), "text", 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// promptly is how long a revocation or the end of an overlap may take to show. The server
// needs at most a second, which internal/accounts/auth tests in fake time. The clients of
// these tests may have to wait longer for a processor.
const promptly = 15 * time.Second

// TestRevoke: under load the last success of a revoked key comes soon after, and its
// WebSocket is closed, whether the server itself or the command line revoked it.
func TestRevoke(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, devnetOnly)
	for name, control := range map[string]*server.Control{
		"by the server": s.Server.Control(), "by the command line": beside(t, harness.Config(s.Dir)),
	} {
		t.Run(name, func(t *testing.T) {
			k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
			conn := dial(t, k.ws())
			ask(t, conn, chainID)
			l := startLoad(chainID, 8, 20*time.Millisecond, nil, k.url)
			l.see(t, 200, 16)
			revoked := k.revokeBy(t, control)
			closed, at := closing(t, conn)
			l.see(t, 401, 40) // several of each client
			samples, _ := l.wait()
			onlyStatuses(t, samples, waitTime, 200, 401)
			checkLast(t, samples, revoked)
			checkClosed(t, closed, at.Sub(revoked))
		})
	}
}

// checkLast finds the last success, which must not be sent much later, and something
// before and after the end.
func checkLast(t *testing.T, samples []sample, revoked time.Time) {
	t.Helper()
	var last time.Duration
	for _, s := range samples {
		if s.status == http.StatusOK {
			last = max(last, s.start.Sub(revoked))
		}
	}
	t.Logf("the last success was %v after the revocation", last)
	if last > promptly {
		t.Errorf("a request succeeded %v after the revocation, want at most %v", last, promptly)
	}
	if count(samples, 200) == 0 || count(samples, 401) == 0 {
		t.Error("the load did not see both")
	}
}

func checkClosed(t *testing.T, e websocket.CloseError, after time.Duration) {
	t.Helper()
	if e.Code != websocket.StatusPolicyViolation || e.Reason != "API key revoked" {
		t.Errorf("closed with %d %q", e.Code, e.Reason)
	}
	if after > promptly {
		t.Errorf("closed after %v, want at most %v", after, promptly)
	}
}

// TestRevokedSocketIsDeaf: a client that ignores the close frame gets nothing done.
func TestRevokedSocketIsDeaf(t *testing.T) {
	t.Parallel()
	k := newTenant(t, shared(t), "unlimited", nodegate.KeySettings{})
	c := rawDial(t, k.svc)
	fmt.Fprintf(c, "GET /devnet/ws/v3/%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", k.key)
	if res, err := http.ReadResponse(c.in, nil); err != nil || res.StatusCode != 101 {
		t.Fatalf("handshake: %v %v", res, err)
	}
	c.frame(callOf("eth_blockNumber", "[]"))
	if _, err := c.in.ReadByte(); err != nil {
		t.Fatal(err)
	}
	k.revoke(t)
	until(t, "the key stops", func() bool { return send(t, k.url, chainID).status == 401 })
	for range 20 {
		c.frame(callOf("eth_blockNumber", "[]"))
		time.Sleep(50 * time.Millisecond)
	}
	until(t, "the first message is recorded", func() bool {
		lines, _ := usageOf(t, k.svc.Server.Control().Store, k.account)
		return lines["devnet eth_blockNumber ok"].requests > 0
	})
	// What was executed before this one is recorded with it at the latest.
	after := newTenant(t, k.svc, "unlimited", nodegate.KeySettings{})
	send(t, after.url, chainID).want(t, 200, 0, "", "1")
	after.usage(t, 1)
	lines, _ := usageOf(t, k.svc.Server.Control().Store, k.account)
	if got := lines["devnet eth_blockNumber ok"].requests; got != 1 {
		t.Errorf("%d messages were executed, want one", got)
	}
}

// frame sends a text message; it is masked with zeros. A peer that has left is fine.
func (c *rawConn) frame(message string) {
	_, _ = c.Write(append([]byte{0x81, 0x80 | byte(len(message)), 0, 0, 0, 0}, message...))
}

func (k *tenant) rotate(t *testing.T, r account.Rotation) (issued *account.IssuedKey) {
	t.Helper()
	patiently(t, func() (err error) {
		issued, err = k.svc.Server.Control().Accounts.RotateKey(t.Context(), actor, k.account, k.id, r)
		return err
	})
	return issued
}

// TestRotate: after a rotation both keys work until the overlap ends; then the
// old one stops, and a socket that came in with it is closed.
func TestRotate(t *testing.T) {
	t.Parallel()
	const overlap = 2 * time.Second
	s := shared(t)
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	old := dial(t, k.ws())
	ask(t, old, chainID)
	begin := time.Now()
	issued := k.rotate(t, account.Rotation{Value: true, Overlap: overlap})
	ends := time.Now().Add(overlap)
	fresh := dial(t, s.WS("devnet", issued.Value))
	ask(t, fresh, chainID).want(t, 0, 0, "", "1")
	if r := send(t, k.url, chainID); time.Now().Before(ends.Add(-time.Second)) && r.status != 200 {
		t.Errorf("the old key in its overlap: %d", r.status)
	}
	closed, at := closing(t, old)
	checkClosed(t, closed, at.Sub(ends))
	if after := at.Sub(begin); after < overlap {
		t.Errorf("the socket was closed after %v, in the overlap", after)
	}
	send(t, k.url, chainID).want(t, 401, -32041, keyInvalid, "null")
	ask(t, fresh, chainID).want(t, 0, 0, "", "1")
	send(t, s.URL("devnet", issued.Value), chainID).want(t, 200, 0, "", "1")
}

// TestRotateSecret: both secrets work until the overlap ends.
func TestRotateSecret(t *testing.T) {
	t.Parallel()
	const overlap = 3 * time.Second
	s := shared(t)
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{SecretRequired: true})
	with := func(secret string) reply {
		return send(t, k.url, chainID, "Authorization", basic("", secret))
	}
	with(k.secret).want(t, 200, 0, "", "1")
	issued := k.rotate(t, account.Rotation{Secret: true, Overlap: overlap})
	ends := time.Now().Add(overlap)
	until(t, "the new secret works", func() bool { return with(issued.Secret).status == 200 })
	if r := with(k.secret); time.Now().Before(ends.Add(-time.Second)) && r.status != 200 {
		t.Errorf("the old secret in its overlap: %d", r.status)
	}
	until(t, "the old secret stops", func() bool { return with(k.secret).status == 401 })
	with(k.secret).want(t, 401, -32041, secretInvalid, "null")
	with(issued.Secret).want(t, 200, 0, "", "1")
}

// TestExpires: a key that expires is refused from then on, its WebSocket is closed, and the store
// says that it was revoked, by whom and why.
func TestExpires(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, devnetOnly)
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	conn := dial(t, k.ws())
	ask(t, conn, chainID)
	l := startLoad(chainID, 4, 20*time.Millisecond, nil, k.url)
	l.see(t, 200, 8)
	end := time.Now().Add(3 * time.Second).Truncate(time.Second)
	accounts := s.Server.Control().Accounts
	patiently(t, func() error {
		return accounts.UpdateKey(t.Context(), actor, k.account, k.id, func(_ *string, s *nodegate.KeySettings) { s.Expires = end })
	})
	closed, _ := closing(t, conn)
	l.see(t, 401, 8)
	samples, _ := l.wait()
	onlyStatuses(t, samples, waitTime, 200, 401)
	checkLast(t, samples, end)
	checkClosed(t, closed, 0)
	for until := time.Now().Add(promptly); ; time.Sleep(20 * time.Millisecond) {
		stored, err := accounts.Key(t.Context(), k.account, k.id)
		if err != nil {
			t.Fatal(err)
		}
		if !stored.Live() {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the store doesn't say that it was revoked")
		}
	}
}
