package dbtest

import (
	"fmt"
	"net"
	"testing"
)

// Sentinel starts a Redis Sentinel that watches a server and its replicas under a name. One is
// enough for a quorum. It promotes a replica half a second after the server is gone. It signs in
// to them as user, who needs no password; "" is the default user.
func Sentinel(t testing.TB, name string, watched *RedisServer, user string) *RedisServer {
	t.Helper()
	host, port, err := net.SplitHostPort(watched.Addr)
	if err != nil {
		t.Fatal(err)
	}
	watch := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 1\nsentinel down-after-milliseconds %[1]s 500\nsentinel failover-timeout %[1]s 3000\n", name, host, port)
	if user != "" {
		watch += fmt.Sprintf("sentinel auth-user %[1]s %[2]s\nsentinel auth-pass %[1]s any\n", name, user)
	}
	return launch(t, &RedisServer{t: t, watch: watch})
}

// Replica starts a server that follows another one, with more arguments if it needs any.
func Replica(t testing.TB, of *RedisServer, args ...string) *RedisServer {
	t.Helper()
	host, port, err := net.SplitHostPort(of.Addr)
	if err != nil {
		t.Fatal(err)
	}
	return Redis(t, append([]string{"--replicaof", host + " " + port, "--repl-diskless-sync-delay", "0"}, args...)...)
}
