package chaos

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestServers is row 62: three servers on one Postgres and one Redis behind HAProxy, under a
// steady load of three accounts, while one thing after the other fails. Clients repeat nothing.
func TestServers(t *testing.T) {
	if os.Getenv(fullEnv) == "" {
		t.Skip("it takes some minutes: make chaos")
	}
	f := startFleet(t)
	for _, fault := range []fleetFault{
		{name: "control, no fault", do: func(f *fleet) { rest(faultLasts) }},
		{name: "rolling restart, SIGTERM", do: restartAll, restarts: true},
		{name: "kill -9 of a server", do: killOne, dies: true, restarts: true},
		{name: "Redis stopped 10 s, back empty", do: stopRedis},
		{name: "Postgres killed, away 10 s", do: stopPostgres},
		{name: "kill -9 of a node", do: killNode},
	} {
		t.Run(fault.name, func(t *testing.T) { f.during(t, fault) })
	}
}

// fleetFault is something that happens to a fleet.
type fleetFault struct {
	name string
	do   func(f *fleet)
	dies bool // a server, with the calls and the usage that it had in memory

	restarts bool // servers begin new logs
}

// How long the load runs before, in and after a fault.
const (
	faultAfter = 5 * time.Second
	faultLasts = 10 * time.Second
	faultTail  = 10 * time.Second
)

// rest lets the load go on.
func rest(d time.Duration) { time.Sleep(d) }

func restartAll(f *fleet) {
	for _, s := range f.servers {
		f.restart(s)
	}
}

func killOne(f *fleet) {
	f.servers[1].kill()
	rest(faultLasts)
	f.servers[1].again()
}

func stopRedis(f *fleet) {
	var before []int
	for _, s := range f.servers {
		before = append(before, s.logged(sharedAgain))
	}
	f.redis.Stop()
	rest(faultLasts)
	f.redis.Restart()
	for i, s := range f.servers {
		f.until("a server shares its limits again", func() bool { return s.logged(sharedAgain) > before[i] })
	}
}

func stopPostgres(f *fleet) {
	f.db.Kill()
	rest(faultLasts)
	f.db.Restart()
}

func killNode(f *fleet) {
	f.nodes[0].kill()
	rest(faultLasts)
	f.nodes[0].again()
}

// The load of each account, in calls a second.
const (
	openRate    = 100
	limitedRate = 4 * rateCalls
)

// during puts a fault under load and compares what clients saw with limits and usage.
func (f *fleet) during(t *testing.T, fault fleetFault) {
	o := begin(t, 62, "three servers: "+fault.name, "no errors but calls in flight, limits and usage as documented")
	was := f.t
	f.t = t
	defer func() { f.t = was }()
	f.settled()
	open, rate, daily := f.begin("open", openRate), f.begin("rate", limitedRate), f.begin("daily", limitedRate)
	alone := f.alone()
	rest(faultAfter)
	begun := time.Now()
	fault.do(f)
	rest(time.Until(begun.Add(faultLasts)))
	over := time.Now()
	rest(faultTail)
	loads := []*load{open, rate, daily}
	for _, l := range loads {
		l.end()
	}
	f.settled()
	f.flushed()
	lonely := f.alone() - alone
	if fault.restarts { // their logs are gone
		lonely = serverCount + 1
	}
	o.say("%s; %s; %s; %s", errorsOf(loads), rate.checkRate(lonely > 0), daily.checkDay(lonely, over), f.checkUsage(loads, fault.dies, begun))
	f.checkErrors(loads, fault.dies)
}

// load is the calls of one account.
type load struct {
	f    *fleet
	who  customer
	stop func() *tally

	mu        sync.Mutex
	accepted  []time.Time // when the answer came
	limited   int
	last      error // that was no limit
	errors    int
	begun     time.Time
	finished  time.Time
	dayBefore int
}

// begin calls as a new account, at a rate. An answer that is a limit is no error.
func (f *fleet) begin(plan string, rate int) *load {
	f.t.Helper()
	l := &load{f: f, who: f.join(plan), begun: time.Now(), dayBefore: time.Now().UTC().YearDay()}
	l.stop = streaming(f.t, rate, func(i int) error {
		a, err := f.caller.post(f.t.Context(), f.url(l.who), balance(i))
		l.note(a, err)
		return nil
	})
	return l
}

func (l *load) note(a answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && a.status == http.StatusOK && a.result != nil:
		l.accepted = append(l.accepted, time.Now())
	case err == nil && (a.status == http.StatusTooManyRequests || a.status == http.StatusPaymentRequired):
		l.limited++
	default:
		l.errors++
		if err == nil {
			err = fmt.Errorf("%d %.200s", a.status, a.body)
		}
		l.last = err
	}
}

// end waits for the last answers.
func (l *load) end() {
	l.stop()
	l.finished = time.Now()
}

// calls is how many there were.
func (l *load) calls() int { return len(l.accepted) + l.limited + l.errors }

// after counts the accepted calls that were answered since a time.
func (l *load) after(when time.Time) (n int) {
	for _, at := range l.accepted {
		if at.After(when) {
			n++
		}
	}
	return n
}

func errorsOf(loads []*load) string {
	failed, all := 0, 0
	for _, l := range loads {
		failed, all = failed+l.errors, all+l.calls()
	}
	return fmt.Sprintf("%d of %d calls failed", failed, all)
}

// checkErrors: nothing fails but what a server was doing when it was killed.
func (f *fleet) checkErrors(loads []*load, dies bool) {
	f.t.Helper()
	for _, l := range loads {
		most := 0
		if dies { // calls in flight on it, and those that reach it before HAProxy sees that it is gone
			most = l.calls() / 50
		}
		if l.errors > most {
			f.t.Errorf("%d of %d calls of an account failed, the last with: %v", l.errors, l.calls(), l.last)
		}
	}
}

// checkRate compares what was accepted with the rate limit. Servers that had to go on alone may
// give it each.
func (l *load) checkRate(alone bool) string {
	l.f.t.Helper()
	took := l.finished.Sub(l.begun).Seconds()
	allowed := rateCalls*took + rateBucket + serverCount*rateCalls/10 + 1
	got := float64(len(l.accepted))
	if most := allowed * share(alone); got > most || got < rateBucket {
		l.f.t.Errorf("the rate limit allows %.0f calls in %.1f s, at most %.0f with servers alone, and %.0f were accepted of %d", allowed, took, most, got, l.calls())
	}
	return fmt.Sprintf("rate limit %.0f of %.0f", got, allowed)
}

// checkDay compares what was accepted with the daily credits, of which each server may hold one
// lease of one call. Servers that were alone once, until over, together pass them by no more than
// they had already used then.
func (l *load) checkDay(lonely int, over time.Time) string {
	l.f.t.Helper()
	got := len(l.accepted)
	if time.Now().UTC().YearDay() != l.dayBefore {
		return fmt.Sprintf("daily credits %d over midnight", got)
	}
	most := dailyCalls
	switch {
	case lonely > serverCount: // some more than once, on a machine that is too busy for Redis
		most *= serverCount
	case lonely > 0:
		most = max(most, got-l.after(over))
	}
	if got > most+2*serverCount || got < dailyCalls-dailyCalls/20 {
		l.f.t.Errorf("the daily credits allow %d calls, at most %d here, and %d were accepted of %d", dailyCalls, most, got, l.calls())
	}
	return fmt.Sprintf("daily credits %d of %d", got, dailyCalls)
}

// share is how many times a limit is given.
func share(alone bool) float64 {
	if alone {
		return serverCount
	}
	return 1
}

// flushEvery is the default of usage.flush, with the time that a busy machine needs for it.
const flushEvery = 5*time.Second + 5*time.Second

// checkUsage compares the store with what was answered. Answers that didn't arrive are in the
// store all the same; a server that is killed takes what it had not written with it.
func (f *fleet) checkUsage(loads []*load, dies bool, killed time.Time) string {
	f.t.Helper()
	var answered, stored int64
	var bad []error
	for _, l := range loads {
		calls, _ := f.recorded(l.who)
		n := int64(len(l.accepted))
		least := n
		if dies {
			least -= int64(l.after(killed.Add(-flushEvery)) - l.after(killed.Add(time.Second)))
		}
		if calls < least || calls > n+int64(l.errors) {
			bad = append(bad, fmt.Errorf("%d calls were answered and %d failed, usage has %d", n, l.errors, calls))
		}
		answered, stored = answered+n, stored+calls
	}
	if err := errors.Join(bad...); err != nil {
		f.t.Error(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return fmt.Sprintf("usage %d of %d answered", stored, answered)
}
