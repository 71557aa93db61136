package nodes_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// key is let in by every server here, those that play nodes too.
const key = harness.KeyA

// front is a server that was started with a file, and can be given another.
type front struct {
	*harness.Service
	file string
}

// load reads a file as the command does, for a server of a test.
func load(t *testing.T, file string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Options{File: file, Flags: map[string]string{
		"data": filepath.Join(filepath.Dir(file), "data"), "listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "storage_listen": "127.0.0.1:0",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// startFront runs a server with a configuration file.
func startFront(t *testing.T, yaml string) *front {
	t.Helper()
	f := &front{file: filepath.Join(t.TempDir(), "nodegate.yaml")}
	f.write(t, yaml)
	cfg := load(t, f.file)
	f.Service = harness.Start(t, func(c *config.Config) { *c = *cfg })
	return f
}

func (f *front) write(t *testing.T, yaml string) {
	t.Helper()
	if err := os.WriteFile(f.file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reload has the server take over another file.
func (f *front) reload(t *testing.T, yaml string) {
	t.Helper()
	f.write(t, yaml)
	if err := f.Server.Reload(t.Context(), load(t, f.file)); err != nil {
		t.Fatal(err)
	}
}

// ready waits until the server says that it is.
func (f *front) ready(t *testing.T) {
	t.Helper()
	f.await(t, "/readyz")
}

// await waits until a path answers 200.
func (f *front) await(t *testing.T, path string) {
	t.Helper()
	var status int
	var body string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if status, body = get(t, f.RPC+path); status == http.StatusOK {
			return
		}
	}
	t.Fatalf("not ready: %s", body)
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// answer is what a call came to.
type answer struct {
	status int
	header http.Header
	result string // JSON
	error  string
}

func (f *front) call(t *testing.T, network, method, params string) answer {
	t.Helper()
	a, err := f.try(t.Context(), network, method, params)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// callAs is call with another key.
func (f *front) callAs(t *testing.T, key, network, method, params string) answer {
	t.Helper()
	a, err := f.tryAs(t.Context(), key, network, method, params)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (f *front) try(ctx context.Context, network, method, params string) (answer, error) {
	return f.tryAs(ctx, key, network, method, params)
}

func (f *front) tryAs(ctx context.Context, key, network, method, params string) (answer, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL(network, key), strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	var envelope struct {
		Result json.RawMessage
		Error  struct{ Message string }
	}
	err = json.NewDecoder(res.Body).Decode(&envelope)
	return answer{res.StatusCode, res.Header, string(envelope.Result), envelope.Error.Message}, err
}
