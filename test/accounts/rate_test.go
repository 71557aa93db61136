package accounts_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// forged is a header that claims another client address each time.
func forged() []string {
	return []string{"X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), rand.IntN(256))}
}

// TestRateIsExact: sixteen connections that ask for much more never get more than
// rate x time + burst, wherever they say they come from.
func TestRateIsExact(t *testing.T) {
	s := harness.Start(t, devnetOnly)
	k := newTenant(t, s, "exact", nodegate.KeySettings{})
	l := startLoad(chainID, 16, 0, func() []string {
		if rand.IntN(2) == 0 {
			return nil // the short way
		}
		return forged()
	}, k.url)
	until(t, "as much is given as the burst again", func() bool { return 5*count(l.soFar(), 200) >= 2*plans["exact"].Burst })
	samples, took := l.wait()
	onlyStatuses(t, samples, waitTime, 200, 429)
	checkRateOf(t, plans["exact"], 5*count(samples, 200), took, 1)
	lines := k.usage(t, int64(len(samples)))
	if got := lines["devnet eth_chainId ok"]; got != (line{count(samples, 200), 5 * count(samples, 200)}) {
		t.Errorf("%d were answered, recorded are %+v", count(samples, 200), got)
	}
	if count(samples, 429) == 0 {
		t.Error("the limit was never reached")
	}
}

// checkRateOf holds credits against a plan. Far too few would be wrong, too.
func checkRateOf(t *testing.T, p config.Plan, credits int64, took time.Duration, tolerance float64) {
	t.Helper()
	most := took.Seconds()*float64(p.CreditsPerSecond) + float64(p.Burst)
	t.Logf("%d credits in %v, at most %.0f", credits, took, most)
	if float64(credits) > most*tolerance || float64(credits) < most/2 {
		t.Errorf("%d credits in %v, want at most %.0f x %.2f and not much less", credits, took, most, tolerance)
	}
}

// TestGuessing: an address that tries unknown keys is answered without a look at
// the store after a few. Only a trusted proxy is believed about the address.
func TestGuessing(t *testing.T) {
	t.Parallel()
	const allowance = 3
	for _, c := range []struct {
		name          string
		trusted       []string
		guesses, last string // what X-Forwarded-For says
		found         bool
	}{
		{"no proxy, same claim", nil, "1.1.1.1", "1.1.1.1", false},
		{"no proxy, another claim", nil, "1.1.1.1", "2.2.2.2", false},
		{"a proxy, same client", []string{"127.0.0.1"}, "1.1.1.1", "1.1.1.1", false},
		{"a proxy, another client", []string{"127.0.0.0/8"}, "1.1.1.1", "2.2.2.2", true},
		{"a proxy, a client that lies", []string{"127.0.0.1"}, "1.1.1.1", "2.2.2.2, 1.1.1.1", false},
		{"another proxy", []string{"10.0.0.0/8"}, "1.1.1.1", "2.2.2.2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, func(cfg *config.Config) {
				devnetOnly(cfg)
				cfg.TrustedProxies, cfg.Limits.FailedKeysPerIP = c.trusted, allowance
				cfg.Accounts.Follow = time.Hour // a new key is found by looking only
			})
			url := func(key string) string { return s.URL("devnet", key) }
			for range 20 {
				k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
				time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
				second := time.Now().Unix()
				for range allowance {
					send(t, url(credential.NewKey()), chainID, "X-Forwarded-For", c.guesses).want(t, 401, -32041, keyInvalid, "null")
				}
				got := send(t, k.url, chainID, "X-Forwarded-For", c.last)
				if time.Now().Unix() != second {
					continue // the allowance is for a second, and this took longer
				}
				if (got.status == 200) != c.found {
					t.Errorf("the last one got %d %s", got.status, got.body)
				}
				time.Sleep(time.Until(time.Unix(second+1, 0)))
				send(t, k.url, chainID, "X-Forwarded-For", c.last).want(t, 200, 0, "", "1")
				return
			}
			t.Fatal("no second was long enough")
		})
	}
}
