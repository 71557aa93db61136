package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// soon is how long a running server may take to follow a change on a busy machine. It takes
// about half a second; internal/accounts/auth tests in fake time that it is no more than one.
const soon = 30 * time.Second

// process is a server that runs in a process of its own.
type process struct{ data, rpc, admin, key, banner string }

// ownEnv is the environment without settings of whoever runs the tests.
func ownEnv(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "NODEGATE_") })
	return append(env, more...)
}

func startProcess(t *testing.T, env ...string) *process {
	t.Helper()
	p := &process{data: t.TempDir()}
	cmd := exec.Command("nodegate", append(slices.Clone(anywhere), p.data)...)
	cmd.Env = ownEnv(env...)
	var stderr safeBuffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v\n%s", err, &stderr)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.banner += lines.Text() + "\n"
		if words := strings.Fields(lines.Text()); len(words) == 2 && words[0] == "JSON-RPC" {
			p.rpc = words[1]
		} else if len(words) == 2 && words[0] == "metrics" {
			p.admin = strings.TrimSuffix(strings.TrimPrefix(words[1], "http://"), "/metrics")
		} else if len(words) == 2 && words[0] == "sign-in" {
			_, rest, _ := strings.Cut(firstStart(t, p.data), "  API key   ")
			p.key, _, _ = strings.Cut(rest, "\n")
			break
		}
	}
	if p.rpc == "" || p.key == "" {
		t.Fatalf("no banner; stderr:\n%s", &stderr)
	}
	go io.Copy(io.Discard, out)
	return p
}

// command runs nodegate beside the server.
func (p *process) command(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runProcess(t, p.data, input, args...)
}

func runProcess(t *testing.T, data, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("nodegate", append(slices.Clone(args), "--data", data)...)
	cmd.Env, cmd.Stdin = ownEnv(), strings.NewReader(input)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// must runs a command that succeeds and prints one JSON object.
func (p *process) must(t *testing.T, args ...string) map[string]any {
	t.Helper()
	code, stdout, stderr := p.command(t, "", append(args, "--json")...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(stdout), &object); err != nil {
		t.Fatalf("%v prints %s: %v", args, stdout, err)
	}
	return object
}

// makeKey makes a key of the first account.
func (p *process) makeKey(t *testing.T, flags ...string) (id, key, secret string) {
	t.Helper()
	made := p.must(t, append([]string{"key", "create", "--account", "dev@localhost"}, flags...)...)
	return made["id"].(string), made["api_key"].(string), made["api_key_secret"].(string)
}

// call makes a request, with a secret where it is not "".
func (p *process) call(t *testing.T, key, secret, method string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.rpc+"/devnet/v3/"+key, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":[]}`, method)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.SetBasicAuth("", secret)
	}
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

// becomes waits until a call is answered with a status.
func (p *process) becomes(t *testing.T, want int, key, secret, method string) {
	t.Helper()
	begin := time.Now()
	for {
		got, body := p.call(t, key, secret, method)
		if got == want {
			t.Logf("%d after %v", want, time.Since(begin).Round(time.Millisecond))
			return
		}
		if time.Since(begin) > soon {
			t.Fatalf("after %v the status is %d, want %d: %s", soon, got, want, body)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestBesideAServer changes accounts and keys with the command line, and watches
// a running server follow.
func TestBesideAServer(t *testing.T) {
	full.Slow(t)
	p := startProcess(t, "NODEGATE_USAGE_FLUSH=1s")
	t.Run("a new key works and a revoked one doesn't", p.testRevoke)
	t.Run("rotate", p.testRotate)
	t.Run("settings", p.testSettings)
	t.Run("plan", p.testPlan)
	t.Run("usage", p.testUsage)
	t.Run("other accounts", p.testForeign)
	t.Run("export", p.testExport)
	t.Run("gc", p.testCollect)
	if code, out, stderr := p.command(t, "", "audit", "verify"); code != 0 {
		t.Errorf("audit verify: %d %s%s", code, out, stderr)
	}
}

// testCollect: the server collects its own data folder, by whatever name it is given, and
// refuses a command that means another one.
func (p *process) testCollect(t *testing.T) {
	link := t.TempDir() + "/link"
	if err := os.Symlink(p.data, link); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{p.data, link} {
		if code, out, stderr := runProcess(t, data, "", "gc", "--dry-run", "--admin-listen", p.admin); code != 0 || !strings.Contains(out, "would collect") {
			t.Errorf("gc of %s: %d %s%s", data, code, out, stderr)
		}
	}
	for _, other := range []string{withKeys(t, 0), t.TempDir(), t.TempDir() + "/missing"} {
		code, out, stderr := runProcess(t, other, "", "gc", "--admin-listen", p.admin)
		if code != exitMistake || out != "" {
			t.Errorf("gc of another folder: exit code %d, %s", code, out)
		}
		for _, part := range []string{p.admin, p.data, other, "--data", "--admin-listen"} {
			if !strings.Contains(stderr, part) {
				t.Errorf("the refusal doesn't name %s: %s", part, stderr)
			}
		}
	}
}

// testExport: an export has the pins, which belong to the running server, and a server with
// another data folder is not asked for them.
func (p *process) testExport(t *testing.T) {
	_, key, secret := p.makeKey(t, "--name", "for storage")
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "kept.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte("kept"))
	_ = form.Close()
	address := regexp.MustCompile(`storage\s+https://([^/\s]+)`).FindStringSubmatch(p.banner)
	if address == nil {
		t.Fatalf("no storage gateway in %s", p.banner)
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+address[1]+"/api/v0/add?pin-name=kept", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.SetBasicAuth(key, secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	code, out, stderr := p.command(t, "", "account", "export", "dev@localhost", "--admin-listen", p.admin)
	var export struct{ Pins []struct{ Name string } }
	if err := json.Unmarshal([]byte(out), &export); res.StatusCode != http.StatusOK || code != 0 || err != nil || len(export.Pins) != 1 || export.Pins[0].Name != "kept" {
		t.Errorf("upload %d; export %d, %v: %s%s", res.StatusCode, code, err, out, stderr)
	}
	code, _, stderr = runProcess(t, withKeys(t, 0), "", "account", "export", "a@example.com", "--admin-listen", p.admin)
	if code != exitMistake || !strings.Contains(stderr, p.data) {
		t.Errorf("of another folder: exit code %d, %s", code, stderr)
	}
}

func (p *process) testRevoke(t *testing.T) {
	id, key, _ := p.makeKey(t, "--name", "short life")
	p.becomes(t, 200, key, "", "eth_blockNumber")
	if got := p.must(t, "key", "revoke", "--account", "dev@localhost", id)["state"]; got != "revoked" {
		t.Errorf("its state is %v", got)
	}
	p.becomes(t, 401, key, "", "eth_blockNumber")
	if status, _ := p.call(t, p.key, "", "eth_blockNumber"); status != 200 {
		t.Errorf("the first key answers %d", status)
	}
}

func (p *process) testRotate(t *testing.T) {
	id, key1, secret1 := p.makeKey(t, "--secret-required")
	p.becomes(t, 200, key1, secret1, "eth_blockNumber")
	p.becomes(t, 401, key1, "", "eth_blockNumber")
	rotate := func(flags ...string) map[string]any {
		return p.must(t, append([]string{"key", "rotate", "--account", "dev@localhost", id}, flags...)...)
	}
	second := rotate("--overlap", "24h")
	key2, secret2 := second["api_key"].(string), second["api_key_secret"].(string)
	for _, key := range []string{key2, key1} {
		for _, secret := range []string{secret2, secret1} {
			p.becomes(t, 200, key, secret, "eth_blockNumber")
		}
	}
	third := rotate("--overlap", "1s", "--key-only")
	key3 := third["api_key"].(string)
	if _, new := third["api_key_secret"]; new {
		t.Error("--key-only made a new secret")
	}
	p.becomes(t, 200, key3, secret2, "eth_blockNumber")
	p.becomes(t, 401, key1, secret2, "eth_blockNumber") // only the last one has an overlap
	p.becomes(t, 401, key2, secret2, "eth_blockNumber")
	if status, _ := p.call(t, key3, secret2, "eth_blockNumber"); status != 200 {
		t.Errorf("the newest key answers %d", status)
	}
}

func (p *process) testSettings(t *testing.T) {
	id, key, _ := p.makeKey(t)
	p.becomes(t, 200, key, "", "eth_blockNumber")
	set := func(flag string) { p.must(t, "key", "set", "--account", "dev@localhost", id, flag) }
	set("--methods=eth_chainId,eth_call")
	p.becomes(t, 403, key, "", "eth_blockNumber")
	p.becomes(t, 200, key, "", "eth_chainId")
	set("--methods=")
	p.becomes(t, 200, key, "", "eth_blockNumber")
	set("--origins=https://app.example.com")
	p.becomes(t, 403, key, "", "eth_blockNumber")
}

func (p *process) testPlan(t *testing.T) {
	p.must(t, "account", "create", "plan@example.com", "--no-password", "--plan", "unlimited")
	if got := p.must(t, "account", "plan", "plan@example.com", "free")["plan"]; got != "free" {
		t.Errorf("its plan is %v", got)
	}
	code, _, stderr := p.command(t, "", "key", "create", "--account", "plan@example.com", "--credits-per-second", "2001")
	if code != exitMistake || !strings.Contains(stderr, "can't exceed the plan's 2000 credits a second") {
		t.Errorf("a limit above the new plan's: %d %s", code, stderr)
	}
}

func (p *process) testUsage(t *testing.T) {
	today := nodegate.ByDay.Start(time.Now())
	id, key, _ := p.makeKey(t, "--methods", "eth_chainId")
	p.becomes(t, 200, key, "", "eth_chainId")
	for range 4 {
		p.call(t, key, "", "eth_chainId")
	}
	p.call(t, key, "", "eth_blockNumber")
	type figures struct{ Requests, Credits, Errors int64 }
	var got struct {
		Rows []struct {
			figures
			Network, Method, Outcome string
		}
		Total figures
	}
	want := "[{{5 25 0} devnet eth_chainId ok} {{1 5 1} devnet eth_blockNumber forbidden}]"
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, out, stderr := p.command(t, "", "usage", "--account", "dev@localhost", "--key", id, "--json")
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v: %s%s", err, out, stderr)
		}
		slices.Reverse(got.Rows)
		if fmt.Sprint(got.Rows) == want && got.Total == (figures{6, 30, 1}) {
			break
		}
		if time.Since(begin) > soon {
			t.Fatalf("the usage is %v, total %v", got.Rows, got.Total)
		}
	}
	show := p.must(t, "account", "show", "dev@localhost")
	if used := show["credits_today"].(float64); used < 30 && today.Equal(nodegate.ByDay.Start(time.Now())) {
		t.Errorf("credits used today: %v", used)
	}
}

// testForeign names a key by another account: it is not there.
func (p *process) testForeign(t *testing.T) {
	id, key, _ := p.makeKey(t)
	p.must(t, "account", "create", "other@example.com", "--no-password")
	for _, args := range [][]string{
		{"key", "revoke", id}, {"key", "rotate", id}, {"key", "set", id, "--name", "mine"}, {"usage", "--key", id},
	} {
		code, stdout, stderr := p.command(t, "", append(args, "--account", "other@example.com")...)
		if code != exitFailure || stdout != "" || !strings.Contains(stderr, "has no live key with the id") {
			t.Errorf("%v: %d %s%s", args, code, stdout, stderr)
		}
	}
	p.becomes(t, 200, key, "", "eth_blockNumber")
}
