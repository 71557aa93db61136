package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// admin is the user of tests, who may do everything.
const admin = "admin"

// dial is a client for tests that look behind the store's back. No user is the default one.
func dial(address, user string) (rueidis.Client, error) {
	o := rueidis.ClientOption{InitAddress: []string{address}, Username: user, ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true}
	if user != "" {
		o.Password = "any"
	}
	return rueidis.NewClient(o)
}

// ask is dial for the time of a test.
func ask(t *testing.T, address, user string) rueidis.Client {
	t.Helper()
	c, err := dial(address, user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// aclLine is the line of docs/servers.md that gives a user what nodegate needs.
var aclLine = regexp.MustCompile(`(?m)^user nodegate on >\S+ (.*)$`)

// documented are the rights that the documentation gives to nodegate's user.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	m := aclLine.FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/servers.md has no line of an ACL")
	}
	return strings.Fields(string(m[1]))
}

// limited are the arguments of a Redis whose clients may do what is documented and nothing else.
// A user for tests may do everything.
func limited(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users.acl")
	text := "user default on nopass " + strings.Join(documented(t), " ") + "\nuser " + admin + " on nopass ~* &* +@all\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--aclfile", file}
}

// nothingDenied fails the test if Redis has refused a command.
func nothingDenied(t *testing.T, address string) {
	t.Helper()
	c, err := dial(address, admin)
	if err != nil {
		return // the test has stopped it
	}
	defer c.Close()
	list, err := c.Do(context.Background(), c.B().Arbitrary("ACL", "LOG").Build()).ToArray()
	if err != nil {
		return
	}
	for _, e := range list {
		entry, _ := e.AsStrMap()
		if entry["reason"] != "auth" { // a test of a wrong password
			t.Errorf("the documented user may not do what nodegate does: %s %s (%s)", entry["reason"], entry["object"], entry["context"])
		}
	}
}

// TestACLIsNeeded: the user of the documentation may not do what nodegate doesn't do.
func TestACLIsNeeded(t *testing.T) {
	r := dbtest.Redis(t, limited(t)...)
	c := ask(t, r.Addr, "")
	for _, command := range [][]string{{"FLUSHALL"}, {"CONFIG", "GET", "*"}, {"KEYS", "*"}, {"GET", "other"}, {"SET", "other", "1"}, {"PUBLISH", "other", "1"}, {"SHUTDOWN"}} {
		err := c.Do(t.Context(), c.B().Arbitrary(command...).Build()).Error()
		if err == nil || !strings.Contains(err.Error(), "NOPERM") && !strings.Contains(err.Error(), "permissions") {
			t.Errorf("%v: got %v, want a refusal", command, err)
		}
	}
}

// TestSentinel: a server finds Redis through a Sentinel, goes on alone while a replica is
// promoted, and reports to it what was used meanwhile. It is the documented user of both; the
// replica and the Sentinel sign in as another one.
func TestSentinel(t *testing.T) {
	full.Slow(t)
	master := dbtest.Redis(t, limited(t)...)
	replica := dbtest.Replica(t, master, append(limited(t), "--masteruser", admin, "--masterauth", "any")...)
	t.Cleanup(func() { nothingDenied(t, replica.Addr) })
	on, behind := ask(t, master.Addr, admin), ask(t, replica.Addr, admin)
	waitFor(t, func() bool {
		text, err := on.Do(t.Context(), on.B().Info().Section("replication").Build()).ToString()
		return err == nil && strings.Contains(text, "state=online")
	})
	sentinel := dbtest.Sentinel(t, "main", master, admin)
	watching := ask(t, sentinel.Addr, "")
	waitFor(t, func() bool {
		list, err := watching.Do(t.Context(), watching.B().Arbitrary("SENTINEL", "REPLICAS", "main").Build()).ToArray()
		return err == nil && len(list) == 1
	})
	s, err := Open(t.Context(), "redis://"+sentinel.Addr+"?master_set=main", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close) // after the servers
	m := newMetersOn(t, s)
	total := m.use(20, 100)
	spent := func() int64 {
		n, _ := behind.Do(t.Context(), behind.B().Hget().Key(prefix+"limit:account:a").Field("spent").Build()).AsInt64()
		return n
	}
	waitFor(t, func() bool { return spent() >= total })
	nothingDenied(t, master.Addr)
	master.Stop()
	waitFor(t, func() bool {
		total += m.use(1, 100)
		text, err := behind.Do(t.Context(), behind.B().Info().Section("replication").Build()).ToString()
		return err == nil && strings.Contains(text, "role:master")
	})
	waitFor(t, func() bool { total += m.use(1, 100); return spent() >= total })
	waitFor(t, func() bool { // the Sentinel tells others a moment later
		i, err := Inspect(t.Context(), "redis://"+sentinel.Addr+"?master_set=main")
		return err == nil && i.Version != ""
	})
}

// newMetersOn is one server on a store.
func newMetersOn(t *testing.T, s *Store) *meters {
	t.Helper()
	m := newMetersWith(t, nil, 0, ratelimit.Config{}, day(1_000_000), nodegate.KeySettings{})
	m.list = append(m.list, ratelimit.New(ratelimit.Config{Shared: s, Log: slog.New(slog.DiscardHandler)}))
	return m
}

// TestSentinelWithoutName and TestCluster: what can't work is refused with the reason.
func TestSentinelWithoutName(t *testing.T) {
	sentinel := dbtest.Sentinel(t, "main", dbtest.Redis(t), "")
	_, err := Open(t.Context(), "redis://"+sentinel.Addr, slog.New(slog.DiscardHandler))
	if !errors.Is(err, nodegate.BadConfig) || !strings.Contains(err.Error(), "master_set") {
		t.Errorf("got %v", err)
	}
}

func TestCluster(t *testing.T) {
	node := dbtest.Redis(t, "--cluster-enabled", "yes")
	_, err := Open(t.Context(), "redis://"+node.Addr, slog.New(slog.DiscardHandler))
	if !errors.Is(err, nodegate.BadConfig) || !strings.Contains(err.Error(), "Redis Cluster") {
		t.Errorf("got %v", err)
	}
	if _, err := Inspect(t.Context(), "redis://"+node.Addr); !errors.Is(err, nodegate.BadConfig) {
		t.Errorf("doctor: got %v", err)
	}
}
