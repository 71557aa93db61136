package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/smtptest"
)

// examined runs the doctor on a configuration.
func examined(t *testing.T, yaml string) (code int, d map[string]server.Check, order []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nodegate.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runHere(t.Context(), t, "doctor", "--json", "--config", file)
	var found diagnosis
	if err := json.Unmarshal([]byte(stdout), &found); err != nil {
		t.Fatalf("%d %s%s", code, stdout, stderr)
	}
	if found.OK != (code == 0) {
		t.Errorf("ok is %v and the exit code %d", found.OK, code)
	}
	d = map[string]server.Check{}
	for _, c := range found.Checks {
		d[c.Name] = c
		order = append(order, c.Name)
	}
	return code, d, order
}

// TestDoctorChecklist runs the whole checklist against real servers: all is well, and it is
// what docs/servers.md shows.
func TestDoctorChecklist(t *testing.T) {
	full.Slow(t)
	dsn, redis, mail := dbtest.Postgres(t), dbtest.Redis(t), smtptest.Start(t, smtptest.Config{})
	node := newKuboNode(t)
	data := filepath.Join(t.TempDir(), "data")
	s, err := harness.Launch(data, func(c *config.Config) {
		c.Store.Postgres = config.Secret(dsn)
		node.apply(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Chmod(data, 0o700); err != nil {
		t.Fatal(err)
	}
	remote := s.RPC + "/devnet/v3/" + harness.KeyA
	yaml := fmt.Sprintf("data: %q\nlisten: 127.0.0.1:0\nstorage_listen: 127.0.0.1:0\nadmin_listen: %s\nstore: {postgres: %q}\nredis: {url: 'redis://%s'}\nmail: {smtp: %q, from: nodegate@example.com}\ndashboard: {url: %q}\ntrusted_proxies: [10.0.0.0/8]\nstorage: {reserve: 1MiB, %s}\nnetworks: [{name: main, nodes: [{url: %q}]}]\n",
		data, strings.TrimPrefix(s.Admin, "http://"), dsn, redis.Addr, "smtp://"+mail.Addr, s.RPC, strings.TrimSuffix(strings.TrimPrefix(node.yaml, "storage: {"), "}"), remote)
	code, checks, order := examined(t, yaml)
	for name, c := range checks {
		if c.Status == server.CheckProblem || c.Status != server.CheckOK && name != "redis" { // ours has no maxmemory
			t.Errorf("%+v", c)
		}
		if strings.Contains(c.Detail, harness.KeyA) || strings.Contains(c.Detail, storageSecret) {
			t.Errorf("%s shows a secret", name)
		}
	}
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	if len(mail.Letters()) != 0 {
		t.Error("a mail was sent")
	}
	page, err := os.ReadFile("../../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z ]*?) {2,}ok {2,}`).FindAllStringSubmatch(string(page), -1) {
		shown = append(shown, m[1])
	}
	if !slices.Equal(shown, order) {
		t.Errorf("docs/servers.md shows\n%v\nthe command prints\n%v", shown, order)
	}
}

// TestDoctorFinds breaks one thing at a time.
func TestDoctorFinds(t *testing.T) {
	full.Slow(t)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	dsn := dbtest.Postgres(t)
	ranOnce(t, func(c *config.Config) { c.Store.Postgres = config.Secret(dsn) })
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "format"), []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := t.TempDir()
	if err := os.WriteFile(filepath.Join(wrong, "pepper"), []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ check, yaml, want string }{
		{"postgres", "store: {postgres: 'postgres://u:swordfish@127.0.0.1:1/db'}", "can't use Postgres"},
		{"redis", "redis: {url: 'redis://:swordfish@127.0.0.1:1'}", "does not answer"},
		{"kubo", fmt.Sprintf("storage: {engine: kubo, kubo: {endpoints: [{url: %q}]}}", other.URL), "0 of 1 nodes answer"},
		{"mail", "mail: {smtp: 'smtp://u:swordfish@127.0.0.1:1', from: a@example.com}", "can't be reached"},
		{"balancer", fmt.Sprintf("dashboard: {url: %q}", other.URL), "something other than nodegate"},
		{"ports", "listen: " + taken.Addr().String(), "can't listen"},
		{"disk", "storage: {reserve: 1000TiB}", "nothing can be written"},
		{"data folder", "data: " + newer, "newer nodegate"},
		{"pepper", fmt.Sprintf("data: %q\nstore: {postgres: %q}", wrong, dsn), "created with another one"},
		{"pepper", fmt.Sprintf("data: %q\nstore: {postgres: %q}", t.TempDir(), dsn), "missing"},
		{"embedded", fmt.Sprintf("data: %q\nstore: {postgres: %q}", t.TempDir(), dsn), "stored content"},
	} {
		lines := strings.Split(onFreePorts, "\n")
		lines = slices.DeleteFunc(lines, func(line string) bool {
			name, _, _ := strings.Cut(line, ":")
			return strings.HasPrefix(c.yaml, name+":")
		})
		yaml := strings.Join(append(lines, c.yaml), "\n")
		if !strings.Contains(yaml, "data:") {
			yaml += fmt.Sprintf("\ndata: %q\n", t.TempDir())
		}
		code, checks, _ := examined(t, yaml)
		got := checks[c.check]
		if code != exitFailure || got.Status != server.CheckProblem || !strings.Contains(got.Detail, c.want) {
			t.Errorf("%s: exit code %d, %+v", c.yaml, code, got)
		}
		if strings.Contains(fmt.Sprint(checks), "swordfish") {
			t.Errorf("%s: it shows a password", c.check)
		}
	}
}
