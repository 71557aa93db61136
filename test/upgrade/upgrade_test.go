package upgrade

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/harness"
)

// TestUpgrade opens every fixture with this build, twice: the first start may change
// what is on disk, and the second one must still find everything.
func TestUpgrade(t *testing.T) {
	fixtures, err := filepath.Glob("testdata/*.json")
	if err != nil || len(fixtures) < 2 {
		t.Fatalf("%d fixtures, %v", len(fixtures), err)
	}
	for _, file := range fixtures {
		name := strings.TrimSuffix(file, ".json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			f := unpack(t, name)
			for range 2 {
				f.check(t)
			}
		})
	}
}

// fixture is unpacked data of an earlier build.
type fixture struct {
	Manifest
	dir string // of the data
	dsn string // of the database that the dump was loaded into, or ""
}

func unpack(t *testing.T, name string) *fixture {
	t.Helper()
	text, err := os.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := &fixture{dir: filepath.Join(dir, "data")}
	if err := json.Unmarshal(text, &f.Manifest); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-xzf", name+".tar.gz", "--no-same-owner", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v %s", err, out)
	}
	if dump, err := os.ReadFile(name + ".sql"); err == nil {
		f.dsn = load(t, dump)
	}
	return f
}

// meta matches the lines of a dump that only psql understands.
var meta = regexp.MustCompile(`(?m)^\\.*$`)

// load fills a database from a dump.
func load(t *testing.T, dump []byte) (dsn string) {
	t.Helper()
	dsn = dbtest.Postgres(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.PgConn().Exec(t.Context(), string(meta.ReplaceAll(dump, nil))).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// check starts this build on the data and looks for all that the manifest lists.
func (f *fixture) check(t *testing.T) {
	t.Helper()
	logs := new(harness.Buffer)
	cfg := harness.Config(f.dir)
	cfg.Storage.Reserve, cfg.Store.Postgres = 0, config.Secret(f.dsn)
	srv, err := server.New(cfg, obs.NewLogger(logs, "text", slog.LevelDebug), server.Build{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := srv.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
		if t.Failed() {
			t.Logf("the server's log:\n%s", logs)
		}
	}()
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	if srv.First() != nil {
		t.Error("the store counts as empty: a first account was created")
	}
	f.checkKeys(t, srv)
	f.checkChains(t, srv)
	f.checkFiles(t, srv)
	f.checkStore(t, srv)
}

func (f *fixture) checkKeys(t *testing.T, srv *server.Server) {
	t.Helper()
	for _, a := range []Account{f.Account, f.Other} {
		for _, k := range a.Keys {
			status, body := post(t, srv.Addresses().RPC+"/devnet/v3/"+k.Value, k, `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`)
			if want := map[bool]int{false: http.StatusOK, true: http.StatusUnauthorized}[k.Revoked]; status != want {
				t.Errorf("a key of %s: %d %s, want %d", a.Email, status, body, want)
			}
			_, body = post(t, srv.Addresses().RPC+"/devnet/v3/"+k.Value, k, `{"jsonrpc":"2.0","id":1,"method":"hardhat_getAutomine"}`)
			if !k.Revoked && !strings.Contains(body, "-32601") {
				t.Errorf("an upgrade lets a key of %s change chains: %s", a.Email, body)
			}
		}
		if _, _, err := srv.Control().Accounts.SignIn(t.Context(), server.Attempt{Email: a.Email, Password: a.Password, From: "127.0.0.1"}); err != nil {
			t.Errorf("signing in as %s: %v", a.Email, err)
		}
	}
}

func (f *fixture) checkChains(t *testing.T, srv *server.Server) {
	t.Helper()
	call := func(network, method string, params ...any) string {
		list, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		k := f.Account.Keys[0]
		_, body := post(t, srv.Addresses().RPC+"/"+network+"/v3/"+k.Value, k, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, list))
		return body
	}
	for _, tx := range f.Sent {
		if body := call(tx.Network, "eth_getTransactionReceipt", tx.Hash); !strings.Contains(body, `"blockHash":"`+tx.Block+`"`) {
			t.Errorf("transaction %s of %s: %s", tx.Hash, tx.Network, body)
		}
	}
	for _, h := range f.Heads {
		if body := call(h.Network, "eth_getBlockByNumber", h.Number, false); !strings.Contains(body, `"hash":"`+h.Hash+`"`) {
			t.Errorf("block %s of %s: %s", h.Number, h.Network, body)
		}
	}
	for _, b := range f.Balances {
		if body := call(b.Network, "eth_getBalance", b.Address, "latest"); !strings.Contains(body, `"result":"`+b.Wei+`"`) {
			t.Errorf("balance of %s on %s: %s", b.Address, b.Network, body)
		}
	}
}

func (f *fixture) checkFiles(t *testing.T, srv *server.Server) {
	t.Helper()
	base := "http" + strings.TrimPrefix(srv.Addresses().Storage, "https") + "/api/v0/"
	k := f.Account.Keys[0]
	_, pins := post(t, base+"pin/ls?type=recursive", k, "")
	for _, file := range f.Stored {
		status, body := post(t, base+"cat?arg="+file.CID, k, "")
		if status != http.StatusOK || fmt.Sprintf("%x", sha256.Sum256([]byte(body))) != file.SHA256 {
			t.Errorf("cat %s: %d, %d bytes that are not the file's", file.CID, status, len(body))
		}
		if !strings.Contains(pins, file.CID) {
			t.Errorf("%s is not pinned: %s", file.CID, pins)
		}
	}
}

func (f *fixture) checkStore(t *testing.T, srv *server.Server) {
	t.Helper()
	report, err := srv.Control().Accounts.VerifyAudit(t.Context())
	if err != nil || report.Broken != 0 || report.Entries == 0 {
		t.Errorf("audit log: %+v, %v", report, err)
	}
	a, err := srv.Control().Accounts.Find(t.Context(), f.Account.Email)
	if err != nil {
		t.Fatal(err)
	}
	days, err := srv.Control().Store.UsageByDay(t.Context(), a.ID, time.Unix(0, 0), time.Now().Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for _, d := range days {
		requests += int(d.Requests)
	}
	if requests < f.Requests {
		t.Errorf("%d requests are counted, %d were sent", requests, f.Requests)
	}
}

// post sends a body with a key and its secret.
func post(t *testing.T, url string, k Key, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth(k.Value, k.Secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}
