package snippet_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard/snippet"
)

// TestCall: the command for curl sends the request as it was, whatever is in it.
func TestCall(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl here")
	}
	set, err := snippet.New()
	if err != nil {
		t.Fatal(err)
	}
	bodies := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		bodies <- req.Header.Get("Content-Type") + " " + req.URL.Path + " " + string(body)
	}))
	defer server.Close()
	const params = `["it's", "$(echo stolen)", "` + "`echo stolen`" + `", {"to": "0x1"}, null, "\u0000 <b>"]`
	list, err := set.Call(snippet.Endpoint{Network: "devnet", HTTP: server.URL + "/v3/"}, `eth_"x"'y`, params)
	if err != nil || list[0].ID != "call-curl" || len(list) != 4 {
		t.Fatalf("%v, %v", list, err)
	}
	command := exec.CommandContext(context.Background(), "sh", "-c", list[0].Text)
	command.Env = append(os.Environ(), "KEY=0123")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kind, rest, _ := strings.Cut(<-bodies, " ")
	path, body, _ := strings.Cut(rest, " ")
	if path != "/v3/0123" {
		t.Errorf("it is sent to %s", path)
	}
	var got struct {
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || kind != "application/json" || got.Method != `eth_"x"'y` {
		t.Fatalf("%v: %s %s", err, kind, body)
	}
	var want, sent any
	if json.Unmarshal([]byte(params), &want) != nil || json.Unmarshal(got.Params, &sent) != nil || len(sent.([]any)) != len(want.([]any)) || sent.([]any)[1] != "$(echo stolen)" {
		t.Errorf("the parameters arrive as %s", got.Params)
	}
	for _, s := range list {
		if !strings.Contains(s.Text, "$(echo stolen)") || !strings.Contains(s.Text, server.URL) || !strings.Contains(s.Text, "KEY") {
			t.Errorf("%s lacks the call:\n%s", s.ID, s.Text)
		}
	}
}

// TestCallWithSecret: the secret is read from the environment.
func TestCallWithSecret(t *testing.T) {
	set, err := snippet.New()
	if err != nil {
		t.Fatal(err)
	}
	list, err := set.Call(snippet.Endpoint{HTTP: "http://localhost/v3/", Secret: true}, "eth_chainId", "[]")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if !strings.Contains(s.Text, "SECRET") || !strings.HasSuffix(s.Text, "\n") || strings.Contains(s.Text, "\n\n\n") {
			t.Errorf("%s:\n%s", s.ID, s.Text)
		}
	}
	if _, err := set.Call(snippet.Endpoint{}, "eth_chainId", "[1"); err == nil {
		t.Error("parameters that are no JSON make a snippet")
	}
}
