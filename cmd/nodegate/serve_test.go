package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/full"
)

// anywhere are flags that let several servers run beside each other.
var anywhere = []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--storage-listen", "127.0.0.1:0", "--data"}

// TestBanner starts twice in the same folder: the key is shown the first time only.
func TestBanner(t *testing.T) {
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.AdminListen, cfg.StorageListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	first, rpc, key := bannerOf(t, cfg)
	for _, want := range []string{
		"nodegate v1.2.3 is ready", "  JSON-RPC  " + rpc + "\n", "/metrics\n", cfg.Data, "nodegate account password dev@localhost\n",
		"API key   " + key.Value + "\n", "secret    " + key.Secret + "\n",
		rpc + "/devnet/v3/" + key.Value + "\n", rpc + "/rollup/v3/" + key.Value + "\n",
		"wscat -c ws" + strings.TrimPrefix(rpc, "http") + "/devnet/ws/v3/" + key.Value + "\n",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the banner lacks %q:\n%s", want, first)
		}
	}
	second, rpc, none := bannerOf(t, cfg)
	if none != nil {
		t.Errorf("the second start made a key too")
	}
	for _, want := range []string{rpc + "/<network>/v3/<API_KEY>", "devnet, rollup", "nodegate key create --account ACCOUNT"} {
		if !strings.Contains(second, want) {
			t.Errorf("the second banner lacks %q:\n%s", want, second)
		}
	}
	if strings.Contains(second, key.Value) || strings.Contains(second, key.Secret) {
		t.Errorf("the second banner shows the key:\n%s", second)
	}
	if got := wscatLine("https://127.0.0.1:8545", "devnet", "k"); got != "wscat -c wss://127.0.0.1:8545/devnet/ws/v3/k" {
		t.Errorf("with a certificate it is %q", got)
	}
}

func bannerOf(t *testing.T, cfg *config.Config) (text, rpc string, key *server.IssuedKey) {
	t.Helper()
	srv, err := start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	text, rpc, key = banner(cfg, srv, build{version: "v1.2.3"}, ""), srv.Addresses().RPC, srv.FirstKey()
	if err := drain(srv); err != nil {
		t.Fatal(err)
	}
	return text, rpc, key
}

// TestFlagsAreSettings compares the parser's flags with the table's.
func TestFlagsAreSettings(t *testing.T) {
	parser, err := newParser(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--config", "--help", "--version"}
	for _, s := range config.Settings() {
		if s.Flag != "" {
			want = append(want, s.Flag)
		}
		if s.Secret && s.Flag != "" {
			t.Errorf("%s is secret: command lines are visible to everyone on the machine", s.Flag)
		}
	}
	var got []string
	for _, f := range parser.Model.Flags {
		got = append(got, "--"+f.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("flags %v, the table has %v", got, want)
	}
}

// TestServe starts the whole service in this process, runs the curl lines of its first
// start and stops it.
func TestServe(t *testing.T) {
	full.Slow(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr safeBuffer
	read, write := io.Pipe()
	code := make(chan int, 1)
	data := t.TempDir()
	go func() {
		code <- run(ctx, append(slices.Clone(anywhere), data), nil, write, &stderr)
		write.Close()
	}()
	requests := pasteLines(t, read, data)
	if len(requests) != 2 {
		t.Fatalf("%d curl lines, want one for each network; stderr:\n%s", len(requests), &stderr)
	}
	for _, url := range requests {
		if body := post(t, url); !strings.Contains(body, `"result":"0x`) {
			t.Errorf("%s answers %s", url, body)
		}
	}
	cancel()
	go io.Copy(io.Discard, read)
	if got := <-code; got != 0 {
		t.Errorf("exit code %d, want 0; stderr:\n%s", got, &stderr)
	}
}

// TestSignal ends a real process with SIGTERM.
func TestSignal(t *testing.T) {
	data := t.TempDir()
	cmd := exec.Command("nodegate", append(slices.Clone(anywhere), data)...)
	cmd.Env = ownEnv()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if len(pasteLines(t, out, data)) != 2 {
		t.Fatal("no banner")
	}
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("stopping took %v", took)
	}
}

// TestTakenPort fails before it says that it is ready, whichever of the ports is taken,
// and before it makes an account: the credentials are for the start that succeeds.
func TestTakenPort(t *testing.T) {
	full.Slow(t)
	holder, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	data := t.TempDir()
	for _, which := range []int{1, 3, 5} {
		args := append(slices.Clone(anywhere), data)
		args[which] = holder.Addr().String()
		code, stdout, stderr := runHere(t.Context(), t, args...)
		if code == 0 || stdout != "" || !strings.Contains(stderr, "address already in use") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args[which-1], code, stdout, stderr)
		}
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.AdminListen, cfg.StorageListen = data, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	if text, _, key := bannerOf(t, cfg); key == nil || !strings.Contains(text, "secret    "+key.Secret+"\n") {
		t.Errorf("the start that succeeds shows no credentials:\n%s", text)
	}
}

// TestHiddenCredentials: what goes to a log has no password, key or secret in it; the
// file that it names has them, for its owner only.
func TestHiddenCredentials(t *testing.T) {
	p := startProcess(t)
	info, err := os.Stat(filepath.Join(p.data, credentialsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file's mode is %v: %v", info.Mode(), err)
	}
	text := firstStart(t, p.data)
	for _, line := range []string{"password  ", "API key   ", "secret    "} {
		_, value, found := strings.Cut(text, "\n  "+line)
		value, _, _ = strings.Cut(value, "\n")
		if !found || len(value) < 16 || strings.Contains(p.banner, value) {
			t.Errorf("%q is %q; the banner is\n%s", line, value, p.banner)
		}
	}
	if !strings.Contains(p.banner, "  sign-in   "+filepath.Join(p.data, credentialsFile)+"\n") || !strings.Contains(text, "nodegate account password dev@localhost\n") {
		t.Errorf("the banner is\n%s\nand the file\n%s", p.banner, text)
	}
}

// pasteLines reads a banner up to where the credentials are, and returns the address of
// each curl line to JSON-RPC in that file.
func pasteLines(t *testing.T, r io.Reader, data string) []string {
	t.Helper()
	for lines := bufio.NewScanner(r); lines.Scan() && !strings.HasPrefix(lines.Text(), "  sign-in "); {
	}
	var urls []string
	for line := range strings.Lines(firstStart(t, data)) {
		if strings.Contains(line, "/v3/") && strings.Contains(line, "curl ") {
			urls = append(urls, strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]))
		}
	}
	return urls
}

// firstStart reads the file with what the first start made.
func firstStart(t *testing.T, data string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, credentialsFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func post(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(demoRequest))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// safeBuffer can be read while a server still logs to it.
type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
