package chaos

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// answers asks all three listeners on new connections and returns those that fail.
func (p *program) answers(key string) (failing []string) {
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	fresh := *p
	fresh.client = client
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := fresh.rpc(ctx, "devnet", key, "eth_blockNumber"); err != nil {
		failing = append(failing, "RPC: "+err.Error())
	}
	if r := fresh.post("version", "", nil); r.status != http.StatusOK {
		failing = append(failing, fmt.Sprintf("storage: %d %.100s", r.status, r.body))
	}
	if status := fresh.get("/readyz"); status != http.StatusOK {
		failing = append(failing, fmt.Sprintf("admin: %d", status))
	}
	return failing
}

// TestFewDescriptors is row 44: more connections than the process may have files. In the
// first part the server keeps below its limit, in the second its limit is taken away from
// under it, so that accepting fails.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	const files, crowd = 300, 400
	o := begin(t, 44, "400 connections to each listener with 300 files", "all listeners answer again within 5 s; a log line says why")
	for name, later := range map[string]bool{"bounded": false, "failing": true} {
		t.Run(name, func(t *testing.T) {
			b := newSandbox(t)
			if !later {
				b.prefix = []string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, files), "sh"}
			}
			p := b.start()
			if later {
				lowerLimit(t, p, p.descriptors()+50)
			}
			p.mustAdd([]byte("before the crowd"))
			var open []net.Conn
			for _, addr := range []string{strings.TrimPrefix(p.rpcBase, "http://"), p.host(), strings.TrimPrefix(p.admin, "http://")} {
				for range crowd {
					if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
						open = append(open, c)
					}
				}
			}
			want := "refusing connections: too many are open"
			if later {
				want = "can't accept connections"
			}
			p.awaitLog(want)
			used := p.descriptors()
			if cid, r := p.add("", pattern(44, 100_000)); cid == "" && !later {
				t.Errorf("who was connected can't store anything: %d %.200s", r.status, r.body)
			}
			for _, c := range open {
				_ = c.Close()
			}
			begun := time.Now()
			failing := p.answers(p.key)
			for len(failing) > 0 && time.Since(begun) < 5*time.Second+slack {
				time.Sleep(20 * time.Millisecond)
				failing = p.answers(p.key)
			}
			back := time.Since(begun)
			if len(failing) > 0 {
				t.Errorf("after %v: %v; log: %.2000s", back, failing, p.logs)
			}
			o.say("%s; %s: %d files used, all answer %v after the crowd", strings.TrimPrefix(o.measured, "-; "), name, used, round(back))
			o.within(back <= 5*time.Second)
		})
	}
	o.say("%s", strings.TrimPrefix(o.measured, "-; "))
}

// awaitLog waits until the log says something, on a busy machine too.
func (p *program) awaitLog(text string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(p.logs.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Errorf("the log doesn't say %q: %.2000s", text, p.logs)
			return
		}
	}
}

// descriptors is how many files and sockets the process has open.
func (p *program) descriptors() int {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	return len(links)
}

// lowerLimit takes files away from a running process.
func lowerLimit(t *testing.T, p *program, files int) {
	t.Helper()
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("there is no prlimit here")
	}
	out, err := exec.Command("prlimit", "--pid", strconv.Itoa(p.cmd.Process.Pid), fmt.Sprintf("--nofile=%d:%d", files, files)).CombinedOutput()
	if err != nil {
		t.Skipf("prlimit: %v %s", err, out)
	}
}

// TestClientsByAddress is row 51: many clients behind one trusted proxy are not held to
// the limits of one address, and an IPv6 customer is one client however many addresses
// are used.
func TestClientsByAddress(t *testing.T) {
	t.Parallel()
	clients, addresses := length(200, 1200), length(300, 5000)
	o := begin(t, 51, fmt.Sprintf("%d clients behind a trusted proxy; %d addresses of one /64", clients, addresses), "0 refused; they count as one")
	b := newSandbox(t)
	b.env = append(b.env, "NODEGATE_CONFIG="+b.path("work", "nodegate.yaml"))
	settings := fmt.Sprintf("trusted_proxies: [127.0.0.1]\nlimits: {connections_per_ip: %d, failed_keys_per_ip: 20}\n", clients/4)
	if err := os.WriteFile(b.path("work", "nodegate.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	p := b.start()
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	refused := 0
	for i := range clients {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.rpcBase, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		body := `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`
		fmt.Fprintf(c, "POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Forwarded-For: 10.0.%d.%d\r\nContent-Length: %d\r\n\r\n%s", p.key, i>>8, i&255, len(body), body)
		head := make([]byte, len("HTTP/1.1 200"))
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 200" {
			refused++
		}
	}
	direct := crowdFrom(t, p, "127.0.0.2", clients/4+20)
	looked := p.guess(t, addresses)
	o.say("%d refused behind the proxy, %d of %d from one address; %d of %d guessed keys of one /64 looked up a second", refused, direct, clients/4+20, looked, addresses)
	if refused != 0 || direct != 20 {
		t.Error(o.measured)
	}
	if looked > 20*3 { // in the seconds that it takes
		t.Errorf("%d addresses of one /64 had %d keys looked up, more than one client may", addresses, looked)
	}
}

// crowdFrom opens connections from one address and returns how many are refused.
func crowdFrom(t *testing.T, p *program, from string, count int) (refused int) {
	t.Helper()
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))}
	for range count {
		c, err := d.Dial("tcp", strings.TrimPrefix(p.rpcBase, "http://"))
		if err != nil {
			t.Skipf("no connections from %s here: %v", from, err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
			refused++
		}
	}
	return refused
}

// guess offers unknown keys from addresses of one /64, through the proxy, and returns how
// many were looked up in a second.
func (p *program) guess(t *testing.T, addresses int) (most int) {
	t.Helper()
	before := p.metric(t, "nodegate_key_lookups_total")
	begun := time.Now()
	var wait sync.WaitGroup
	jobs := make(chan int)
	for range 8 {
		wait.Go(func() {
			for i := range jobs {
				var a [16]byte
				copy(a[:], []byte{0x20, 0x01, 0x0d, 0xb8})
				binary.BigEndian.PutUint32(a[12:], uint32(i))
				req, _ := http.NewRequest(http.MethodPost, p.rpcBase+"/devnet/v3/"+guessedKey(i), strings.NewReader("{}"))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("X-Forwarded-For", netip.AddrFrom16(a).String())
				res, err := p.client.Do(req)
				if err != nil {
					t.Error(err)
					continue
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
	for i := range addresses {
		jobs <- i
	}
	close(jobs)
	wait.Wait()
	seconds := int(time.Since(begun)/time.Second) + 2 // those that it touched
	return (p.metric(t, "nodegate_key_lookups_total") - before + seconds - 1) / seconds
}

// guessedKey is a well-formed key that nobody has.
func guessedKey(i int) string {
	key := fmt.Sprintf("%028x", i+1)
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s%x", key, sum[:2])
}

// metric reads a counter without labels.
func (p *program) metric(t *testing.T, name string) int {
	t.Helper()
	res, err := p.client.Get(p.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			f, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return int(f)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// TestAdminListener is row 53: pages of other origins and rebound names get 403,
// Prometheus by an IP address works, and profiles are for this machine or a token.
func TestAdminListener(t *testing.T) {
	t.Parallel()
	o := begin(t, 53, "foreign Host, Origin and POST to the admin listener", "403; Prometheus by IP works")
	b := newSandbox(t, "NODEGATE_ADMIN_LISTEN=0.0.0.0:0", "NODEGATE_ADMIN_TOKEN=a-token-for-operators")
	b.env = append(b.env, "NODEGATE_CONFIG="+b.path("work", "nodegate.yaml"))
	if err := os.WriteFile(b.path("work", "nodegate.yaml"), []byte("admin: {hosts: [monitor.internal]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := b.start()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(p.admin, "http://"))
	outside := outsideAddr(t)
	count := 0
	for _, c := range []struct {
		method, to, path string
		header           []string
		want             int
	}{
		{"GET", "127.0.0.1", "/metrics", nil, 200},
		{"GET", "127.0.0.1", "/metrics", []string{"Host", "localhost:" + port}, 200},
		{"GET", "127.0.0.1", "/metrics", []string{"Host", "[::1]:" + port}, 200},
		{"GET", "127.0.0.1", "/metrics", []string{"Host", "Monitor.internal:" + port}, 200},
		{"GET", "127.0.0.1", "/metrics", []string{"Host", "evil.example:" + port}, 403},
		{"GET", "127.0.0.1", "/metrics", []string{"Host", "localhost.evil.example"}, 403},
		{"GET", "127.0.0.1", "/metrics", []string{"Origin", "https://evil.example"}, 403},
		{"GET", "127.0.0.1", "/metrics", []string{"Origin", "null"}, 403},
		{"POST", "127.0.0.1", "/storage/gc?dry-run=true", nil, 200},
		{"POST", "127.0.0.1", "/storage/gc?dry-run=true", []string{"Origin", "https://evil.example"}, 403},
		{"POST", "127.0.0.1", "/storage/gc?dry-run=true", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"GET", "127.0.0.1", "/debug/pprof/cmdline", nil, 200},
		{"GET", "127.0.0.1", "/debug/pprof/cmdline", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"GET", "127.0.0.1", "/debug/pprof/cmdline", []string{"X-Forwarded-For", "203.0.113.7"}, 401},
		{"GET", outside, "/metrics", nil, 200},
		{"GET", outside, "/debug/pprof/cmdline", nil, 401},
		{"GET", outside, "/debug/pprof/cmdline", []string{"Authorization", "Bearer a-token-for-operator"}, 401},
		{"GET", outside, "/debug/pprof/cmdline", []string{"Authorization", "Bearer a-token-for-operators"}, 200},
		{"POST", outside, "/storage/gc?dry-run=true", nil, 401},
		{"POST", outside, "/storage/gc?dry-run=true", []string{"Authorization", "Bearer a-token-for-operators"}, 200},
	} {
		if c.to == "" {
			continue // a machine with nothing but a loopback address
		}
		req, err := http.NewRequest(c.method, "http://"+net.JoinHostPort(c.to, port)+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.header); i += 2 {
			req.Header.Set(c.header[i], c.header[i+1])
			if c.header[i] == "Host" {
				req.Host = c.header[i+1]
			}
		}
		res, err := p.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.want || c.want >= 400 && len(text) < 20 {
			t.Errorf("%s %s%s %v: %d %.100s, want %d", c.method, c.to, c.path, c.header, res.StatusCode, text, c.want)
		}
		count++
	}
	if outside != "" { // where only the token lets it in
		b.tool("gc", "--dry-run", "--admin-listen", net.JoinHostPort(outside, port))
	}
	o.say("all of %d requests as they should be", count)
}

// outsideAddr is an IPv4 address of this machine that is not its loopback one, or "".
func outsideAddr(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return ""
}

// sending is a request that is refused.
type sending struct {
	url, kind, auth, file string
	status, text          string // of the answer
}

// senders are client programs that people use, by name. Each sends a file and prints the
// answer's body and, on the last line, its status.
var senders = map[string]func(s sending) []string{
	"curl, HTTP/1.1":      func(s sending) []string { return s.curl("--http1.1", "Expect:") },
	"curl, expecting 100": func(s sending) []string { return s.curl("--http1.1", "Expect: 100-continue") },
	"curl, HTTP/2":        func(s sending) []string { return s.curl("--http2", "Expect:") },
	"Python http.client": func(s sending) []string {
		return []string{"python3", "-c", pythonSender, s.url, s.file, s.kind, s.auth}
	},
	"Node http":  func(s sending) []string { return []string{"node", "-e", nodeSender, s.url, s.file, s.kind, s.auth} },
	"Node fetch": func(s sending) []string { return []string{"node", "-e", fetchSender, s.url, s.file, s.kind, s.auth} },
}

func (s sending) curl(version, expect string) []string {
	return []string{
		"curl", "-sSk", version, "-w", "\n%{http_code}", "-H", "Content-Type: " + s.kind, "-H", "Authorization: " + s.auth,
		"-H", expect, "--data-binary", "@" + s.file, s.url,
	}
}

const pythonSender = `
import http.client, ssl, sys, urllib.parse
url, file, kind, auth = sys.argv[1:]
u = urllib.parse.urlparse(url)
if u.scheme == "https":
    c = http.client.HTTPSConnection(u.netloc, timeout=60, context=ssl._create_unverified_context())
else:
    c = http.client.HTTPConnection(u.netloc, timeout=60)
c.request("POST", u.path, open(file, "rb").read(), {"Content-Type": kind, "Authorization": auth})
r = c.getresponse()
print(r.read().decode())
print(r.status)
`

const nodeSender = `
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"; process.removeAllListeners("warning")
const [url, file, kind, auth] = process.argv.slice(1)
const body = require("fs").readFileSync(file)
let done = false
const headers = {"Content-Type": kind, "Authorization": auth, "Content-Length": body.length}
const req = require(url.startsWith("https") ? "https" : "http").request(url, {method: "POST", headers}, res => {
  let text = ""
  res.on("data", d => text += d)
  res.on("end", () => { done = true; console.log(text); console.log(res.statusCode); process.exit(0) })
})
req.on("error", e => { if (!done) { console.log(String(e)); process.exit(1) } })
req.end(body)
`

const fetchSender = `
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"; process.removeAllListeners("warning")
const [url, file, kind, auth] = process.argv.slice(1)
fetch(url, {method: "POST", headers: {"Content-Type": kind, "Authorization": auth}, body: require("fs").readFileSync(file)})
  .then(async res => { console.log(await res.text()); console.log(res.status) })
  .catch(e => { console.log(String(e), String(e.cause)); process.exit(1) })
`

// TestRefusedWhileSending is row 59: clients of four kinds send more than is taken, to
// both listeners, and all see the refusal with its body.
func TestRefusedWhileSending(t *testing.T) {
	t.Parallel()
	o := begin(t, 59, "413 while Python, Node, Go and curl (h1, h2) send 6 and 30 MiB", "all see the 413 and its body")
	b := newSandbox(t, "NODEGATE_STORAGE_MAX_FILE=1MiB")
	p := b.start()
	var seen, tried, missing int
	for _, size := range []int{6 << 20, 30 << 20}[:length(1, 2)] {
		for _, s := range b.sendings(p, size) {
			tried++
			if err := s.byGo(); err != nil {
				t.Errorf("Go to %s, %d MiB: %v", s.url, size>>20, err)
			} else {
				seen++
			}
			for name, args := range senders {
				if strings.Contains(name, "HTTP/2") && !strings.HasPrefix(s.url, "https") {
					continue
				}
				found, err := s.run(args(s))
				switch {
				case !found:
					missing++
					continue
				case err != nil:
					t.Errorf("%s to %s, %d MiB: %v", name, s.url, size>>20, err)
				default:
					seen++
				}
				tried++
			}
		}
	}
	o.say("%d of %d see the refusal whole (%d client programs are not here)", seen, tried, missing)
}

// sendings are requests of a size that are refused, to each listener: by their length, by
// the limit of a file, and for want of a good secret.
func (b *sandbox) sendings(p *program, size int) []sending {
	write := func(name string, data []byte) string {
		path := b.path("work", fmt.Sprintf("%s-%d", name, size))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			b.t.Fatal(err)
		}
		return path
	}
	kind, upload := form("large", pattern(1, size))
	plain, file := write("plain", bytes.Repeat([]byte(" "), size)), write("upload", upload)
	secure := "https" + strings.TrimPrefix(p.base, "http")
	auth := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.key+":"+p.secret))
	wrong := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.key+":wrong"))
	return []sending{
		{p.rpcBase + "/devnet/v3/" + p.key, "application/json", auth, plain, "413", "request body too large"},
		{p.rpcBase + "/devnet/v3/unknown", "application/json", "", plain, "401", "invalid API key"},
		{p.base + "/api/v0/add", kind, auth, file, "413", "too large"},
		{secure + "/api/v0/add", kind, auth, file, "413", "too large"},
		{secure + "/api/v0/add", kind, wrong, file, "401", "basic auth failure"},
	}
}

// run has a client program send it. It is not found where the program is not installed.
func (s sending) run(args []string) (found bool, err error) {
	if _, err := exec.LookPath(args[0]); err != nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if strings.Contains(text, s.text) && strings.HasSuffix(text, s.status) {
		return true, nil
	}
	return true, fmt.Errorf("%w: %.300s", cmp.Or(err, errNotSeen), text)
}

var errNotSeen = errors.New("it does not see the refusal")

// byGo sends it with Go's client, by HTTP/2 where there is TLS.
func (s sending) byGo() error {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}
	data, err := os.ReadFile(s.file)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, s.url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", s.kind)
	req.Header.Set("Authorization", s.auth)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && (strconv.Itoa(res.StatusCode) != s.status || !strings.Contains(string(text), s.text)) {
		return fmt.Errorf("%w: %s %.300s", errNotSeen, res.Status, text)
	}
	return err
}
