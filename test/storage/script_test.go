package storage_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A script is a text file of requests and their answers:
//
//	// a comment; one that begins with "kubo:" says why Kubo answers otherwise
//	# tenant b                     who makes the requests that follow; a at first
//	--> POST /api/v0/add?pin=false
//	Header: value                  "none" takes a header away that is there otherwise
//	+ file "name" "content"        parts of a multipart body; also + dir, + link,
//	+ file nameless 300000         content by its length, or base64:...
//	+ file[f?mode=0644] "a" "b"    the field's name
//	+ nothing                      a multipart body without parts
//	<-- 200
//	Header: value                  each that is shown, and of these no other
//	| a line of the body
//	/ its end, when there is no line break
//	= 300000 sha256:...            a long body
//
// "$ANY" in a body stands for one JSON string.

// shown are the headers that a script shows when an answer has them.
var shown = []string{
	"Content-Type", "Content-Length", "X-Content-Length", "X-Chunked-Output", "X-Stream-Output", "Allow", "Location",
	"Etag", "Accept-Ranges", "Content-Range", "Retry-After", "Www-Authenticate",
	"Cache-Control", "Content-Disposition", "X-Ipfs-Path", "X-Ipfs-Roots",
}

// step is one exchange of a script.
type step struct {
	line       int // of the request
	tenant     string
	method, to string
	headers    [][2]string
	parts      []part
	multipart  bool
	want       []string
	kubo       string // why Kubo answers otherwise, or ""
}

// minimum is how many requests the scripts have together, at least.
const minimum = 120

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	total := 0
	for _, name := range files {
		steps := readScript(t, name)
		total += len(steps)
		base := strings.TrimSuffix(filepath.Base(name), ".txt")
		t.Run(base, func(t *testing.T) {
			players := map[string]*tenant{}
			got := map[int][]string{}
			for _, p := range steps {
				n := players[p.tenant]
				if n == nil {
					n = newTenant(t)
					players[p.tenant] = n
				}
				got[p.line] = play(t, n, p)
				if !*update && !matches(p.want, got[p.line]) {
					t.Errorf("line %d: --> %s %s\n%s\nwant\n%s", p.line, p.method, p.to, strings.Join(got[p.line], "\n"), strings.Join(p.want, "\n"))
				}
			}
			if *update {
				rewrite(t, name, steps, got)
			}
		})
	}
	if total < minimum {
		t.Errorf("%d requests, want at least %d", total, minimum)
	}
}

// play makes one request and writes its answer as a script does.
func play(t *testing.T, n *tenant, p step) (lines []string) {
	req := p.request(t, n.base)
	if req.Header.Get("Authorization") == "" {
		req.SetBasicAuth(n.key, n.secret)
	}
	for _, h := range p.headers {
		if h[1] == "none" {
			req.Header.Del(h[0])
		}
	}
	a := send(req)
	if a.err != nil {
		t.Errorf("line %d: %s %s: %v", p.line, p.method, p.to, a.err)
		return nil
	}
	checkCommon(t, p, a)
	return answerLines(a, shown)
}

// request builds the request of a step.
func (p step) request(t *testing.T, base string) *http.Request {
	t.Helper()
	kind, data := "", []byte(nil)
	if p.multipart {
		kind, data = body(p.parts...)
	}
	req, err := http.NewRequestWithContext(t.Context(), p.method, base+p.to, bytes.NewReader(data))
	if err != nil {
		t.Fatalf("line %d: %v", p.line, err)
	}
	req.Header.Set("Content-Type", kind)
	for _, h := range p.headers {
		if h[1] != "none" {
			req.Header.Set(h[0], h[1])
		}
	}
	return req
}

// answerLines are an answer in a script, with some of its headers.
func answerLines(a answer, headers []string) []string {
	lines := []string{fmt.Sprintf("<-- %d", a.status)}
	for _, name := range headers {
		if v := a.header.Get(name); v != "" && (name != "Content-Length" || a.header.Get("X-Stream-Output") != "") {
			lines = append(lines, name+": "+v)
		}
	}
	return append(lines, bodyLines(a.body)...)
}

// checkCommon is what every answer has.
func checkCommon(t *testing.T, p step, a answer) {
	t.Helper()
	for name, want := range map[string]string{"Access-Control-Allow-Origin": "*", "X-Request-Id": "*"} {
		if got := a.header.Get(name); got == "" || want == "*" && name != "X-Request-Id" && got != want {
			t.Errorf("line %d: %s is %q", p.line, name, got)
		}
	}
	if a.body != "" && a.status != http.StatusTemporaryRedirect && a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("line %d: a browser may guess what the body is", p.line)
	}
	if policy, _, _ := strings.Cut(a.header.Get("Content-Security-Policy"), " "); a.status == http.StatusOK && policy != "sandbox" {
		t.Errorf("line %d: a browser may run the body", p.line)
	}
	if c := a.header.Get("Set-Cookie"); c != "" {
		t.Errorf("line %d: a cookie: %s", p.line, c)
	}
}

// bodyLines are a body in a script.
func bodyLines(text string) (lines []string) {
	if len(text) > 4000 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == '\uFFFD' }) {
		return []string{fmt.Sprintf("= %d sha256:%x", len(text), sha256.Sum256([]byte(text)))}
	}
	for line := range strings.Lines(text) {
		if whole, ok := strings.CutSuffix(line, "\n"); ok {
			lines = append(lines, "| "+whole)
		} else {
			lines = append(lines, "/ "+line)
		}
	}
	return lines
}

func matches(want, got []string) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(want[i]), regexp.QuoteMeta(`"$ANY"`), `"(?:[^"\\]|\\.)*"`)
		if !regexp.MustCompile("^" + pattern + "$").MatchString(got[i]) {
			return false
		}
	}
	return true
}

func readScript(t *testing.T, name string) (steps []step) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tenant, answering, kubo := "a", false, ""
	for i, line := range strings.Split(string(data), "\n") {
		p := &step{}
		if len(steps) > 0 {
			p = &steps[len(steps)-1]
		}
		kind, rest, _ := strings.Cut(line, " ")
		header, value, isHeader := strings.Cut(line, ": ")
		switch {
		case kind == "//" && strings.HasPrefix(rest, "kubo: "):
			kubo = strings.TrimPrefix(rest, "kubo: ")
		case strings.TrimSpace(line) == "" || kind == "//":
		case kind == "#" && strings.HasPrefix(rest, "tenant "):
			tenant = strings.TrimPrefix(rest, "tenant ")
		case kind == "-->":
			method, to, _ := strings.Cut(rest, " ")
			steps, answering = append(steps, step{line: i + 1, tenant: tenant, method: method, to: to, kubo: kubo}), false
			kubo = ""
		case kind == "+" && !answering:
			p.multipart = true
			p.parts = append(p.parts, readParts(t, i+1, rest)...)
		case kind == "<--":
			answering = true
			p.want = append(p.want, line)
		case answering:
			p.want = append(p.want, line)
		case isHeader:
			p.headers = append(p.headers, [2]string{header, value})
		default:
			t.Fatalf("%s:%d: can't read %q", name, i+1, line)
		}
	}
	return steps
}

// partLine is a kind, perhaps a field, a name or none, and the content.
var partLine = regexp.MustCompile(`^(file|dir|link)(?:\[(.*)\])? (nameless|"(?:[^"\\]|\\.)*")(?: (\d+|base64:\S+|"(?:[^"\\]|\\.)*"))?$`)

func readParts(t *testing.T, line int, text string) []part {
	t.Helper()
	if text == "nothing" {
		return nil
	}
	m := partLine.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("line %d: no part: %s", line, text)
	}
	p := part{field: "file", kind: map[string]string{"file": "application/octet-stream", "dir": "application/x-directory", "link": "application/symlink"}[m[1]]}
	if m[2] != "" {
		p.field = m[2]
	}
	if m[3] != "nameless" {
		p.name, p.named = strings.Trim(m[3], `"`), true
	}
	p.content = readContent(t, line, m[4])
	return []part{p}
}

func readContent(t *testing.T, line int, text string) []byte {
	t.Helper()
	if coded, ok := strings.CutPrefix(text, "base64:"); ok {
		data, err := base64.StdEncoding.DecodeString(coded)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		return data
	}
	if n, err := strconv.Atoi(text); err == nil {
		return pattern(1, n)
	}
	if text == "" {
		return nil
	}
	content, err := strconv.Unquote(text)
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	return []byte(content)
}

// rewrite replaces the answers of a script by what the server says. One that matches
// stays as it is.
func rewrite(t *testing.T, name string, steps []step, got map[int][]string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var current *step
	flush := func() {
		if current != nil {
			lines := got[current.line]
			if matches(current.want, lines) {
				lines = current.want
			}
			out = append(out, lines...)
			current = nil
		}
	}
	answering := false
	for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		kind, _, _ := strings.Cut(line, " ")
		switch {
		case kind == "<--":
			answering = true
			continue
		case kind == "-->" || kind == "//" || kind == "#" || line == "":
			flush()
			answering = false
		case answering:
			continue
		}
		out = append(out, line)
		for j := range steps {
			if steps[j].line == i+1 {
				current = &steps[j]
			}
		}
	}
	flush()
	if err := os.WriteFile(name, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
