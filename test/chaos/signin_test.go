package chaos

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStrangersSignIn has many addresses try passwords of one account. Its owner, at an
// address that signed in before, gets in every time, also after a restart; JSON-RPC is
// not held up by the hashing; and what happened is in the log, the metrics and the audit
// log, in few lines.
func TestStrangersSignIn(t *testing.T) {
	addresses := length(300, 5000)
	o := begin(t, 52, fmt.Sprintf("%d addresses try wrong passwords of one account", addresses), "the owner signs in every time; log, metrics and audit have the failures; JSON-RPC p99 at most twice the control's or 10 ms")
	b := newSandbox(t)
	config := b.path("nodegate.yaml")
	if err := os.WriteFile(config, []byte("trusted_proxies: [127.0.0.1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.env = append(b.env, "NODEGATE_CONFIG="+config)
	p := b.start()
	const home = "203.0.113.1"
	if status := p.signIn(home, p.password); status != http.StatusSeeOther {
		t.Fatalf("the owner's first sign-in: %d", status)
	}
	p.kill()
	p = b.start()
	during := time.Duration(length(3, 20)) * time.Second
	o.contest(t, func() (string, bool) {
		control := p.innocent("devnet", p.key, 100, during)
		owner, attack, hashed := p.underGuesses(t, home, addresses, during)
		return fmt.Sprintf("owner %d of %d, %d guesses hashed; alone %v; attacked %v", owner.in, owner.tries, hashed, control, attack),
			attack.Failed == 0 && attack.P99 <= max(2*control.P99, 10*time.Millisecond)
	})
	p.checkGuessesAreRecorded(t)
}

// ownerFigures are how the owner fared.
type ownerFigures struct{ tries, in int }

// underGuesses measures an innocent client while strangers guess and the owner signs in
// now and then, fewer than five times a minute.
func (p *program) underGuesses(t *testing.T, home string, addresses int, during time.Duration) (owner ownerFigures, f figures, hashed int64) {
	t.Helper()
	var all sync.WaitGroup
	var next, wrong atomic.Int64
	const guessers = 16
	for range guessers {
		all.Go(func() {
			tick := time.NewTicker(during * guessers / time.Duration(addresses)) // spread over the whole time
			defer tick.Stop()
			for i := next.Add(1); i <= int64(addresses); i = next.Add(1) {
				<-tick.C
				if p.signIn(fmt.Sprintf("198.18.%d.%d", i/256, i%256), "a wrong password") == http.StatusUnauthorized {
					wrong.Add(1)
				}
			}
		})
	}
	all.Go(func() { f = p.innocent("devnet", p.key, 100, during) })
	for range 2 {
		time.Sleep(during / 3)
		owner.tries++
		if status := p.signIn(home, p.password); status == http.StatusSeeOther {
			owner.in++
		} else {
			t.Errorf("the owner's sign-in is answered with %d", status)
		}
	}
	all.Wait()
	return owner, f, wrong.Load()
}

// signIn posts the form as a proxy passes it on, and returns the status: 303 is in.
func (p *program) signIn(from, password string) int {
	form := url.Values{"email": {"dev@localhost"}, "password": {password}}
	req, err := http.NewRequest(http.MethodPost, p.rpcBase+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Forwarded-For", from)
	req.Header.Set("X-Forwarded-Proto", "https")
	res, err := p.client.Transport.RoundTrip(req) // which follows no redirect
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// checkGuessesAreRecorded looks for the failures, without what was typed.
func (p *program) checkGuessesAreRecorded(t *testing.T) {
	t.Helper()
	res, err := p.client.Get(p.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	metrics, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(metrics), `nodegate_signins_total{outcome="sign-in failed"} `) || strings.Contains(string(metrics), `nodegate_signins_total{outcome="sign-in failed"} 0`) {
		t.Errorf("the metrics don't count failures (%v)", err)
	}
	audit := string(p.tool("audit", "list"))
	if n := strings.Count(audit, "signin.failed"); n == 0 || n > 60 || strings.Contains(audit, "a wrong password") {
		t.Errorf("%d failures are in the audit log", n)
	}
	if n := strings.Count(p.logs.String(), "sign-in failed"); n == 0 || n > 60 || strings.Contains(p.logs.String(), "a wrong password") {
		t.Errorf("%d failures are in the log", n)
	}
}
