package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// programEnv names a program to test instead of one that is built from this tree.
const programEnv = "PROGRAM_UNDER_TEST"

// built is the program, built once.
var built struct {
	sync.Once
	dir, path string
	err       error
}

func buildProgram(t *testing.T) string {
	t.Helper()
	b := &built
	b.Do(func() {
		if b.path = os.Getenv(programEnv); b.path != "" {
			return
		}
		if b.err = lookAtSources(); b.err != nil {
			return
		}
		if b.dir, b.err = os.MkdirTemp("", "nodegate-chaos"); b.err != nil {
			return
		}
		b.path = filepath.Join(b.dir, "nodegate")
		cmd := exec.Command("go", "build", "-o", b.path, "../../cmd/nodegate")
		cmd.Stderr = os.Stderr
		b.err = cmd.Run()
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// lookAtSources looks at every file that the program may be built from. go test runs a test
// again when a file that it looked at has changed; of a program that it builds it knows
// nothing, and would show results of the one before.
func lookAtSources() error {
	return filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		_, err = os.Stat(path)
		return err
	})
}

// sandbox is the folder of one test. All that the program may touch is below it.
type sandbox struct {
	t           *testing.T
	root        string
	env         []string
	key, secret string   // of the account that the first start makes
	password    string   // of that account
	cgroup      string   // the folder of the control group that the program runs in, or ""
	prefix      []string // a command that runs the server, if any
	plain       bool     // no storage, and the first account is somebody else's
}

func newSandbox(t *testing.T, env ...string) *sandbox {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("these tests look at processes through /proc, which is not here")
	}
	b := &sandbox{t: t, root: t.TempDir(), env: env}
	for _, name := range []string{"data", "tmp", "home", "work"} {
		if err := os.Mkdir(b.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *sandbox) path(names ...string) string {
	return filepath.Join(append([]string{b.root}, names...)...)
}

// command is the program in the sandbox, with nothing else of our surroundings. It is
// killed when the context ends.
func (b *sandbox) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, buildProgram(b.t), args...)
	if b.cgroup != "" { // it has to be there before the program looks for its limit
		join := []string{"-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, b.cgroup, buildProgram(b.t)}
		cmd = exec.CommandContext(ctx, "/bin/sh", append(join, args...)...)
	}
	cmd.Dir = b.path("work")
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.path("home"), "TMPDIR=" + b.path("tmp"), "NODEGATE_DATA=" + b.path("data"),
		"NODEGATE_LISTEN=127.0.0.1:0", "NODEGATE_ADMIN_LISTEN=127.0.0.1:0", "NODEGATE_STORAGE_LISTEN=127.0.0.1:0",
		"NODEGATE_STORAGE_RESERVE=0",
	}, b.env...)
	return cmd
}

// program is a running server.
type program struct {
	*sandbox
	cmd         *exec.Cmd
	base, admin string // storage gateway and admin listener
	rpcBase     string // JSON-RPC
	logs        *buffer
	ready       time.Duration // from the start of the process until it says that it is ready
	client      *http.Client
}

// buffer keeps the end of a log, and can be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text []byte
}

const keptLog = 1 << 20

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, data...)
	b.text = b.text[max(0, len(b.text)-keptLog):]
	return len(data), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// startTime is when a start that has not come to an end has failed.
const startTime = 30 * time.Second

func (b *sandbox) start() *program {
	b.t.Helper()
	p := &program{sandbox: b, cmd: b.command(context.Background(), "serve"), logs: new(buffer)}
	if len(b.prefix) > 0 {
		p.cmd.Path, p.cmd.Args = b.prefix[0], append(b.prefix, append([]string{p.cmd.Path}, p.cmd.Args[1:]...)...)
	}
	p.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	p.cmd.Stderr = p.logs
	out, err := p.cmd.StdoutPipe()
	begun := time.Now()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(p.kill)
	late := time.AfterFunc(startTime, p.kill)
	banner := p.readBanner(out)
	if p.rpcBase == "" || p.admin == "" || p.base == "" && !b.plain || b.key == "" && !b.plain {
		b.t.Fatalf("the program did not start: %s\n%.4000s", banner, p.logs)
	}
	for p.get("/readyz") != http.StatusOK && time.Since(begun) < startTime {
		time.Sleep(time.Millisecond)
	}
	if !late.Stop() { // it was killed: whoever goes on would find nobody listening
		b.t.Fatalf("the program is not ready after %v\n%.4000s", startTime, p.logs)
	}
	p.ready = time.Since(begun)
	return p
}

// readBanner reads what the program prints when it listens, to its last line.
func (p *program) readBanner(out io.Reader) (banner string) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		banner += line
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "  "); strings.TrimSpace(name) {
		case "storage":
			p.base = "http" + strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(value), "https"), "/api/v0")
		case "JSON-RPC":
			p.rpcBase = strings.TrimSpace(value)
		case "metrics":
			p.admin = strings.TrimSuffix(strings.TrimSpace(value), "/metrics")
		case "sign-in":
			p.readCredentials(strings.TrimSpace(value))
		}
		if err != nil || strings.Contains(line, "new key") || strings.HasPrefix(strings.TrimSpace(line), "sign-in") {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return banner
		}
	}
}

// readCredentials reads the file that the first start leaves in the data folder.
func (p *program) readCredentials(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "  "); strings.TrimSpace(name) {
		case "password":
			p.password = strings.TrimSpace(value)
		case "API key":
			p.key = strings.TrimSpace(value)
		case "secret":
			p.secret = strings.TrimSpace(value)
		}
	}
}

// kill ends the program as a crash does.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_, _ = p.cmd.Process.Wait()
	p.client.CloseIdleConnections()
}

func (p *program) host() string { return strings.TrimPrefix(p.base, "http://") }

// get asks the admin listener and returns the status.
func (p *program) get(path string) int {
	res, err := p.client.Get(p.admin + path)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// collect collects now; it reports whether that was done.
func (p *program) collect(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.admin+"/storage/gc", http.NoBody)
	if err != nil {
		return false
	}
	res, err := p.client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK
}

// reply is what a client got. An answer that broke off has no status.
type reply struct {
	status int
	body   string
}

// post calls a command as the account of the first start.
func (p *program) post(command, kind string, data io.Reader) reply {
	return p.postAs(p.key, p.secret, command, kind, data, nil)
}

func (p *program) postAs(key, secret, command, kind string, data io.Reader, header http.Header) reply {
	req, err := http.NewRequest(http.MethodPost, p.base+"/api/v0/"+command, data)
	if err != nil {
		return reply{body: err.Error()}
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.SetBasicAuth(key, secret)
	res, err := p.client.Do(req)
	if err != nil {
		return reply{body: err.Error()}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{body: err.Error()}
	}
	return reply{res.StatusCode, string(body)}
}

// form is a multipart body with one file.
func form(name string, content []byte) (kind string, data []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, _ := w.CreateFormFile("file", name)
	_, _ = part.Write(content)
	_ = w.Close()
	return w.FormDataContentType(), b.Bytes()
}

// add uploads one file. The CID is empty unless the answer is whole and good.
func (p *program) add(query string, content []byte) (cid string, r reply) {
	kind, data := form("file", content)
	r = p.post("add?"+query, kind, bytes.NewReader(data))
	if r.status != http.StatusOK {
		return "", r
	}
	for line := range strings.Lines(r.body) {
		var e struct{ Hash string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Hash != "" {
			cid = e.Hash
		}
	}
	return cid, r
}

// mustAdd uploads what has to be taken.
func (p *program) mustAdd(content []byte) string {
	p.t.Helper()
	cid, r := p.add("", content)
	if cid == "" {
		p.t.Fatalf("add: %d %.300s\n%.4000s", r.status, r.body, p.logs)
	}
	return cid
}

// pins are the CIDs that the account has pinned.
func (p *program) pins() map[string]bool {
	p.t.Helper()
	r := p.post("pin/ls?type=recursive", "", nil)
	var list struct{ Keys map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(r.body), &list); r.status != http.StatusOK || err != nil {
		p.t.Fatalf("pin/ls: %d %.300s %v", r.status, r.body, err)
	}
	set := map[string]bool{}
	for cid := range list.Keys {
		set[cid] = true
	}
	return set
}

// memory reads a line of the process's status, in bytes.
func (p *program) memory(line string) int64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	found := regexp.MustCompile(line + `:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		p.t.Fatalf("no %s in the process's status", line)
	}
	kb, _ := strconv.ParseInt(string(found[1]), 10, 64) // digits
	return kb << 10
}

// growth is by how much the process's memory rose at its highest while do ran.
func (p *program) growth(do func()) int64 {
	p.t.Helper()
	reset := []byte("5") // the highest value so far becomes the present one
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), reset, 0); err != nil {
		p.t.Skipf("the highest memory of a process can't be reset here: %v", err)
	}
	before := p.memory("VmRSS")
	do()
	return p.memory("VmHWM") - before
}

// sockets counts the connections that the process has open.
func (p *program) sockets() (n int) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// pattern is content that differs everywhere and is the same on every run.
func pattern(seed, size int) []byte {
	b := make([]byte, size+8)
	x := uint64(seed)*0x9e3779b97f4a7c15 + 1
	for i := 0; i < size; i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		for j := range 8 {
			b[i+j] = byte(x >> (8 * j))
		}
	}
	return b[:size]
}
