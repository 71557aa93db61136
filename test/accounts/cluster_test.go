package accounts_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/harness"
)

// pepper is the same on all servers of a cluster.
const pepper = "a pepper that all servers of these tests have in common"

// cluster is three servers on one Postgres and one Redis.
type cluster struct {
	servers []*harness.Service
	redis   *dbtest.RedisServer
	config  func(*config.Config)
}

// startCluster starts the servers at the same moment on an empty database.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	dsn, redis := dbtest.Postgres(t), dbtest.Redis(t)
	c := &cluster{servers: make([]*harness.Service, 3), redis: redis}
	c.config = func(cfg *config.Config) {
		devnetOnly(cfg)
		cfg.Storage.Engine = "off" // only one server beside a Postgres may have a block store
		cfg.Plans["budget"] = config.Plan{CreditsPerDay: budget}
		cfg.Pepper, cfg.Store.Postgres, cfg.Redis.URL = pepper, config.Secret(dsn), config.Secret("redis://"+redis.Addr)
	}
	var starting sync.WaitGroup
	for i := range c.servers {
		dir := t.TempDir()
		starting.Go(func() {
			var err error
			if c.servers[i], err = harness.Launch(dir, c.config); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	t.Cleanup(func() {
		for _, s := range c.servers {
			if s == nil {
				continue
			}
			if err := s.Close(); err != nil {
				t.Errorf("closing a server: %v", err)
			}
			if t.Failed() {
				t.Logf("a server's log:\n%s", s.Logs)
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// urls are a tenant's addresses on all servers.
func (c *cluster) urls(k *tenant) (list []string) {
	for _, s := range c.servers {
		list = append(list, s.URL("devnet", k.key))
	}
	return list
}

// budget is the day's credits of the account that outlives Redis's absence.
const budget = 30_000

func TestCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"one first account", c.checkFirstAccount},
		{"shared limit", c.checkSharedLimit},
		{"revocation", c.checkRevocation},
		{"requests", c.checkRequests},
		{"redis hangs", c.checkRedisHangs},
	} {
		t.Run(part.name, part.run)
	}
}

// checkFirstAccount: of servers that start at once one makes the first account.
func (c *cluster) checkFirstAccount(t *testing.T) {
	keys := 0
	for _, s := range c.servers {
		if first := s.Server.FirstKey(); first != nil {
			keys++
			for _, other := range c.servers {
				send(t, other.URL("devnet", first.Value), chainID).want(t, 200, 0, "", "1")
			}
		}
	}
	if keys != 1 {
		t.Errorf("%d servers show a first key", keys)
	}
	list, err := c.servers[0].Server.Control().Accounts.List(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	developers := 0
	for _, a := range list {
		if a.Email == "dev@localhost" {
			developers++
		}
	}
	if developers != 1 {
		t.Errorf("%d first accounts", developers)
	}
}

// checkSharedLimit: three servers together keep to one limit. On a machine that is
// too busy for Redis to answer in 150 ms they limit alone, as documented, and are held
// to that; then it is tried again, a few times. The exact bound has a test of its own
// in internal/store/redisstore, without chains beside it.
func (c *cluster) checkSharedLimit(t *testing.T) {
	for range 3 {
		before := c.losses()
		credits, took := c.useShared(t)
		if c.losses() == before {
			checkRateOf(t, plans["steep"], credits, took, 1.05)
			return
		}
		checkRateOf(t, plans["steep"], credits, took, float64(len(c.servers)))
	}
	t.Log("the machine is too busy to see the shared limit: Redis did not answer in time")
}

// losses counts how often a server had to limit alone.
func (c *cluster) losses() (n int) {
	for _, s := range c.servers {
		n += logged(s, limitsAlone)
	}
	return n
}

// What a server logs when it loses the shared limiter, and when it has it again.
const (
	limitsAlone = "each server applies limits on its own"
	sharedAgain = "answers again"
)

// logged counts the lines of a server's log with a text.
func logged(s *harness.Service, text string) int { return strings.Count(s.Logs.String(), text) }

// useShared asks all servers for more than there is, and returns what they gave.
func (c *cluster) useShared(t *testing.T) (credits int64, took time.Duration) {
	t.Helper()
	k := newTenant(t, c.servers[0], "steep", nodegate.KeySettings{})
	l := startLoad(balance, 5, 0, nil, c.urls(k)...)
	until(t, "as much is given as the burst again", func() bool { return 80*count(l.soFar(), 200) >= 2*plans["steep"].Burst })
	samples, took := l.wait()
	onlyStatuses(t, samples, waitTime, 200, 429)
	k.usage(t, int64(len(samples)))
	return 80 * count(samples, 200), took
}

// checkRevocation: what the command line revokes ends everywhere soon.
func (c *cluster) checkRevocation(t *testing.T) {
	cfg := harness.Config(t.TempDir())
	c.config(cfg)
	commandLine := beside(t, cfg)
	k := newTenant(t, c.servers[0], "unlimited", nodegate.KeySettings{})
	var sockets []*websocket.Conn
	for _, s := range c.servers {
		sockets = append(sockets, dial(t, s.WS("devnet", k.key)))
	}
	l := startLoad(chainID, 3, 15*time.Millisecond, nil, c.urls(k)...)
	l.see(t, 200, 5)
	revoked := k.revokeBy(t, commandLine)
	for _, conn := range sockets {
		closed, at := closing(t, conn)
		checkClosed(t, closed, at.Sub(revoked))
	}
	l.see(t, 401, 10)
	samples, _ := l.wait()
	onlyStatuses(t, samples, waitTime, 200, 401)
	checkLast(t, samples, revoked)
}

// checkRequests: every server shows the requests that any of them answered.
func (c *cluster) checkRequests(t *testing.T) {
	k := newTenant(t, c.servers[0], "unlimited", nodegate.KeySettings{KeepParams: true, KeepResponses: true})
	for _, url := range c.urls(k) {
		until(t, "the server knows the key", func() bool { return send(t, url, balance).status == http.StatusOK })
	}
	for i, s := range c.servers {
		until(t, fmt.Sprintf("server %d shows the requests of all", i), func() bool {
			page, silent := s.Server.RequestLog().Everywhere(t.Context(), k.account, "", requestlog.Filter{Outcome: nodegate.OutcomeOK})
			ids := map[string]bool{}
			for _, e := range page.Entries {
				if strings.HasPrefix(string(e.Params), `["0x`) && strings.Contains(string(e.Reply), "result") && e.KeyID == k.id {
					ids[e.ID] = true
				}
			}
			return silent == 0 && len(ids) == len(c.servers)
		})
	}
}

// checkRedisHangs: while Redis hangs every server limits alone and nobody waits.
// Afterwards they agree again on what was used of the day.
func (c *cluster) checkRedisHangs(t *testing.T) {
	k := newTenant(t, c.servers[0], "budget", nodegate.KeySettings{})
	l := startLoad(chainID, 3, 10*time.Millisecond, nil, c.urls(k)...)
	l.see(t, 200, 10)
	var lost, found []int
	for _, s := range c.servers {
		lost, found = append(lost, logged(s, limitsAlone)), append(found, logged(s, sharedAgain))
	}
	c.redis.Pause()
	for i, s := range c.servers {
		until(t, "the limiter is lost", func() bool { return logged(s, limitsAlone) > lost[i] })
	}
	l.see(t, 200, budget/5/10/len(c.servers)) // a tenth of the day's credits without Redis
	c.redis.Resume()
	for i, s := range c.servers {
		until(t, "the limiter is found again", func() bool { return logged(s, sharedAgain) > found[i] })
	}
	samples, _ := l.wait()
	onlyStatuses(t, samples, waitTime/4, 200)

	before := c.losses()
	l = startLoad(chainID, 3, 0, nil, c.urls(k)...)
	until(t, "the day's credits are used up everywhere", func() bool {
		for _, url := range c.urls(k) {
			if send(t, url, chainID).status != 402 {
				return false
			}
		}
		return true
	})
	rest, _ := l.wait()
	onlyStatuses(t, rest, waitTime, 200, 402)
	until(t, "all usage is recorded", func() bool {
		lines, _ := usageOf(t, k.svc.Server.Control().Store, k.account)
		return lines["devnet eth_chainId ok"].requests >= count(samples, 200)+count(rest, 200)
	})
	lines, _ := usageOf(t, k.svc.Server.Control().Store, k.account)
	spent := lines["devnet eth_chainId ok"].credits
	t.Logf("%d credits were used of %d, %d while Redis hung", spent, budget, 5*len(samples))
	most := int64(budget * 105 / 100)
	if c.losses() > before { // on a machine that is too busy for Redis, as documented
		most *= int64(len(c.servers))
	}
	if spent > most || spent < budget*95/100 {
		t.Errorf("%d credits were used of %d, at most %d", spent, budget, most)
	}
}
