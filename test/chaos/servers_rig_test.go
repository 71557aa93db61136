package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/dbtest"
)

// serverCount is how many servers there are behind the balancer.
const serverCount = 3

// fleet is several servers on one Postgres and one Redis behind HAProxy, before two nodes.
type fleet struct {
	t       *testing.T
	db      *dbtest.Server
	redis   *dbtest.RedisServer
	nodes   []*gate
	servers []*gate
	front   string // where HAProxy listens
	made    int    // accounts so far
	caller  *caller
}

// The plans of the accounts whose limits are counted. Calls cost 80 credits.
const (
	callCost   = 80
	rateCalls  = 10 // a second
	rateBucket = 20
	dailyCalls = 700
)

const fleetYAML = `default_plan: open
shutdown_delay: 2s
plans:
  open: {}
  rate: {credits_per_second: %d, burst: %d}
  daily: {credits_per_day: %d}
trusted_proxies: [127.0.0.1]
storage: {engine: "off"}
store: {postgres: %q}
redis: {url: %q}
`

// startFleet starts all of it, with HAProxy as deploy/haproxy.cfg sets it up.
func startFleet(t *testing.T) *fleet {
	t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("haproxy is not installed: apt-get install haproxy")
	}
	f := &fleet{t: t, db: dbtest.PostgresServer(t), redis: dbtest.Redis(t), nodes: startChains(t, 2), caller: newCaller(t)}
	yaml := fmt.Sprintf(fleetYAML, callCost*rateCalls, callCost*rateBucket, callCost*dailyCalls, f.db.DSN, "redis://"+f.redis.Addr) + remoteYAML(urlsOf(f.nodes)...)
	const pepper = "NODEGATE_PEPPER=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	for range serverCount {
		f.servers = append(f.servers, startGate(t, yaml, pepper))
	}
	for _, s := range f.servers {
		s.allHealthy(len(f.nodes))
	}
	f.startBalancer(haproxy)
	return f
}

// startBalancer runs HAProxy on a listener that it inherits, so that no port is guessed.
func (f *fleet) startBalancer(haproxy string) {
	f.t.Helper()
	text, err := os.ReadFile("../../deploy/haproxy.cfg")
	if err != nil {
		f.t.Fatal(err)
	}
	file := f.servers[0].path("work", "haproxy.cfg")
	set := strings.NewReplacer("bind :8545", "bind fd@3", "maxconn 20000", "maxconn 1000", "nodegate-1:8545", f.servers[0].listen,
		"nodegate-2:8545", f.servers[1].listen, "nodegate-3:8545", f.servers[2].listen)
	if err := os.WriteFile(file, []byte(set.Replace(string(text))), 0o600); err != nil {
		f.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	defer ln.Close()
	socket, err := ln.(*net.TCPListener).File()
	if err != nil {
		f.t.Fatal(err)
	}
	defer socket.Close()
	logs := new(buffer)
	cmd := exec.Command(haproxy, "-db", "-f", file)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = logs, logs, []*os.File{socket}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text := logs.String(); f.t.Failed() {
			f.t.Logf("the end of HAProxy's log:\n%s", text[max(0, len(text)-4000):])
		}
	})
	f.front = ln.Addr().String()
}

// run runs a command of the program beside the servers and reads what it prints.
func (f *fleet) run(into any, args ...string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	out, err := f.servers[0].command(ctx, append(args, "--json")...).Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		f.t.Fatalf("nodegate %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// customer is an account with a key.
type customer struct{ email, key string }

// join creates an account on a plan.
func (f *fleet) join(plan string) customer {
	f.t.Helper()
	f.made++
	c := customer{email: fmt.Sprintf("c%d@example.com", f.made)}
	var account struct{ ID string }
	f.run(&account, "account", "create", c.email, "--no-password", "--plan", plan)
	var k issued
	f.run(&k, "key", "create", "--account", c.email)
	c.key = k.Key
	return c
}

// recorded is how many calls of a customer with a result the store has, and their credits.
func (f *fleet) recorded(c customer) (calls, credits int64) {
	f.t.Helper()
	var got struct {
		Rows []struct {
			Outcome           string
			Requests, Credits int64
		}
	}
	f.run(&got, "usage", "--account", c.email, "--from", "1h")
	for _, row := range got.Rows {
		if row.Outcome == "ok" {
			calls += row.Requests
		}
		credits += row.Credits
	}
	return calls, credits
}

// flushed waits until every server has written its usage: a call that each of them answers now
// is in the store.
func (f *fleet) flushed() {
	f.t.Helper()
	c := f.join("open")
	for _, s := range f.servers {
		f.until("a server answers a new key", func() bool { return f.caller.read(f.t.Context(), "http://"+s.listen+"/main/v3/"+c.key, 0) == nil })
	}
	f.until("all servers have written their usage", func() bool {
		calls, _ := f.recorded(c)
		return calls >= serverCount
	})
}

// patient is how long something may take that has to happen, on any machine.
const patient = 2 * time.Minute

func (f *fleet) until(what string, holds func() bool) {
	f.t.Helper()
	for end := time.Now().Add(patient); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("it never happens that %s", what)
		}
	}
}

// alone counts how often a server had to apply limits without Redis.
func (f *fleet) alone() (n int) {
	for _, s := range f.servers {
		n += s.logged("each server applies limits on its own")
	}
	return n
}

// sharedAgain is what a server logs when it has Redis again.
const sharedAgain = "the shared rate limiter answers again"

// logged counts the lines of a server's log with a text.
func (g *gate) logged(text string) int { return strings.Count(g.logs.String(), text) }

// settled waits until HAProxy asks all servers, every server asks all nodes and shares its
// limits, so that each fault meets a fleet that is well.
func (f *fleet) settled() {
	f.t.Helper()
	for _, s := range f.servers {
		s.allHealthy(len(f.nodes))
		f.until("a server has Redis", func() bool { return s.metric("nodegate_redis_up") != 0 })
	}
	c := f.join("open")
	before := make([]float64, len(f.servers))
	for i, s := range f.servers {
		before[i] = s.metric("nodegate_rpc_requests_total")
	}
	f.until("all servers get requests of HAProxy", func() bool {
		for range 2 * serverCount {
			_ = f.caller.read(f.t.Context(), f.url(c), 0)
		}
		for i, s := range f.servers {
			if s.metric("nodegate_rpc_requests_total") == before[i] {
				return false
			}
		}
		return true
	})
}

// url is a customer's endpoint at the balancer.
func (f *fleet) url(c customer) string { return "http://" + f.front + "/main/v3/" + c.key }

// restart stops a server under load as a service manager does, starts it again, and waits until
// it gets requests.
func (f *fleet) restart(s *gate) {
	f.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Fatal(err)
	}
	late := time.AfterFunc(patient, func() { _ = s.cmd.Process.Kill() })
	state, err := s.cmd.Process.Wait()
	if !late.Stop() || err != nil || !state.Success() {
		f.t.Errorf("a server that is stopped: %v, %v\n%.4000s", state, err, s.logs)
	}
	s.again()
	// A server that is ready is not in use yet: the balancer has to notice. Without this wait the
	// next one would be stopped while the balancer has none left.
	f.until("HAProxy uses the server again", func() bool { return s.metric("nodegate_rpc_requests_total") > 0 })
}
