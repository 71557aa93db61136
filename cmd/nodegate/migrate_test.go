package main

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// grown is a stopped server's data folder in which all kinds of things have happened.
type grown struct {
	load *load
	data string
	want acked
	rows map[string][]string // of the database, by table
}

func newGrown(t *testing.T) *grown {
	t.Helper()
	g := &grown{data: filepath.Join(t.TempDir(), "data")}
	s, err := harness.Launch(g.data, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.load = startLoad(t, s)
	g.load.atLeast(t, 3)
	g.load.stop(t)
	g.want = g.load.acknowledged()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	g.rows = sqliteRows(t, g.data)
	return g
}

// notMoved are the tables that belong to a database and not to its accounts.
var notMoved = map[string]bool{"meta": true, "migrations": true, "leases": true}

// sqliteRows reads all rows of all tables.
func sqliteRows(t *testing.T, data string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "nodegate.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	all := map[string][]string{}
	for list.Next() {
		var name string
		if err := list.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if notMoved[name] {
			continue
		}
		rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+name)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			all[name] = append(all[name], rowText(columns, values))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	return all
}

// postgresRows reads the rows of tables in Postgres.
func postgresRows(t *testing.T, dsn, table string) (list []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, f := range rows.FieldDescriptions() {
		columns = append(columns, f.Name)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rowText(columns, values))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// rowText is a row as both databases write it, whatever the order of its columns.
func rowText(columns []string, values []any) string {
	row := map[string]any{}
	for i, v := range values {
		switch v := v.(type) {
		case bool:
			row[columns[i]] = map[bool]int{true: 1}[v]
		case []byte:
			row[columns[i]] = fmt.Sprintf("%x", v)
		default:
			row[columns[i]] = v
		}
	}
	text, _ := json.Marshal(row) // in the order of names
	return string(text)
}

// config writes the configuration to move to.
func (g *grown) config(t *testing.T, dsn, data, storage string) (file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "to.yaml")
	secret := filepath.Join(dir, "postgres")
	text := fmt.Sprintf("data: %q\nstore: {postgres_file: %q}\n%s\n", data, secret, storage)
	for path, text := range map[string]string{file: text, secret: dsn + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// migrate runs the command and reads its report.
func (g *grown) migrate(t *testing.T, file string, args ...string) server.MigrateReport {
	t.Helper()
	code, stdout, stderr := runHere(t.Context(), t, append([]string{"migrate", "--to-config", file, "--data", g.data, "--json"}, args...)...)
	var r server.MigrateReport
	if code != 0 || json.Unmarshal([]byte(stdout), &r) != nil {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	return r
}

// refused runs the command, which must refuse and say why.
func (g *grown) refused(t *testing.T, file, why string) {
	t.Helper()
	code, stdout, stderr := runHere(t.Context(), t, "migrate", "--to-config", file, "--data", g.data)
	if code != exitMistake || !strings.Contains(stderr, why) {
		t.Errorf("want %q: exit code %d: %s%s", why, code, stdout, stderr)
	}
}

// compare checks that all rows are there, as they are in the source, and that the source is
// as it was.
func (g *grown) compare(t *testing.T, dsn string) {
	t.Helper()
	now := sqliteRows(t, g.data)
	for table, want := range g.rows {
		if !sameRows(want, now[table]) {
			t.Errorf("the source's table %s was changed", table)
		}
		if strings.HasPrefix(table, "pin_") && len(want) == 0 || table == "pins" {
			continue // Kubo's, where content was moved to it
		}
		if got := postgresRows(t, dsn, table); !sameRows(want, got) {
			t.Errorf("%s: %d rows were moved, there are %d", table, len(got), len(want))
		}
	}
}

func sameRows(a, b []string) bool {
	count := map[string]int{}
	for _, row := range a {
		count[row]++
	}
	for _, row := range b {
		count[row]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func countOf(r server.MigrateReport, kind string) int64 {
	for _, m := range r.Moved {
		if m.Kind == kind {
			return m.Count
		}
	}
	return -1
}

// TestMigrateInPlace moves accounts to Postgres; content and networks stay in the folder,
// which the new configuration uses too.
func TestMigrateInPlace(t *testing.T) {
	full.Slow(t)
	g, dsn := newGrown(t), dbtest.Postgres(t)
	file := g.config(t, dsn, g.data, "")
	plan := g.migrate(t, file, "--dry-run")
	if tables := postgresRows(t, dsn, "information_schema.tables WHERE table_schema = 'public'"); !plan.DryRun || len(tables) != 0 {
		t.Errorf("a dry run left %d tables", len(tables))
	}
	r := g.migrate(t, file)
	if fmt.Sprint(plan.Moved) != fmt.Sprint(r.Moved) {
		t.Errorf("planned %v, moved %v", plan.Moved, r.Moved)
	}
	for _, kind := range []string{"accounts", "API keys", "usage rows", "audit entries", "cards"} {
		if countOf(r, kind) < 1 {
			t.Errorf("no %s were moved: %+v", kind, r.Moved)
		}
	}
	shownInDocs(t, r)
	g.compare(t, dsn)
	if again := g.migrate(t, file); !again.Before {
		t.Errorf("a second run: %+v", again)
	}
	g.load.onRestored(t, g.data, g.want, func(c *config.Config) { c.Store.Postgres = config.Secret(dsn) })
	if again := g.migrate(t, file); !again.Before {
		t.Errorf("after the new server has run: %+v", again)
	}
}

// shownInDocs compares a report with the sample in docs/servers.md.
func shownInDocs(t *testing.T, r server.MigrateReport) {
	t.Helper()
	page, err := os.ReadFile("../../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, _ := strings.Cut(string(page), "Moved from ")
	_, sample, _ = strings.Cut(sample, "\n\n")
	sample, _, _ = strings.Cut(sample, "\n\n")
	lines := strings.Split(sample, "\n")
	if len(lines) != len(r.Moved) {
		t.Fatalf("docs/servers.md shows %q, the command prints %+v", lines, r.Moved)
	}
	for i, m := range r.Moved {
		if !strings.HasPrefix(lines[i], m.Kind+"  ") {
			t.Errorf("docs/servers.md shows %q, the command prints %s", lines[i], m.Kind)
		}
	}
}

// kuboNode is a server of our own, whose gateway speaks Kubo's API; it can be
// closed.
type kuboNode struct {
	yaml   string
	apply  func(*config.Config)
	closed atomic.Bool  // all requests that pin hang, after the first
	pins   atomic.Int64 // requests to pin
}

func newKuboNode(t *testing.T) *kuboNode {
	t.Helper()
	n := &kuboNode{}
	node := harness.Start(t, nil)
	if err := node.AddStorageKey("storage", "unlimited", storageKey, storageSecret, nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(strings.Replace(node.Server.Addresses().Storage, "https:", "http:", 1))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/pin/add") && n.pins.Add(1) > 1 && n.closed.Load() {
			<-req.Context().Done()
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(front.Close)
	auth := "Basic " + base64.StdEncoding.EncodeToString([]byte(storageKey+":"+storageSecret))
	headers := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(headers, []byte("Authorization: "+auth+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.yaml = fmt.Sprintf("storage: {engine: kubo, kubo: {endpoints: [{url: %q, headers_file: %q}]}}", front.URL, headers)
	n.apply = func(c *config.Config) {
		c.Storage.Engine = "kubo"
		c.Storage.Kubo.Endpoints = []config.KuboEndpoint{{URL: front.URL, Headers: map[string]config.Secret{"Authorization": config.Secret(auth)}}}
	}
	return n
}

// start runs the command as a process of its own.
func (g *grown) start(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("nodegate", "migrate", "--to-config", file, "--data", g.data)
	cmd.Env = ownEnv()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test fails before it does
	return cmd
}

// interruptedWhen kills the command once something has happened, frees what it was held up
// by, and checks that nobody takes a part for the whole.
func (g *grown) interruptedWhen(t *testing.T, cmd *exec.Cmd, dsn string, happened func() bool, free func()) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatal("it doesn't get there")
		}
	}
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil {
		t.Fatal("it had ended before")
	}
	free()
	if rows := postgresRows(t, dsn, "accounts"); len(rows) != 0 {
		t.Errorf("%d accounts of a migration that was killed", len(rows))
	}
	if _, err := harness.Launch(g.data, func(c *config.Config) { c.Store.Postgres = config.Secret(dsn) }); err == nil || !strings.Contains(err.Error(), "nodegate migrate") {
		t.Errorf("a server on a part of a migration: %v", err)
	}
}

// TestMigrateToKubo moves content too. It is killed between two pins, and goes on.
func TestMigrateToKubo(t *testing.T) {
	full.Slow(t)
	g, dsn, node := newGrown(t), dbtest.Postgres(t), newKuboNode(t)
	file := g.config(t, dsn, g.data, node.yaml)
	node.closed.Store(true)
	g.interruptedWhen(t, g.start(t, file), dsn, func() bool { return node.pins.Load() > 1 }, func() { node.closed.Store(false) })
	r := g.migrate(t, file)
	if pins := countOf(r, "pins"); pins != int64(len(g.want.files)) || countOf(r, "bytes of content") == 0 {
		t.Errorf("moved %v, there are %d files", r.Moved, len(g.want.files))
	}
	g.compare(t, dsn)
	g.load.onRestored(t, g.data, g.want, func(c *config.Config) {
		c.Store.Postgres = config.Secret(dsn)
		node.apply(c)
	})
}

// TestMigrateKilledInTheRows kills the command within its transaction.
func TestMigrateKilledInTheRows(t *testing.T) {
	full.Slow(t)
	g, dsn := newGrown(t), dbtest.Postgres(t)
	file := g.config(t, dsn, g.data, "")
	store, err := sqlstore.OpenPostgres(t.Context(), dsn, nil, slog.New(slog.DiscardHandler)) // makes the tables
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, statement := range []string{"BEGIN", "LOCK TABLE departed"} { // the last one to be copied
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	g.interruptedWhen(t, g.start(t, file), dsn, func() bool {
		return len(postgresRows(t, dsn, "pg_locks WHERE NOT granted AND relation = 'departed'::regclass")) > 0
	}, func() {
		if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	})
	g.migrate(t, file)
	g.compare(t, dsn)
	g.load.onRestored(t, g.data, g.want, func(c *config.Config) { c.Store.Postgres = config.Secret(dsn) })
}

// ranOnce starts a server in a folder of its own and stops it again.
func ranOnce(t *testing.T, change func(*config.Config)) {
	t.Helper()
	s, err := harness.Launch(t.TempDir(), change)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMigrateRefuses names what is wrong, and leaves the destination as it was.
func TestMigrateRefuses(t *testing.T) {
	full.Slow(t)
	g, dsn := newGrown(t), dbtest.Postgres(t)
	other := t.TempDir()
	g.refused(t, g.config(t, dsn, other, ""), "has no pepper")
	pepper, err := os.ReadFile(filepath.Join(g.data, "pepper"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "pepper"), []byte(strings.Repeat("1f", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	g.refused(t, g.config(t, dsn, other, ""), "another pepper")
	if err := os.WriteFile(filepath.Join(other, "pepper"), pepper, 0o600); err != nil {
		t.Fatal(err)
	}
	g.refused(t, g.config(t, dsn, other, ""), "pinned content")
	g.refused(t, g.config(t, dsn, g.data, "storage: {engine: off}"), "pinned content")
	if tables := postgresRows(t, dsn, "information_schema.tables WHERE table_schema = 'public'"); len(tables) != 0 {
		t.Errorf("%d tables were made", len(tables))
	}

	sqlite := filepath.Join(t.TempDir(), "sqlite.yaml")
	if err := os.WriteFile(sqlite, []byte("data: "+g.data+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.refused(t, sqlite, "store.postgres")

	ranOnce(t, func(c *config.Config) {
		c.Store.Postgres, c.Pepper = config.Secret(dsn), config.Secret(strings.TrimSpace(string(pepper)))
	})
	g.refused(t, g.config(t, dsn, g.data, ""), "not from this data folder")

	running, err := harness.Launch(g.data, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	g.refused(t, g.config(t, dbtest.Postgres(t), g.data, ""), "stop its server")
}
