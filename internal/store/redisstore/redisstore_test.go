package redisstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// server is a Redis of a test's own.
type server struct {
	t *testing.T
	*dbtest.RedisServer
}

// startRedis starts one that lets nodegate do what docs/servers.md says that it needs: a command
// that is missing there fails the test.
func startRedis(t *testing.T) *server {
	s := &server{t: t, RedisServer: dbtest.Redis(t, limited(t)...)}
	t.Cleanup(func() { s.Resume(); nothingDenied(t, s.Addr) })
	return s
}

func (s *server) open() *Store {
	s.t.Helper()
	store, err := Open(s.t.Context(), "redis://"+s.Addr, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(store.Close)
	return store
}

func take(t *testing.T, s *Store, a ratelimit.Ask) ratelimit.Lease {
	t.Helper()
	got, err := s.Take(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTake(t *testing.T) {
	s := startRedis(t).open()
	slow := ratelimit.Limit{Rate: 1, Burst: 1_000_000, PerDay: 2_000_000}
	today := take(t, s, ratelimit.Ask{Name: "probe"}).Day
	for _, c := range []struct {
		name string
		ask  ratelimit.Ask
		want ratelimit.Lease // Rest may be a little more: time passes
	}{
		{"all that is wanted", ratelimit.Ask{Need: 10, Want: 400_000}, ratelimit.Lease{Granted: 400_000, Rest: 600_000, Spent: 400_000}},
		{"not without the need", ratelimit.Ask{Need: 700_000, Want: 700_000}, ratelimit.Lease{Rest: 600_000, Spent: 400_000}},
		{"what is given back", ratelimit.Ask{Owed: -300_000}, ratelimit.Lease{Rest: 900_000, Spent: 100_000}},
		{"a debt, at most a burst", ratelimit.Ask{Owed: 1_200_000}, ratelimit.Lease{Spent: 1_300_000}},
		{"a payment", ratelimit.Ask{Owed: -1_000_000}, ratelimit.Lease{Rest: 1_000_000, Spent: 300_000}},
		{"another day's count", ratelimit.Ask{Day: today - 1, Spent: 1_900_000}, ratelimit.Lease{Rest: 1_000_000, Spent: 300_000}},
		{"a server knows of more", ratelimit.Ask{Day: today, Spent: 1_900_000}, ratelimit.Lease{Rest: 1_000_000, Spent: 1_900_000}},
		{"the rest of a day", ratelimit.Ask{Need: 1, Want: 400_000}, ratelimit.Lease{Granted: 100_000, Rest: 900_000, Spent: 2_000_000}},
		{"no more that day", ratelimit.Ask{Need: 1, Want: 1}, ratelimit.Lease{Rest: 900_000, Spent: 2_000_000}},
	} {
		c.ask.Name, c.ask.Limit, c.want.Day = "account:a", slow, today
		got := take(t, s, c.ask)
		if more := got.Rest - c.want.Rest; more < 0 || more > 60 {
			t.Errorf("%s: %d in the bucket, want %d", c.name, got.Rest, c.want.Rest)
		}
		if got.Rest, got.Incarnation, got.Asks = c.want.Rest, 0, 0; got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := take(t, s, ratelimit.Ask{Name: "key:day", Limit: ratelimit.Limit{PerDay: 10}, Need: 1, Want: 20}); got.Granted != 10 {
		t.Errorf("a day without a rate: %+v", got)
	}
}

// TestTakeIsExact: a bucket that is always asked grants rate x time + burst by
// Redis's own clock, neither more nor, by a credit, less.
func TestTakeIsExact(t *testing.T) {
	s := startRedis(t).open()
	for _, limit := range []ratelimit.Limit{{Rate: 7, Burst: 3}, {Rate: 333_333, Burst: 1}, {Rate: 1_000_000_000, Burst: 1_000_000_000}} {
		name := "account:" + time.Duration(limit.Rate).String()
		before, sum := redisTime(t, s), int64(0)
		for redisTime(t, s) < before+300_000 {
			sum += take(t, s, ratelimit.Ask{Name: name, Limit: limit, Want: limit.Burst}).Granted
		}
		sum += take(t, s, ratelimit.Ask{Name: name, Limit: limit, Want: limit.Burst}).Granted
		most := limit.Rate*(redisTime(t, s)-before)/1_000_000 + limit.Burst
		if sum > most || limit.Burst > 1 && sum < limit.Rate*3/10 {
			t.Errorf("%+v: %d granted, at most %d", limit, sum, most)
		}
	}
}

// redisTime is Redis's clock in microseconds.
func redisTime(t *testing.T, s *Store) int64 {
	t.Helper()
	c, err := s.connected("test")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := c.Do(t.Context(), c.B().Time().Build()).AsIntSlice()
	if err != nil {
		t.Fatal(err)
	}
	return parts[0]*1_000_000 + parts[1]
}

// TestExpiry: nothing stays in Redis forever, and all of it carries the prefix.
func TestExpiry(t *testing.T) {
	s := startRedis(t).open()
	take(t, s, ratelimit.Ask{Name: "probe"})
	take(t, s, ratelimit.Ask{Name: "account:a", Limit: ratelimit.Limit{Rate: 1, Burst: 1 << 20, PerDay: 1 << 30}, Want: 1 << 20})
	take(t, s, ratelimit.Ask{Name: "key:k", Limit: ratelimit.Limit{PerDay: 5}, Want: 5})
	names, err := redis(t, s).Do(t.Context(), redis(t, s).B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(names) != 2 {
		t.Fatalf("got %v, %v", names, err)
	}
	for _, name := range names {
		ttl, err := redis(t, s).Do(t.Context(), redis(t, s).B().Ttl().Key(name).Build()).AsInt64()
		if err != nil || ttl <= 0 || ttl > 1<<20+2 || !strings.HasPrefix(name, prefix) {
			t.Errorf("%s expires in %d s, %v", name, ttl, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	const secret = "hunter2hunter2"
	for url, want := range map[string]error{
		"http://u:" + secret + "@localhost":              nodegate.BadConfig,
		"redis://u:" + secret + "@local host:1":          nodegate.BadConfig,
		"redis://u:" + secret + "@localhost:1/" + secret: nodegate.BadConfig,
	} {
		_, err := Open(t.Context(), url, nil)
		if !errors.Is(err, want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v, want %v and no password", url, err, want)
		}
	}
}

// TestOpenWithoutRedis: a Redis that is away at the start is found when it comes.
func TestOpenWithoutRedis(t *testing.T) {
	const secret = "hunter2hunter2"
	r := startRedis(t)
	r.Stop()
	var log strings.Builder
	s, err := Open(t.Context(), "redis://u:"+secret+"@"+r.Addr, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(t.Context(), ratelimit.Ask{Name: "probe"}); !errors.Is(err, nodegate.Busy) {
		t.Errorf("got %v, want busy", err)
	}
	s.Close()
	if strings.Contains(log.String(), secret) || !strings.Contains(log.String(), "Redis does not answer") {
		t.Errorf("logged %s", log.String())
	}
	if s, err = Open(t.Context(), "redis://"+r.Addr, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r.Restart()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, err = s.Take(t.Context(), ratelimit.Ask{Name: "probe"}); err == nil {
			return
		}
	}
	t.Errorf("not found: %v", err)
}

// TestRefusalAfterStart: a Redis that was away at the start and refuses us when it comes is logged
// with the reason, once.
func TestRefusalAfterStart(t *testing.T) {
	plain := func(t *testing.T) *dbtest.RedisServer { return dbtest.Redis(t) }
	for name, c := range map[string]struct {
		user   string
		start  func(t *testing.T) *dbtest.RedisServer
		reason string
	}{
		"password": {"u:another@", plain, "check the user, the password"},
		"cluster":  {"", func(t *testing.T) *dbtest.RedisServer { return dbtest.Redis(t, "--cluster-enabled", "yes") }, "Redis Cluster"},
		"sentinel": {"", func(t *testing.T) *dbtest.RedisServer { return dbtest.Sentinel(t, "main", plain(t), "") }, "master_set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.start(t)
			r.Stop()
			var log lines
			s, err := Open(t.Context(), "redis://"+c.user+r.Addr, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r.Restart()
			waitFor(t, func() bool { return log.with(c.reason) > 0 })
			time.Sleep(3 * connectAgain)
			if n := log.with(c.reason); n != 1 {
				t.Errorf("logged %d times", n)
			}
		})
	}
}

// TestLoadingRedis: a Redis that still loads its data refuses nobody: it is tried again.
func TestLoadingRedis(t *testing.T) {
	full.Slow(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for b := make([]byte, 4096); ; {
					if _, err := c.Read(b); err != nil {
						return
					}
					_, _ = c.Write([]byte(strings.Repeat("-LOADING Redis is loading the dataset in memory\r\n", bytes.Count(b, []byte("*")))))
					clear(b)
				}
			}()
		}
	}()
	var log lines
	s, err := Open(t.Context(), "redis://"+l.Addr().String(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * connectAgain)
	s.Close()
	if log.with("does not answer") != 1 || log.with("rejected") != 0 {
		t.Errorf("logged %q", log.list)
	}
}

// TestUsableAfterRefusal: a Redis that has refused us at first is used when it lets us in.
func TestUsableAfterRefusal(t *testing.T) {
	full.Slow(t)
	r := dbtest.Redis(t)
	r.Stop()
	var log lines
	s, err := Open(t.Context(), "redis://u:secret@"+r.Addr, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r.Restart()
	waitFor(t, func() bool { return log.with("rejected the connection") > 0 })
	c := ask(t, r.Addr, "")
	if err := c.Do(t.Context(), c.B().Arbitrary("ACL", "SETUSER", "u", "on", ">secret", "~*", "&*", "+@all").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := s.Take(t.Context(), ratelimit.Ask{Name: "probe"}); return err == nil })
}

// lines are a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, string(line))
	return len(line), nil
}

// with counts the lines that contain a text.
func (l *lines) with(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.list {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// redis is a client of a store's Redis that may do everything.
func redis(t *testing.T, s *Store) rueidis.Client {
	t.Helper()
	return ask(t, s.options.InitAddress[0], admin)
}

// TestOpenSocket: over a unix socket, with a password.
func TestOpenSocket(t *testing.T) {
	r := startRedis(t)
	admin := r.open()
	if err := redis(t, admin).Do(t.Context(), redis(t, admin).B().ConfigSet().ParameterValue().ParameterValue("requirepass", "hunter2").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // a socket's path must be short
	forward(t, "socket", r.Addr)
	if _, err := Open(t.Context(), "unix://:wrong-hunter@/proc/self/cwd/socket", nil); !errors.Is(err, nodegate.BadConfig) || strings.Contains(err.Error(), "wrong-hunter") {
		t.Errorf("a wrong password: %v", err)
	}
	s, err := Open(t.Context(), "unix://:hunter2@/proc/self/cwd/socket", nil)
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, ratelimit.Ask{Name: "probe"})
	s.Close()
}

// forward connects a unix socket to an address.
func forward(t *testing.T, socket, address string) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
}

// TestNotices: numbers arrive at every server, also after Redis was restarted.
func TestNotices(t *testing.T) {
	r := startRedis(t)
	ctx, cancel := context.WithCancel(t.Context())
	from := r.open()
	var seen [2]atomic.Int64
	ended := make(chan struct{}, len(seen))
	for i := range seen {
		s := r.open()
		go func() {
			s.Listen(ctx, func(change int64) { seen[i].Store(change) })
			ended <- struct{}{}
		}()
	}
	arrives := func(change int64) {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			_ = from.Publish(t.Context(), change) // nobody may listen yet
			if seen[0].Load() == change && seen[1].Load() == change {
				return
			}
		}
		t.Fatalf("%d did not arrive: %d and %d", change, seen[0].Load(), seen[1].Load())
	}
	arrives(41)
	if err := redis(t, from).Do(t.Context(), redis(t, from).B().Publish().Channel(changes).Message("junk").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	arrives(42)
	r.Stop()
	if err := from.Publish(t.Context(), 43); !errors.Is(err, nodegate.Busy) {
		t.Errorf("published without Redis: %v", err)
	}
	r.Restart()
	arrives(44)
	cancel()
	<-ended
	<-ended
}

// TestTakeEndsInTime: a hung Redis does not hold a call beyond its context.
func TestTakeEndsInTime(t *testing.T) {
	r := startRedis(t)
	s := r.open()
	take(t, s, ratelimit.Ask{Name: "probe"})
	r.Pause()
	defer r.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := s.Take(ctx, ratelimit.Ask{Name: "probe"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 10*time.Second {
		t.Errorf("got %v after %v", err, time.Since(begin))
	}
}
