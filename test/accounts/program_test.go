package accounts_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/harness"
)

// program is the built command, once for all tests.
var program struct {
	sync.Once
	dir, path string
	err       error
}

func build(t *testing.T) string {
	t.Helper()
	p := &program
	p.Do(func() {
		if p.path = os.Getenv("PROGRAM_UNDER_TEST"); p.path != "" {
			return // test/run has built it
		}
		if p.dir, p.err = os.MkdirTemp("", "nodegate-program"); p.err != nil {
			return
		}
		p.path = filepath.Join(p.dir, "nodegate")
		cmd := exec.Command("go", "build", "-o", p.path, "../../cmd/nodegate")
		cmd.Stderr = os.Stderr
		p.err = cmd.Run()
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.path
}

// process is the program while it runs.
type process struct {
	cmd    *exec.Cmd
	out    *harness.Buffer
	errors *harness.Buffer
	ended  chan error
}

// run starts the program on a folder and waits until it says where it listens.
func run(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	p := &process{out: new(harness.Buffer), errors: new(harness.Buffer), ended: make(chan error, 1)}
	p.cmd = exec.Command(build(t), "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--storage-listen", "127.0.0.1:0")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "NODEGATE_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errors
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	until(t, "the program is ready", func() bool {
		text := p.out.String()
		return strings.Contains(text, "new key ") || strings.Contains(text, "first-start.txt\n")
	})
	return p
}

func (p *process) end(t *testing.T, sig syscall.Signal) error {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		return err
	case <-time.After(waitTime):
		t.Fatalf("the program does not end: %s", p.errors)
		return nil
	}
}

var (
	keyLine    = regexp.MustCompile(`(?m)^  API key   ([0-9a-f]{32})$`)
	secretLine = regexp.MustCompile(`(?m)^  secret    ([0-9a-f]{40})$`)
	curlLines  = regexp.MustCompile(`(?m)^  curl .*/v3/.*$`)
	fileLines  = regexp.MustCompile(`(?m)^  (?:echo hello \| )?curl .*/api/v0/.*$`)
	addressIs  = regexp.MustCompile(`(?m)^  JSON-RPC  (\S+)$`)
)

// TestProgram follows a newcomer: the first start writes a key and requests that work as
// they are into a file, and neither into its output; the second start, after a kill, shows none, and the key still works.
func TestProgram(t *testing.T) {
	t.Parallel()
	const flush = time.Second
	dir := t.TempDir()
	p := run(t, dir, "NODEGATE_USAGE_FLUSH="+flush.String())
	text, err := os.ReadFile(filepath.Join(dir, "first-start.txt"))
	if err != nil {
		t.Fatal(err)
	}
	banner, made := p.out.String(), string(text)
	key, secret := keyLine.FindStringSubmatch(made), secretLine.FindStringSubmatch(made)
	if key == nil || secret == nil || strings.Count(made, secret[1]) != 3 { // by itself, to add and to cat
		t.Fatalf("the first start writes:\n%s", made)
	}
	if strings.Contains(banner, key[1]) || strings.Contains(banner, secret[1]) {
		t.Errorf("the first start says:\n%s", banner)
	}
	pasted := runCurls(t, made)

	l := startLoad(chainID, 4, 5*time.Millisecond, nil, addressOf(t, banner)+"/devnet/v3/"+key[1])
	until(t, "much was answered long ago", func() bool { return answeredBefore(l.soFar(), time.Now().Add(-flush-flushSlack)) > 100 })
	killed := time.Now()
	_ = p.end(t, syscall.SIGKILL)
	samples, _ := l.wait()
	checkKilled(t, dir, samples, pasted, killed, flush)

	p = run(t, dir)
	again := p.out.String()
	if keyLine.MatchString(again) || secretLine.MatchString(again) || strings.Contains(again, key[1]) || strings.Contains(again, secret[1]) {
		t.Errorf("the second start says:\n%s", again)
	}
	url := addressOf(t, again) + "/rollup/v3"
	send(t, url, chainID, "Authorization", basic(key[1], secret[1])).want(t, 200, 0, "", "1")
	if err := p.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, p.errors)
	}
	if log := p.errors.String(); strings.Contains(log, key[1]) || strings.Contains(log, secret[1]) {
		t.Errorf("the log has the key or its secret:\n%s", log)
	}
}

func addressOf(t *testing.T, banner string) string {
	t.Helper()
	m := addressIs.FindStringSubmatch(banner)
	if m == nil {
		t.Fatalf("no address in:\n%s", banner)
	}
	return m[1]
}

// runCurls pastes the lines into a shell, and returns how many there were.
func runCurls(t *testing.T, banner string) int64 {
	t.Helper()
	lines := curlLines.FindAllString(banner, -1)
	if len(lines) != 2 {
		t.Fatalf("want two curl lines in:\n%s", banner)
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("curl is not installed: its lines were not tried")
		return 0
	}
	for _, l := range lines {
		reply{status: 200, body: paste(t, l)}.want(t, 200, 0, "", "1")
	}
	files := fileLines.FindAllString(banner, -1)
	if len(files) != 2 {
		t.Fatalf("want a line to add and one to cat in:\n%s", banner)
	}
	if added := paste(t, files[0]); !strings.Contains(added, `"Hash":"Qm`) {
		t.Errorf("add answers %s", added)
	}
	if content := paste(t, files[1]); content != "hello\n" {
		t.Errorf("cat answers %q", content)
	}
	return int64(len(lines) + len(files))
}

// paste runs one line in a shell.
func paste(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.TrimSpace(line))
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v %s", line, err, out)
	}
	return string(out)
}

// flushSlack is for a flush itself, which takes time on a busy machine.
const flushSlack = 5 * time.Second

// answeredBefore counts the requests whose answer came before a moment.
func answeredBefore(samples []sample, moment time.Time) (n int64) {
	for _, s := range samples {
		if s.status == 200 && s.start.Add(s.took).Before(moment) {
			n++
		}
	}
	return n
}

// checkKilled finds in the store all that was answered more than a flush before the
// kill.
func checkKilled(t *testing.T, dir string, samples []sample, pasted int64, killed time.Time, flush time.Duration) {
	t.Helper()
	answered, safe := pasted+count(samples, 200), pasted+answeredBefore(samples, killed.Add(-flush-flushSlack))
	control := beside(t, harness.Config(dir))
	list, err := control.Accounts.List(t.Context(), "", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d accounts (%v)", len(list), err)
	}
	_, total := usageOf(t, control.Store, list[0].ID)
	t.Logf("%d requests were answered, %d of them long before the kill, %d are recorded", answered, safe, total)
	if total < safe || total > answered+int64(len(samples)) || safe == pasted {
		t.Errorf("%d requests are recorded, want %d to %d", total, safe, answered)
	}
	if err := control.Close(); err != nil {
		t.Error(err)
	}
}
