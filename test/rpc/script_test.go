package rpc_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// A script is a text file of requests and their answers:
//
//	// a comment
//	# network devnet strict   the exchanges that follow run on each of these
//	# http                    they run over HTTP only; or # ws, or # both
//	--> a request body
//	<-- the answer, to the byte
//
// No answer line means that nothing is answered. "$ANY" stands for one string.

// step is one exchange of a script.
type step struct {
	line       int // of the request
	networks   []string
	transport  string // http, ws or both
	send, want string // want is "" when nothing is answered
}

// TestScripts plays every script over both transports.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	s := shared(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if *update {
			rewrite(t, s, file)
		}
		steps := readScript(t, file)
		t.Run(name+"/http", func(t *testing.T) { play(t, steps, "http", postTo(s)) })
		t.Run(name+"/unusual", func(t *testing.T) { play(t, steps, "http", postTo(s, "X-Unusual", "1")) })
		t.Run(name+"/ws", func(t *testing.T) { play(t, steps, "ws", messageTo(s)) })
	}
}

// play runs the steps of one transport.
func play(t *testing.T, steps []step, transport string, exchange exchanger) {
	for _, p := range steps {
		if p.transport != transport && p.transport != "both" {
			continue
		}
		for _, network := range p.networks {
			if got := exchange(t, network, p.send, p.want != ""); !matches(p.want, got) {
				t.Errorf("line %d on %s:\n--> %.2000s\n<-- %s\nwant\n<-- %s", p.line, network, p.send, got, p.want)
			}
		}
	}
}

func matches(want, got string) bool {
	if !strings.Contains(want, anyValue) {
		return got == want
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), regexp.QuoteMeta(anyValue), `"(?:[^"\\]|\\.)*"`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

const anyValue = `"$ANY"`

func readScript(t *testing.T, file string) (steps []step) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	networks, transport := []string{"devnet"}, "both"
	for i, line := range strings.Split(string(data), "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || kind == "//":
		case kind == "-->":
			steps = append(steps, step{line: i + 1, networks: networks, transport: transport, send: rest})
		case kind == "<--" && len(steps) > 0 && steps[len(steps)-1].want == "":
			steps[len(steps)-1].want = rest
		case kind == "#" && strings.HasPrefix(rest, "network "):
			networks = strings.Fields(rest)[1:]
		case kind == "#" && slices.Contains([]string{"http", "ws", "both"}, rest):
			transport = rest
		default:
			t.Fatalf("%s:%d: can't read %q", file, i+1, line)
		}
	}
	return steps
}

// exchanger sends one body and returns what is answered; answered says whether
// the script expects anything.
type exchanger func(t *testing.T, network, body string, answered bool) string

// postTo sends bodies over HTTP. Nothing answered is status 204. Requests with
// headers that few clients send take another way through the server, to the same
// answers.
func postTo(s *service, header ...string) exchanger {
	return func(t *testing.T, network, body string, _ bool) string {
		res, answer := do(t, request(t, http.MethodPost, s.url(network, keyA), body, append(header, "Accept-Encoding", "identity")...))
		want := http.StatusOK
		if answer == "" {
			want = http.StatusNoContent
		}
		if res.StatusCode != want {
			t.Errorf("status %d, want %d for %.200s", res.StatusCode, want, body)
		}
		return answer
	}
}

// messageTo sends bodies over one WebSocket for each network. One that should not
// be answered is followed by a call of our own, so that there is something to wait for.
func messageTo(s *service) exchanger {
	conns, count := map[string]*websocket.Conn{}, 0
	return func(t *testing.T, network, body string, answered bool) string {
		c := conns[network]
		if c == nil {
			c = dial(t, s.ws(network, keyA))
			conns[network] = c
		}
		write(t, c, body)
		if answered {
			return read(t, c)
		}
		count++
		id := fmt.Sprintf(`"marker %d"`, count)
		write(t, c, `{"jsonrpc":"2.0","id":`+id+`,"method":"eth_chainId"}`)
		if first := read(t, c); !strings.Contains(first, id) {
			return first
		}
		return ""
	}
}

// rewrite replaces the answers of a script by what the server says over the
// first transport it is played on. An answer that matches stays as it is.
func rewrite(t *testing.T, s *service, file string) {
	steps := readScript(t, file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if strings.HasPrefix(line, "<--") {
			continue
		}
		fmt.Fprintln(&out, line)
		at := slices.IndexFunc(steps, func(p step) bool { return p.line == i+1 })
		if at < 0 {
			continue
		}
		answer := steps[at].want
		exchange := postTo(s)
		if steps[at].transport == "ws" {
			exchange = messageTo(s)
		}
		if got := exchange(t, steps[at].networks[0], steps[at].send, true); !matches(answer, got) {
			answer = got
		}
		if answer != "" {
			fmt.Fprintln(&out, "<-- "+answer)
		}
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
