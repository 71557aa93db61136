package main

import (
	"os"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/test/dbtest"
)

// TestCachePurge: the command counts what it removes, and says what it lacks.
func TestCachePurge(t *testing.T) {
	redis := "redis: {url: 'redis://" + dbtest.Redis(t).Addr + "'}\n"
	const networks = "networks: [{name: main, nodes: [{name: a, url: 'http://127.0.0.1:1'}]}]\n"
	for _, c := range []struct {
		name, yaml string
		args       []string
		code       int
		out        string
	}{
		{"nothing there", redis + networks, nil, 0, "removed 0 responses from the shared cache"},
		{"one network", redis + networks, []string{"--network", "main", "--json"}, 0, `"removed":0`},
		{"no such network", redis + networks, []string{"--network", "mian"}, exitFailure, "there is no network"},
		{"no Redis", networks, nil, exitMistake, "redis.url is not set"},
		{"Redis is away", "redis: {url: 'redis://127.0.0.1:1'}\n" + networks, nil, exitFailure, "Redis does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("nodegate.yaml", []byte(c.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := runHere(t.Context(), t, append([]string{"--config", "nodegate.yaml", "cache", "purge"}, c.args...)...)
			if code != c.code || !strings.Contains(stdout+stderr, c.out) {
				t.Errorf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
			}
		})
	}
}
