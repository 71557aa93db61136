package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// exchange is a request and the answer that was recorded to it.
type exchange struct{ request, want string }

// ioTest is one file. Of a speconly one only the schema counts, so here only
// whether it has a result or an error.
type ioTest struct {
	name      string
	specOnly  bool
	exchanges []exchange
}

// load reads the files, each in the folder of its method.
func load(t *testing.T, dir string) []ioTest {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.io"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("there are no *.io files in %s", dir)
	}
	tests := make([]ioTest, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		method := filepath.Base(filepath.Dir(file))
		if tests[i], err = parse(string(text)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		tests[i].name = method + "/" + strings.TrimSuffix(filepath.Base(file), ".io")
	}
	return tests
}

// parse reads comments, then lines of `>> request` and `<< answer`.
func parse(text string) (test ioTest, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		request, isRequest := strings.CutPrefix(line, ">> ")
		want, isWant := strings.CutPrefix(line, "<< ")
		last := len(test.exchanges) - 1
		switch {
		case isRequest:
			test.exchanges = append(test.exchanges, exchange{request: request})
		case isWant && last >= 0 && test.exchanges[last].want == "":
			test.exchanges[last].want = want
		case isWant:
			return test, fmt.Errorf("an answer to nothing: %s", line)
		case last < 0 && strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line, "//")), "speconly:"):
			test.specOnly = true
		}
	}
	return test, nil
}

func TestParse(t *testing.T) {
	const text = "// speconly: only the schema\n// more\n>> {\"id\":1}\n<< {\"result\":1}\n\n>> {\"id\":2}\n// speconly: not here\n<< {\"result\":2}\n"
	got, err := parse(text)
	want := ioTest{specOnly: true, exchanges: []exchange{{`{"id":1}`, `{"result":1}`}, {`{"id":2}`, `{"result":2}`}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parse("<< {}"); err == nil {
		t.Error("an answer without a request was taken")
	}
}

// transport sends one request and returns the answer.
type transport func(t *testing.T, request string) string

func replay(t *testing.T, tests []ioTest, send transport) {
	passed := 0
	for _, test := range tests {
		ok := t.Run(test.name, func(t *testing.T) {
			for _, e := range test.exchanges {
				if problem := compare(send(t, e.request), e.want, test.specOnly); problem != "" {
					t.Errorf("%s\n%s", clip(e.request), problem)
				}
			}
		})
		if ok {
			passed++
		}
	}
	t.Logf("%d of %d files passed", passed, len(tests))
}

// compare says how an answer differs from the recorded one, or "".
func compare(got, want string, specOnly bool) string {
	g, err := decode(got)
	if err != nil {
		return fmt.Sprintf("the answer is no JSON: %v: %s", err, clip(got))
	}
	w, err := decode(want)
	if err != nil {
		return fmt.Sprintf("the recorded answer is no JSON: %v", err)
	}
	if specOnly {
		for _, member := range []string{"result", "error"} {
			if _, has := g[member]; has != hasMember(w, member) {
				return fmt.Sprintf("got  %s\nwant %s", clip(got), clip(want))
			}
		}
		return ""
	}
	level(g, w)
	if !reflect.DeepEqual(g, w) {
		return fmt.Sprintf("got  %s\nwant %s", clip(got), clip(want))
	}
	return ""
}

func decode(text string) (object map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return object, d.Decode(&object)
}

func hasMember(object map[string]any, name string) bool {
	_, ok := object[name]
	return ok
}

// level removes what is not compared: the words of an error, and its data where the
// recorded one has none.
func level(got, want map[string]any) {
	g, _ := got["error"].(map[string]any)
	w, _ := want["error"].(map[string]any)
	if g == nil || w == nil {
		return
	}
	delete(g, "message")
	delete(w, "message")
	if !hasMember(w, "data") {
		delete(g, "data")
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		got, want string
		specOnly  bool
		same      bool
	}{
		{`{"id":1,"result":"0x1"}`, `{"result":"0x1","id":1}`, false, true},
		{`{"id":1,"result":"0xA"}`, `{"id":1,"result":"0xa"}`, false, false},
		{`{"id":1,"result":{"a":1,"b":2}}`, `{"id":1,"result":{"a":1}}`, false, false},
		{`{"id":1,"result":{"a":1}}`, `{"id":1,"result":{"a":1,"b":null}}`, false, false},
		{`{"error":{"code":3,"message":"x","data":"0x"}}`, `{"error":{"code":3,"message":"y"}}`, false, true},
		{`{"error":{"code":3,"message":"x"}}`, `{"error":{"code":3,"message":"x","data":"0x"}}`, false, false},
		{`{"error":{"code":3,"message":"x"}}`, `{"error":{"code":4,"message":"x"}}`, false, false},
		{`{"result":"0x1"}`, `{"result":"0x2"}`, true, true},
		{`{"error":{"code":3}}`, `{"result":"0x2"}`, true, false},
		{`nonsense`, `{"result":"0x2"}`, false, false},
	} {
		if problem := compare(c.got, c.want, c.specOnly); (problem == "") != c.same {
			t.Errorf("%s and %s: %q", c.got, c.want, problem)
		}
	}
}

func clip(s string) string {
	const most = 600
	if len(s) > most {
		return s[:most] + " ..."
	}
	return s
}

func overHTTP(url string) transport {
	return func(t *testing.T, request string) string {
		t.Helper()
		res, err := http.Post(url, "application/json", strings.NewReader(request))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusOK {
			t.Errorf("status %s", res.Status)
		}
		return string(bytes.TrimSpace(body))
	}
}

// overWebSocket sends everything over one connection, one request at a time.
func overWebSocket(t *testing.T, url string) transport {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	t.Cleanup(func() { _ = conn.Close(websocket.StatusNormalClosure, "") })
	return func(t *testing.T, request string) string {
		t.Helper()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(request)); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(10*time.Second, func() { _ = conn.CloseNow() })
		defer timer.Stop()
		_, body, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
}
